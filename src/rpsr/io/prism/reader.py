"""Reader of the explicit form of PRISM's POMDPs, complete and strict: errors name line and column.

The form is what tools export: one module over two bounded integer variables, the state and the
observation, one command per state and action, labels and rewards. Files with commands and labels
alone, without a header, are read too. As in PRISM, the model has the states that can be reached
from the initial one, and a state without a command is left by no action.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from rpsr.errors import InputError
from rpsr.io.allowance import TEXT_COST, excess
from rpsr.io.explicit import Entries, Explicit, number_actions, number_of, unused_rewards
from rpsr.io.prism.grammar import Contents, Term, Variable, parse
from rpsr.io.prism.scanner import Scanner
from rpsr.io.records import Bools, Ints, Record
from rpsr.printable import quoted
from rpsr.showing import counted

DEADLOCK = "deadlock"  # the label that Storm, too, gives to states without a command


def parse_prism(
    text: bytes, *, place: str, name: str, normalize: bool = False, size: int | None = None
) -> Record:
    """Read a text in the explicit form. `normalize` accepts rows of any positive sum.

    size: bytes of the file itself, if the text was compressed.
    """
    size = len(text) if size is None else size
    scanner = Scanner(text.removeprefix(b"\xef\xbb\xbf"), place)
    if (problem := excess(TEXT_COST * len(text), size)) is not None:
        raise InputError(problem, place=place)
    return _Reader(scanner, parse(scanner)).explicit().record(name, normalize, size)


class _Reader:
    """From what a file says to an explicit model: values of variables become indices."""

    def __init__(self, scanner: Scanner, contents: Contents) -> None:
        self.scanner, self.contents = scanner, contents
        self.warnings: list[str] = []
        self.unnamed: set[int] = set()  # actions of commands without a name
        state, seen = self._fragment() if contents.fragment else self._declared()
        self.state, self.seen = state, seen
        self.sources = self._guards()
        self.targets, self.observed = self._updates()
        self.observation = self._observations()
        self.reached = self._reached()
        self.index = {value: i for i, value in enumerate(self.reached)}

    # ---- variables

    def _fragment(self) -> tuple[Variable, Variable]:
        contents = self.contents
        state = contents.guards[0][0]
        one, _, other, _ = contents.updates[0]
        seen = other if one == state else one
        self.warnings.append(
            f"the commands are in no module: '{state.decode()}', the variable of the guards, was "
            f"read as the state, '{seen.decode()}' as the observation, and "
            f"{state.decode()}=0 as the initial state"
        )
        far = 10**18
        return Variable(state, -far, far, 0, 0), Variable(seen, -far, far, -far, 0)

    def _declared(self) -> tuple[Variable, Variable]:
        contents, scanner = self.contents, self.scanner
        if len(contents.observables) != 1:
            read = f"read {counted(len(contents.observables), 'observable')}"
            raise scanner.outside(contents.command_at[0], f"{read}, expected one variable")
        if len(contents.variables) != 2:
            at = contents.variables[2].at if len(contents.variables) > 2 else contents.command_at[0]
            read = f"the module has {counted(len(contents.variables), 'variable')}"
            raise scanner.outside(at, f"{read}, expected two: the state and the observation")
        for variable in contents.variables:
            if not variable.low <= variable.initial <= variable.high:
                shown = f"{variable.low}..{variable.high}"
                message = f"read init {variable.initial}, expected a value in [{shown}]"
                raise scanner.error(variable.at, message)
        one, other = contents.variables
        for state, seen in ((one, other), (other, one)):
            if [seen.name] == contents.observables and state.name != seen.name:
                return state, seen
        name = quoted(contents.observables[0].decode("utf-8", "backslashreplace"))
        raise scanner.outside(one.at, f"the observable {name} is not a variable of the module")

    def _guards(self) -> list[int]:
        sources: list[int] = []
        for command, (name, value) in enumerate(self.contents.guards):
            at = self.contents.command_at[command]
            if name != self.state.name:
                read = f"the guard tests '{name.decode()}'"
                message = f"{read}, expected the state variable '{self.state.name.decode()}'"
                raise self.scanner.outside(at, message)
            self._check(self.state, value, at)
            sources.append(value)
        return sources

    def _updates(self) -> tuple[list[int], list[int]]:
        state, seen = self.state.name, self.seen.name
        targets: list[int] = []
        observed: list[int] = []
        for outcome, (one, here, other, there) in enumerate(self.contents.updates):
            if (one, other) == (seen, state):
                here, there = there, here
            elif (one, other) != (state, seen):
                expected = f"'{state.decode()}' and '{seen.decode()}'"
                read = f"the update sets '{one.decode()}' and '{other.decode()}'"
                at = self.contents.outcome_at[outcome]
                raise self.scanner.outside(self._past(at), f"{read}, expected {expected}")
            targets.append(here)
            observed.append(there)
        for variable, values in ((self.state, targets), (self.seen, observed)):
            for value in (min(values), max(values)):
                at = self.contents.outcome_at[values.index(value)]
                self._check(variable, value, self._past(at))
        return targets, observed

    def _check(self, variable: Variable, value: int, at: int) -> None:
        if not variable.low <= value <= variable.high:
            shown = f"[{variable.low}..{variable.high}]"
            raise self.scanner.error(
                at, f"'{variable.name.decode()}': read {value}, expected a value in {shown}"
            )

    def _past(self, at: int) -> int:
        """The first word at or after an offset."""
        self.scanner.at = at
        self.scanner.peek()
        return self.scanner.at

    # ---- states

    def _observations(self) -> dict[int, int]:
        """The observation of each state that is entered, and of the initial one."""
        seen = dict(zip(self.targets, self.observed, strict=True))
        if not self.contents.fragment and self.state.initial not in seen:
            seen[self.state.initial] = self.seen.initial
        elif self.contents.fragment and self.state.initial not in seen:
            taken = set(self.observed)
            seen[self.state.initial] = next(i for i in range(len(taken) + 1) if i not in taken)
        elif not self.contents.fragment and seen[self.state.initial] != self.seen.initial:
            raise self._two(self.state.initial, seen[self.state.initial], self.seen.initial,
                            self.seen.at)  # fmt: skip
        for outcome, (target, observed) in enumerate(zip(self.targets, self.observed, strict=True)):
            if seen[target] != observed:
                at = self._past(self.contents.outcome_at[outcome])
                raise self._two(target, observed, seen[target], at)
        return seen

    def _two(self, state: int, one: int, other: int, at: int) -> InputError:
        name, seen = self.state.name.decode(), self.seen.name.decode()
        both = f"{name}={state} occurs with {seen}={one} and with {seen}={other}"
        return self.scanner.outside(at, f"{both}, expected one observation for each state")

    def _reached(self) -> list[int]:
        """The values of the states that can be reached from the initial one, ascending."""
        following: dict[int, set[int]] = {}
        positive = {w for w in set(self.contents.probabilities) if number_of(w)}
        for outcome, command in enumerate(self.contents.outcome_command):
            if self.contents.probabilities[outcome] in positive:
                source = self.sources[command]
                following.setdefault(source, set()).add(self.targets[outcome])
        if self.contents.fragment and self.state.initial not in following:
            shown = f"{self.state.name.decode()}=0"
            message = f"no command has the guard {shown}, which is the initial state of a file "
            raise self.scanner.error(self.contents.command_at[0], message + "without a module")
        reached, open_states = {self.state.initial}, [self.state.initial]
        while open_states:
            new = following.get(open_states.pop(), set()) - reached
            reached |= new
            open_states += new
        unreached = len(set(following) - reached)
        if unreached:
            states = counted(unreached, "state")
            self.warnings.append(f"left out {states} not reachable from the initial state")
        return sorted(reached)

    # ---- the model

    def explicit(self) -> Explicit:
        contents, index = self.contents, self.index
        known = np.array([source in index for source in self.sources], dtype=np.bool_)
        state = np.array([index.get(source, 0) for source in self.sources], dtype=np.int64)[known]
        names, action = self._actions(known)
        number = np.cumsum(known) - 1  # of each command among those that are kept
        command = np.array(contents.outcome_command, dtype=np.int64)
        kept = np.flatnonzero(known[command])
        words = {word: i for i, word in enumerate(dict.fromkeys(contents.probabilities))}
        self._probabilities(words)
        # A target that is not reached has probability 0: any state will do.
        target = np.array([index.get(value, 0) for value in self.targets], dtype=np.int64)
        word = np.array([words[chance] for chance in contents.probabilities], dtype=np.int64)
        entries = Entries(number[command[kept]], target[kept], word[kept])
        observed = sorted({self.observation[value] for value in self.reached})
        place = {value: i for i, value in enumerate(observed)}
        state_rewards, choice_rewards = self._rewards(names, state, action)
        ends = tuple(sorted(set(range(len(self.reached))) - set(state.tolist())))
        labels = tuple((name, self._states(terms)) for name, terms in contents.labels)
        if ends:
            self.warnings.append(
                f"no action leaves a state without a command ({counted(len(ends), 'state')})"
            )
            if DEADLOCK not in dict(labels):
                labels += ((DEADLOCK, ends),)
        places = [contents.command_at[c] for c in np.flatnonzero(known).tolist()]
        return Explicit(
            states=tuple(str(value) for value in self.reached),
            actions=names,
            observations=tuple(str(value) for value in observed),
            observation=np.array([place[self.observation[v]] for v in self.reached], np.int64),
            initial=index[self.state.initial],
            state=state,
            action=action,
            entries=entries,
            words=list(words),
            state_rewards=state_rewards,
            choice_rewards=choice_rewards,
            labels=labels,
            warnings=tuple(self.warnings),
            at_choice=lambda c, m: self.scanner.error(places[c] if places else 0, m),
        )

    def _actions(self, known: Bools) -> tuple[tuple[str, ...], Ints]:
        commands = np.flatnonzero(known).tolist()
        places = self.contents.command_at

        def twice(choice: int, earlier: int, name: str) -> InputError:
            line = self.scanner.error(places[commands[earlier]], "").line
            shown = (
                f"action '{name}' of {self.state.name.decode()}={self.sources[commands[choice]]}"
            )
            message = f"{shown} is given twice, first in line {line}"
            return self.scanner.error(places[commands[choice]], message)

        given = [(self.sources[c], self.contents.actions[c].decode()) for c in commands]
        names, action = number_actions(given, twice)
        self.unnamed = {a for a, (_, name) in zip(action.tolist(), given, strict=True) if not name}
        return names or ("0",), action

    def _probabilities(self, words: dict[bytes, int]) -> None:
        for word in words:
            value = number_of(word)
            if value is None or not 0 <= value <= 1:
                at = self._past(self.contents.outcome_at[self.contents.probabilities.index(word)])
                shown = quoted(word.decode())
                raise self.scanner.error(at, f"read {shown}, expected a probability in [0, 1]")

    def _states(self, terms: list[Term]) -> tuple[int, ...]:
        chosen: set[int] = set()
        for term in terms:
            chosen |= self._holding(term)
        return tuple(sorted(chosen))

    def _holding(self, term: Term) -> set[int]:
        """The indices of the states where a term holds."""
        if term.value is None:
            return set(self.index.values()) if term.name == b"true" else set()
        if term.name == self.state.name:
            self._check(self.state, term.value, term.at)
            return {self.index[term.value]} if term.value in self.index else set()
        if term.name == self.seen.name:
            return {i for i, v in enumerate(self.reached) if self.observation[v] == term.value}
        shown, state, seen = (
            name.decode() for name in (term.name, self.state.name, self.seen.name)
        )
        raise self.scanner.outside(term.at, f"read '{shown}', expected '{state}' or '{seen}'")

    def _rewards(
        self, names: tuple[str, ...], state: Ints, action: Ints
    ) -> tuple[list[Fraction], list[Fraction]]:
        """The rewards of states (S) and of choices (C), by the first reward model."""
        of_states = [Fraction(0) for _ in self.reached]
        of_choices = [Fraction(0) for _ in state]
        models = self.contents.rewards
        self.warnings += unused_rewards([name for name, _ in models])
        known = {name.decode() for name in self.contents.actions}
        choice = {
            (s, a): c for c, (s, a) in enumerate(zip(state.tolist(), action.tolist(), strict=True))
        }
        for item in models[0][1] if models else ():
            if item.action is None:
                for s in self._holding(item.term):
                    of_states[s] += item.worth
                continue
            name = item.action.decode()
            if name not in known:
                message = f"the reward of action '{name}': no command has this action"
                raise self.scanner.error(item.term.at, message)
            chosen = [names.index(name)] if name in names else []
            if not name:
                chosen = sorted(self.unnamed)
            for s in self._holding(item.term):
                for a in chosen:
                    if (s, a) in choice:
                        of_choices[choice[s, a]] += item.worth
        return of_states, of_choices
