"""What a POMDPX file means, worked out value by value from its definition: slow, and independent.

Every function is asked at one full assignment at a time; the last entry that matches decides.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from fractions import Fraction
from itertools import product


class Model:
    """A small file, enumerated."""

    def __init__(self, text: str) -> None:
        root = ET.fromstring(text)
        self.values: dict[str, list[str]] = {}
        self.before: list[str] = []
        self.after: list[str] = []
        self.observed: list[str] = []
        self.actions: list[str] = []
        self.sensors: list[str] = []
        for element in root.find("Variable"):
            if element.tag == "RewardVar":
                continue
            values = self._values(element)
            if element.tag == "StateVar":
                previous, current = element.get("vnamePrev"), element.get("vnameCurr")
                self.values |= {previous: values, current: values}
                self.before.append(previous)
                self.after.append(current)
                if element.get("fullyObs") == "true":
                    self.observed.append(current)
            else:
                self.values[element.get("vname")] = values
                kind = self.actions if element.tag == "ActionVar" else self.sensors
                kind.append(element.get("vname"))
        self.partner = dict(zip(self.after, self.before, strict=True))
        self.sections = {
            tag: [] if root.find(tag) is None else list(root.find(tag))
            for tag in (
                "InitialStateBelief",
                "StateTransitionFunction",
                "ObsFunction",
                "RewardFunction",
            )
        }

    @staticmethod
    def _values(element) -> list[str]:
        if element.find("ValueEnum") is not None:
            return element.find("ValueEnum").text.split()
        letter = {"StateVar": "s", "ActionVar": "a", "ObsVar": "o"}[element.tag]
        return [f"{letter}{i}" for i in range(int(element.find("NumValues").text))]

    def joint(self, names):
        """All assignments of some identifiers, the first varying slowest."""
        for choice in product(*(self.values[name] for name in names)):
            yield dict(zip(names, choice, strict=True))

    def function(self, element, at: dict[str, str]) -> Fraction:
        """The number that a <CondProb> or a <Func> gives for an assignment, before dividing."""
        parents = [p for p in element.find("Parent").text.split() if p != "null"]
        own = [] if element.tag == "Func" else element.find("Var").text.split()
        parameter = element.find("Parameter")
        if parameter.get("type") == "DD":
            return self._diagram(parameter, parameter.find("DAG")[0], at)
        value = Fraction(0)
        for entry in parameter:
            number = self._entry(entry, parents + own, own, at)
            value = value if number is None else number
        return value

    def _entry(self, entry, names, own, at) -> Fraction | None:
        words = entry.find("Instance").text.split()
        if any(w not in ("*", "-", at[n]) for w, n in zip(words, names, strict=True)):
            return None
        numbers = entry[1].text.split()
        if numbers == ["uniform"]:
            width = 1
            for word, name in zip(words, names, strict=True):
                width *= len(self.values[name]) if name in own and word in "*-" else 1
            return Fraction(1, width)
        spread = [n for w, n in zip(words, names, strict=True) if w == "-"]
        places = [self.values[name].index(at[name]) for name in spread]
        if numbers == ["identity"]:
            return Fraction(places[0] == places[1])
        position = 0
        for name, place in zip(spread, places, strict=True):
            position = position * len(self.values[name]) + place
        return Fraction(numbers[position])

    def _diagram(self, parameter, node, at) -> Fraction:
        if node.tag == "Terminal":
            return Fraction(node.text.strip())
        if node.tag == "SubDAG":
            match node.get("type"):
                case "deterministic":
                    return Fraction(at[node.get("var")] == node.get("val"))
                case "persistent":
                    return Fraction(at[node.get("var")] == at[self.partner[node.get("var")]])
                case "uniform":
                    return Fraction(1, len(self.values[node.get("var")]))
                case _:
                    templates = {t.get("id"): t[0] for t in parameter.findall("SubDAGTemplate")}
                    return self._diagram(parameter, templates[node.get("idref")], at)
        for edge in node:
            if edge.get("val") == at[node.get("var")]:
                return self._diagram(parameter, edge[0], at)
        return Fraction(0)

    def probability(self, section: str, at: dict[str, str]) -> Fraction:
        """The product of a section's conditional probabilities, each row divided by its sum."""
        chance = Fraction(1)
        for element in self.sections[section]:
            own = element.find("Var").text.split()
            total = sum(self.function(element, at | other) for other in self.joint(own))
            chance *= self.function(element, at) / total
        return chance

    def reward(self, at: dict[str, str]) -> Fraction:
        """The sum of the reward functions."""
        return sum((self.function(f, at) for f in self.sections["RewardFunction"]), Fraction(0))

    def start(self) -> list[Fraction]:
        """The start distribution."""
        return [self.probability("InitialStateBelief", s) for s in self.joint(self.before)]

    def outcomes(self):
        """(a, s, s', o, probability, reward), by number, where the probability is above zero."""
        seen = self.observed + self.sensors
        for a, action in enumerate(self.joint(self.actions)):
            for s, state in enumerate(self.joint(self.before)):
                for t, following in enumerate(self.joint(self.after)):
                    move = action | state | following
                    chance = self.probability("StateTransitionFunction", move)
                    if not chance:
                        continue
                    for o, observation in enumerate(self.joint(seen)):
                        if any(observation[name] != following[name] for name in self.observed):
                            continue
                        at = move | observation
                        both = chance * self.probability("ObsFunction", at)
                        if both:
                            yield a, s, t, o, both, self.reward(at)
