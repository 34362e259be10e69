"""The `<Variable>` element: which variables a file declares, and the identifiers it gives them.

A state variable has two identifiers, `vnamePrev` before an action and `vnameCurr` after it; each
identifier is an `Axis` of the tables that follow. People see one name for both: what the two
have in common, `robot` for `robot_0` and `robot_1`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from rpsr.errors import InputError
from rpsr.io.variables import Space, Variable
from rpsr.io.xml_tree import Document, Element
from rpsr.printable import quoted

SEPARATORS = "_-."  # between a name and what tells its two identifiers apart
_LETTERS = {"StateVar": "s", "ActionVar": "a", "ObsVar": "o"}  # of values that are only counted
NO_PARENT = "null"
IGNORED = "TerminalStateRewardVar"  # SARSOP reads it and does not use it


class Kind(Enum):
    """The meaning of an identifier; the text is for messages."""

    ACTION = "an action variable"
    STATE = "a state variable before the action"
    NEXT = "a state variable after the action"
    OBSERVATION = "an observation variable"
    REWARD = "a reward variable"


@dataclass(frozen=True, eq=False)
class Axis:
    """One identifier. number: the position of its variable among those of its kind."""

    identifier: str
    kind: Kind
    number: int
    variable: Variable
    index: dict[str, int]

    @property
    def size(self) -> int:
        """The number of values."""
        return self.variable.size

    def find(self, word: str) -> int | None:
        """The number of a value, from its name or its number; None if there is none."""
        number = self.index.get(word)
        if number is None and word.isascii() and word.isdecimal() and len(word) < 10:
            number = int(word) if int(word) < self.size else None
        return number


@dataclass(frozen=True, eq=False)
class Scope:
    """The variables of a file, and its identifiers."""

    states: Space
    actions: Space
    sensors: Space  # observation variables
    axes: dict[str, Axis]
    ignored: bool  # whether it declares rewards of terminal states

    @property
    def observed(self) -> list[int]:
        """The numbers of the state variables that are fully observed."""
        return [i for i, variable in enumerate(self.states.variables) if variable.observed]

    @property
    def observations(self) -> Space:
        """The observed variables: the fully observed state variables, then the sensors."""
        seen = tuple(self.states.variables[i] for i in self.observed)
        return Space(seen + self.sensors.variables)

    def names(self, space: Space) -> tuple[str, ...]:
        """The names of joint values, which must be distinct."""
        names = tuple(space.names()) if space.variables else ("nothing",)
        if len(set(names)) != len(names):
            raise InputError(
                "two combinations of values have the same name, because a value's name contains "
                "',' and '='; rename the value"
            )
        return names


def read_scope(document: Document) -> Scope:
    """All variables that a file declares."""
    element = document.one(document.root, "Variable")
    document.expect(element, "StateVar", "ActionVar", "ObsVar", "RewardVar", IGNORED)
    axes: dict[str, Axis] = {}

    def declare(at: Element, attribute: str, kind: Kind, number: int, variable: Variable) -> None:
        identifier = document.attribute(at, attribute)
        if identifier in axes or identifier == NO_PARENT:
            taken = "is declared twice" if identifier in axes else "is reserved: it means no parent"
            raise document.error(at, f"the identifier {quoted(identifier)} {taken}")
        index = {value: i for i, value in enumerate(variable.values)}
        axes[identifier] = Axis(identifier, kind, number, variable, index)

    states = _state_variables(document, element.all("StateVar"))
    for number, (at, variable) in enumerate(zip(element.all("StateVar"), states, strict=True)):
        declare(at, "vnamePrev", Kind.STATE, number, variable)
        declare(at, "vnameCurr", Kind.NEXT, number, variable)
    spaces: dict[str, Space] = {}
    for tag, kind in (("ActionVar", Kind.ACTION), ("ObsVar", Kind.OBSERVATION)):
        variables = [
            Variable(document.attribute(at, "vname"), _values(document, at))
            for at in element.all(tag)
        ]
        for number, (at, variable) in enumerate(zip(element.all(tag), variables, strict=True)):
            declare(at, "vname", kind, number, variable)
        spaces[tag] = Space(tuple(variables))
    for number, at in enumerate(element.all("RewardVar")):
        reward = Variable(document.attribute(at, "vname"), ("reward",))
        declare(at, "vname", Kind.REWARD, number, reward)
    for tag, variables in (("StateVar", states), ("ActionVar", spaces["ActionVar"].variables)):
        if not variables:
            raise document.error(element, f"<Variable> has no <{tag}>, expected at least one")
    return Scope(
        Space(tuple(states)),
        spaces["ActionVar"],
        spaces["ObsVar"],
        axes,
        bool(element.all(IGNORED)),
    )


def _state_variables(document: Document, elements: list[Element]) -> list[Variable]:
    identifiers = [
        (document.attribute(at, "vnamePrev"), document.attribute(at, "vnameCurr"))
        for at in elements
    ]
    short = [_shared(*pair).rstrip(SEPARATORS) for pair in identifiers]
    if len(set(short)) < len(short) or not all(short):
        short = [before for before, _ in identifiers]
    variables: list[Variable] = []
    for at, name in zip(elements, short, strict=True):
        observed = at.attributes.get("fullyObs", "false").strip().lower()
        if observed not in ("true", "false", "1", "0"):
            message = f"fullyObs: read {quoted(observed)}, expected true or false"
            raise document.error(at, message)
        variables.append(Variable(name, _values(document, at), observed in ("true", "1")))
    return variables


def _shared(first: str, second: str) -> str:
    """The beginning that two identifiers share."""
    same = (a == b for a, b in zip(first, second, strict=False))
    return first[: next((i for i, equal in enumerate(same) if not equal), len(second))]


def _values(document: Document, element: Element) -> tuple[str, ...]:
    """The names of a variable's values."""
    document.expect(element, "ValueEnum", "NumValues")
    if len(element.children) != 1:
        expected = "expected one <ValueEnum> or one <NumValues>"
        raise document.error(element, f"<{element.tag}> has {len(element.children)}, {expected}")
    child = element.children[0]
    words = child.words()
    if child.tag == "NumValues":
        count = words[0] if len(words) == 1 else child.text.strip()
        if not (count.isascii() and count.isdecimal() and len(count) < 12 and int(count) > 0):
            message = f"<NumValues>: read {quoted(count)}, expected a number of values above 0"
            raise document.error(child, message)
        cause = f"<NumValues> declares {int(count):,} values"
        document.allow(100 * int(count), cause, child)
        return tuple(f"{_LETTERS[element.tag]}{i}" for i in range(int(count)))
    if not words:
        raise document.error(child, "<ValueEnum> has no value, expected at least one")
    seen: set[str] = set()
    for number, word in enumerate(words):
        if word in ("*", "-") or word in seen:
            twice = "occurs twice" if word in seen else "is reserved, expected another name"
            raise document.error(child, f"<ValueEnum>: the value {quoted(word)} {twice}", number)
        seen.add(word)
    return tuple(words)
