"""Reader of DRN, Storm's explicit format, complete and strict for POMDPs: errors name the place.

A file has a header (`@type: POMDP`, `@reward_models`, `@nr_states`, ...) and, after `@model`, the
states: `state 3 {2} [rewards] labels`, each followed by its actions, `action name [rewards]`, each
followed by its row, `target : probability`. Lines that begin with `//` are comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from rpsr.errors import InputError
from rpsr.io.allowance import TEXT_COST, excess
from rpsr.io.explicit import Entries, Explicit, number_actions, number_of, unused_rewards
from rpsr.io.records import IN_RANGE, LARGEST_REWARD, Record
from rpsr.io.tokens import error_at
from rpsr.printable import quoted

INITIAL = "init"  # the label of the initial state
UNNAMED = ("__NOLABEL__", "__no_label__")
_LINE = re.compile(rb"[ \t\f]*([^\r\n]*?)[ \t\f]*(?:\r\n|\r|\n|\Z)")
_DIRECTIVE = re.compile(rb"@(\w+)\s*:?\s*(.*)", re.S)
_STATE = re.compile(rb"state\s+(\d{1,18})\b(.*)", re.S)
_PART = re.compile(rb'\{\s*(\d{1,18})\s*\}|\[([^\]]*)\]|"([^"]*)"|([^\s"{}\[\]!]\S*)|\s+')
_ACTION = re.compile(rb"action\b\s*(.*?)\s*(?:\[([^\]]*)\])?", re.S)
_ENTRY = re.compile(rb"(\d{1,18})\s*:\s*(.+)", re.S)
_STRING = re.compile(rb"\S+")


def parse_drn(
    text: bytes, *, place: str, name: str, normalize: bool = False, size: int | None = None
) -> Record:
    """Read a DRN text. `normalize` accepts rows of any positive sum and rescales them.

    size: bytes of the file itself, if the text was compressed.
    """
    size = len(text) if size is None else size
    if (problem := excess(TEXT_COST * len(text), size)) is not None:
        raise InputError(problem, place=place)
    return (
        _Reader(text.removeprefix(b"\xef\xbb\xbf"), place).explicit().record(name, normalize, size)
    )


class _Reader:
    """One pass over the lines: header, then states, actions and rows as they come."""

    def __init__(self, text: bytes, place: str) -> None:
        self.text, self.place = text, place
        self.at = 0  # where the current line begins
        self.header: dict[str, bytes] = {}
        self.header_at: dict[str, int] = {}
        self.placeholders: dict[bytes, bytes] = {}
        self.numbers: dict[bytes, Fraction | None] = {}
        self.reward_names: list[str] = []
        lines = self._lines()
        self._read_header(lines)
        self.n_states = self._count("nr_states")
        self.state_at: dict[int, int] = {}
        self.seen: dict[int, int] = {}
        self.state_rewards: dict[int, Fraction] = {}
        self.labels: dict[str, list[int]] = {}
        self.choices: list[tuple[int, str]] = []
        self.choice_at: list[int] = []
        self.choice_rewards: list[Fraction] = []
        self.entry_choice: list[int] = []
        self.targets: list[int] = []
        self.chances: list[bytes] = []
        self._read_states(lines)

    def error(self, message: str, at: int | None = None) -> InputError:
        """An error at an offset, or at the current line."""
        return error_at(self.text, self.at if at is None else at, message, self.place)

    def _lines(self) -> Iterator[bytes]:
        """The lines, with `at` at their first letter; comments are left out."""
        end, text, match = 0, self.text, _LINE.match
        while end < len(text):
            line = match(text, end)
            assert line is not None
            self.at, end = line.start(1), line.end()
            if not line[1].startswith(b"//"):
                yield line[1]
        self.at = len(text)

    # ---- header

    def _read_header(self, lines: Iterator[bytes]) -> None:
        """Directives: `@key: value`, or `@key` with its value in the lines below."""
        key = ""
        for line in lines:
            directive = _DIRECTIVE.fullmatch(line)
            if directive is not None:
                key = directive[1].decode("ascii", "replace").lower()
                if key == "model":
                    break
                self.header[key], self.header_at[key] = directive[2], self.at
                if key == "type":
                    self._check_type()
            elif key == "placeholders" and line:
                name, _, value = (part.strip() for part in line.partition(b":"))
                self.placeholders[name] = value
            elif key and line:
                self.header[key] += b" " + line
            elif line:
                raise self.error(f"read {_shown(line)}, expected '@type: POMDP'")
        else:
            raise self.error("read the end of the file, expected '@model'")
        self._check_type()
        parameters = self.header.get("parameters", b"").split()
        if parameters:
            at, shown = self.header_at["parameters"], _shown(parameters[0])
            raise self.error(f"read the parameter {shown}, expected a model without parameters", at)
        models = self.header.get("reward_models", b"").split()
        self.reward_names = [name.decode("utf-8", "backslashreplace") for name in models]

    def _check_type(self) -> None:
        if "type" not in self.header:
            raise self.error("the header has no '@type', expected '@type: POMDP'")
        kind = self.header["type"].strip()
        if kind.upper() == b"POMDP":
            return
        problem = "has no observations; " if kind.upper() in (b"MDP", b"DTMC", b"CTMC") else ""
        read = f"read the type {_shown(kind)}"
        message = f"{read}, which {problem}expected POMDP" if problem else f"{read}, expected POMDP"
        raise self.error(message, self.header_at["type"])

    def _count(self, key: str) -> int:
        if key not in self.header:
            raise self.error(f"the header has no '@{key}', expected it with a number")
        text = self.header[key].strip()
        if not re.fullmatch(rb"\d{1,18}", text) or int(text) == 0:
            at = self.header_at[key]
            raise self.error(f"'@{key}': read {_shown(text)}, expected a number above 0", at)
        return int(text)

    # ---- states

    def _read_states(self, lines: Iterator[bytes]) -> None:
        state = choice = -1  # those whose lines are read; -1 before the first
        entry = _ENTRY.fullmatch
        for line in lines:
            if not line:
                continue
            match = entry(line)
            if match is not None:
                if choice < 0:
                    raise self.error("read a probability, expected 'action' before it")
                self.entry_choice.append(choice)
                self.targets.append(self._target(int(match[1])))
                self.chances.append(self._chance(match[2]))
            elif (match := _ACTION.fullmatch(line)) is not None:
                if state < 0:
                    raise self.error("read an action, expected 'state' before it")
                choice = len(self.choices)
                self._action(state, match)
            elif (match := _STATE.fullmatch(line)) is not None:
                state, choice = self._state(match), -1
            else:
                raise self.error(
                    f"read {_shown(line)}, expected 'state 0 {{0}}', 'action a' or '1 : 0.5'"
                )
        self._check_complete()

    def _target(self, target: int) -> int:
        if target >= self.n_states:
            last = self.n_states - 1
            message = f"read state {target}, expected a state from 0 to {last} ('@nr_states')"
            raise self.error(message)
        return target

    def _chance(self, word: bytes) -> bytes:
        word = self.placeholders.get(word, word)
        if word not in self.numbers:
            self.numbers[word] = number_of(word)
        value = self.numbers[word]
        if value is None or not 0 <= value <= 1:
            raise self.error(f"read {_shown(word)}, expected a probability in [0, 1]")
        return word

    def _action(self, state: int, match: re.Match[bytes]) -> None:
        name = match[1].decode("utf-8", "backslashreplace").strip('"')
        self.choices.append((state, "" if name in UNNAMED else name))
        self.choice_at.append(self.at)
        self.choice_rewards.append(self._reward(match[2]))

    def _state(self, match: re.Match[bytes]) -> int:
        state = self._target(int(match[1]))
        if state in self.state_at:
            line = self.error("", self.state_at[state]).line
            raise self.error(f"state {state} is given twice, first in line {line}")
        self.state_at[state] = self.at
        rest, at = match[2], 0
        self.state_rewards[state], rewarded = self._reward(None), False
        while at < len(rest):
            part = _PART.match(rest, at)
            if part is None:
                self.at += match.start(2) - match.start() + at
                expected = "{observation}, [rewards] or a label"
                raise self.error(f"read {_shown(rest[at:])}, expected {expected}")
            seen, rewards, quoted_label, bare_label = part.groups()
            if seen is not None and state not in self.seen:
                self.seen[state] = int(seen)
            elif rewards is not None and not rewarded:
                self.state_rewards[state], rewarded = self._reward(rewards), True
            elif quoted_label is not None or bare_label is not None:
                label = bare_label if quoted_label is None else quoted_label
                name = label.decode("utf-8", "backslashreplace")
                self.labels.setdefault(name, []).append(state)
            elif not part[0].isspace():
                raise self.error(f"state {state}: read {_shown(part[0])} twice, expected it once")
            at = part.end()
        if state not in self.seen:
            message = f"state {state} has no observation, expected one, as in 'state {state} {{0}}'"
            raise self.error(message)
        return state

    def _reward(self, listed: bytes | None) -> Fraction:
        """The reward of the first reward model; none if the file lists none."""
        if listed is None:
            return Fraction(0)
        words = [word.strip() for word in listed.split(b",")] if listed.strip() else []
        if len(words) != len(self.reward_names):
            expected = f"expected {len(self.reward_names)}, one per name in '@reward_models'"
            raise self.error(f"read {len(words)} rewards, {expected}")
        worth = Fraction(0)
        for word in reversed(words):
            value = number_of(word.removeprefix(b"-"))
            if value is None or value > LARGEST_REWARD:
                raise self.error(f"the reward: read {_shown(word)}, expected {IN_RANGE}")
            worth = -value if word.startswith(b"-") else value
        return worth

    def _check_complete(self) -> None:
        for state in range(self.n_states):  # ends at the first that is missing
            if state not in self.state_at:
                read = f"read {len(self.state_at)} states, but '@nr_states' is {self.n_states}"
                raise self.error(f"state {state} is missing: {read}")
        acting = {state for state, _ in self.choices}
        if len(acting) < self.n_states:
            state = next(s for s in range(self.n_states) if s not in acting)
            message = f"state {state} has no action, expected at least one 'action' with its row"
            raise self.error(message, self.state_at[state])
        if "nr_choices" in self.header and self._count("nr_choices") != len(self.choices):
            gives = f"'@nr_choices' is {self._count('nr_choices')}"
            message = f"{gives}, but the states have {len(self.choices)} actions"
            raise self.error(message, self.header_at["nr_choices"])
        initial = self.labels.get(INITIAL, [])
        if len(initial) != 1:
            read = "no state has" if not initial else f"states {initial[0]} and {initial[1]} have"
            at = self.state_at[initial[1]] if initial else None
            raise self.error(f"{read} the label '{INITIAL}', expected one initial state", at)

    # ---- the model

    def explicit(self) -> Explicit:
        def twice(choice: int, earlier: int, name: str) -> InputError:
            line = self.error("", self.choice_at[earlier]).line
            shown = f"action '{name}' of state {self.choices[choice][0]}"
            message = f"{shown} is given twice, first in line {line}"
            return self.error(message, self.choice_at[choice])

        names, action = number_actions(self.choices, twice)
        observed = sorted(set(self.seen.values()))
        place = {value: i for i, value in enumerate(observed)}
        words = {word: i for i, word in enumerate(dict.fromkeys(self.chances))}
        return Explicit(
            states=tuple(str(state) for state in range(self.n_states)),
            actions=names,
            observations=tuple(str(value) for value in observed),
            observation=np.array([place[self.seen[s]] for s in range(self.n_states)], np.int64),
            initial=self.labels[INITIAL][0],
            state=np.array([state for state, _ in self.choices], dtype=np.int64),
            action=action,
            entries=Entries(
                np.array(self.entry_choice, dtype=np.int64),
                np.array(self.targets, dtype=np.int64),
                np.array([words[chance] for chance in self.chances], dtype=np.int64),
            ),
            words=list(words),
            state_rewards=[self.state_rewards[s] for s in range(self.n_states)],
            choice_rewards=self.choice_rewards,
            labels=tuple(
                (name, tuple(sorted(set(states))))
                for name, states in self.labels.items()
                if name != INITIAL
            ),
            warnings=tuple(unused_rewards(self.reward_names)),
            at_choice=lambda choice, message: self.error(message, self.choice_at[choice]),
        )


def _shown(text: bytes) -> str:
    return quoted(text.strip().decode("utf-8", "backslashreplace"))
