"""A slow, simple reader of Cassandra's `.pomdp` format: the oracle of the real reader's tests.

It shares no code with the library. One token after another, exact fractions, dictionaries, and no
normalisation: what it returns is what the file says.

Where the format leaves room, this reader takes these decisions:

- `:` and `*` are tokens wherever they stand; a sign may stand apart from its number (`- 5`).
- A list (`states:`, `start:`...) ends before a word that `:` follows, so a keyword may be a name.
- An index is a name if there is one so spelt, and a number otherwise.
- Later statements override earlier ones cell by cell; a zero erases. For rewards, the last
  statement that matches wins.
- `identity` is for the matrix form of T; `reset` for T; `uniform` for T, O and OO.
- `OO : a : s : s'` rows replace the row O(a, s') whole, and start empty.
"""

import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
COUNT = re.compile(r"[0-9]+")
PREAMBLE = ("discount", "values", "states", "actions", "observations", "start")

Axis = dict[str, int]  # the names of the states, actions or observations, and their indices
Row = dict[int, Fraction]
Rule = tuple[int | None, int | None, int | None, int | None, Fraction]


@dataclass
class NaivePOMDP:
    """What a file says, raw; every index is an int and no zero is stored."""

    states: list[str]
    actions: list[str]
    observations: list[str]
    discount: Fraction | None = None
    start: list[Fraction] = field(default_factory=list)
    T: dict[tuple[int, int], Row] = field(default_factory=dict)  # (a, s) -> {s': p}
    O: dict[tuple[int, int], Row] = field(default_factory=dict)
    OO: dict[tuple[int, int, int], Row] = field(default_factory=dict)  # (a, s, s') -> {o: p}
    rules: list[Rule] = field(default_factory=list)  # (a, s, s', o, value); None is `*`
    _last: dict[tuple[int | None, ...], int] = field(default_factory=dict, repr=False)

    def add_rule(self, *rule: int | None, value: Fraction) -> None:
        a, s, s2, o = rule
        self._last[rule] = len(self.rules)
        self.rules.append((a, s, s2, o, value))

    def reward(self, a: int, s: int, s2: int, o: int) -> Fraction:
        """The value of the last rule that matches, 0 if none does."""
        patterns = product((a, None), (s, None), (s2, None), (o, None))
        last = max(self._last.get(pattern, -1) for pattern in patterns)
        return self.rules[last][4] if last >= 0 else Fraction(0)

    def observation_row(self, a: int, s: int, s2: int) -> Row:
        """The probability of each observation on the transition (s, a, s')."""
        return self.OO.get((a, s, s2), self.O.get((a, s2), {}))


def read(path: str | Path) -> NaivePOMDP:
    """Read one `.pomdp` file, gzipped or not; ValueError if it is not one."""
    data = Path(path).read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return _Reader(data.decode()).model()


@cache
def number(word: str) -> Fraction:
    if not NUMBER.fullmatch(word):
        raise ValueError(f"{word!r} where a number was expected")
    return Fraction(word)


class _Reader:
    def __init__(self, text: str) -> None:
        text = re.sub(r"#[^\n]*", " ", text)
        self.tokens = re.sub(r"[:*]", r" \g<0> ", text).split()
        self.at = 0

    # Tokens

    def peek(self, ahead: int = 0) -> str | None:
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else None

    def take(self) -> str:
        word = self.peek()
        if word is None:
            raise ValueError("the file ends too early")
        self.at += 1
        return word

    def take_colon(self) -> None:
        if self.take() != ":":
            raise ValueError(f"{self.tokens[self.at - 1]!r} where ':' was expected")

    def take_list(self) -> list[str]:
        """Words up to the next `keyword :`, `start include :` or `start exclude :`."""
        words = []
        while self.peek() is not None and self.peek(1) != ":":
            if self.peek() == "start" and self.peek(1) in ("include", "exclude"):
                break
            words.append(self.take())
        return words

    def take_numbers(self, count: int) -> list[Fraction]:
        values = []
        for _ in range(count):
            word = self.take()
            values.append(number(word + self.take() if word in ("+", "-") else word))
        return values

    # The file

    def model(self) -> NaivePOMDP:
        sections: dict[str, list[str]] = {}
        while self.peek() in PREAMBLE:
            keyword = self.take()
            if keyword == "start" and self.peek() in ("include", "exclude"):
                keyword += " " + self.take()
            self.take_colon()
            sections[keyword] = self.take_list()
        self.states = states = _axis(sections.get("states"))
        self.actions = actions = _axis(sections.get("actions"))
        self.observations = observations = _axis(sections.get("observations"))
        self.m = m = NaivePOMDP(list(states), list(actions), list(observations))
        if "discount" in sections:
            m.discount = number("".join(sections["discount"]))
        if (values := sections.get("values", ["reward"])) not in (["reward"], ["cost"]):
            raise ValueError(f"{values} where 'reward' or 'cost' was expected")
        self.sign = -1 if values == ["cost"] else 1
        m.start = _start(sections, states)
        while self.peek() is not None:
            keyword = self.take()
            self.take_colon()
            match keyword:
                case "T":
                    self.table(m.T, [actions, states], states)
                case "O":
                    self.table(m.O, [actions, states], observations)
                case "OO":
                    self.table(m.OO, [actions, states, states], observations)
                case "R":
                    self.rewards()
                case _:
                    raise ValueError(f"{keyword!r} where T, O, OO or R was expected")
        return m

    def indices(self, *axes: Axis) -> list[int | None]:
        """Indices separated by `:`, one per axis at most; None for `*`."""
        indices: list[int | None] = []
        for axis in axes:
            if indices and self.peek() != ":":
                break
            if indices:
                self.take_colon()
            word = self.take()
            indices.append(None if word == "*" else _index(word, axis))
        return indices

    def table(self, table: dict, axes: list[Axis], columns: Axis) -> None:
        """The rest of a statement of T, O or OO: an entry, a row, or all rows of an action."""
        given = self.indices(*axes, columns)
        if len(given) > len(axes):
            column = given.pop()
            [value] = self.take_numbers(1)
            for key in _keys(given, axes):
                row = table.setdefault(key, {})
                if value:
                    row |= dict.fromkeys(range(len(columns)) if column is None else [column], value)
                elif column is None:
                    row.clear()
                else:
                    row.pop(column, None)
        elif len(given) == len(axes):
            row = self.row(table, columns)
            table.update((key, dict(row)) for key in _keys(given, axes))
        elif len(axes) == 2:
            if self.peek() == "identity" and table is self.m.T:
                self.take()
                rows = [{s: Fraction(1)} for s in range(len(columns))]
            elif self.peek() in ("uniform", "reset"):
                rows = [self.row(table, columns)] * len(axes[1])
            else:
                rows = [self.row(table, columns) for _ in axes[1]]
            table.update(((a, i), dict(rows[i])) for a, i in _keys([*given, None], axes))
        else:
            raise ValueError(f"too few indices before {self.peek()!r}")

    def row(self, table: dict, columns: Axis) -> Row:
        """A row of numbers, or the word for one."""
        if self.peek() == "uniform":
            self.take()
            return dict.fromkeys(range(len(columns)), Fraction(1, len(columns)))
        if self.peek() == "reset" and table is self.m.T:
            self.take()
            values = self.m.start
        else:
            values = self.take_numbers(len(columns))
        return {j: value for j, value in enumerate(values) if value}

    def rewards(self) -> None:
        """The rest of a statement of R: an entry, a row over o, or a matrix over s' and o."""
        axes = (self.actions, self.states, self.states, self.observations)
        given = self.indices(*axes)
        if len(given) < 2:
            raise ValueError("R needs an action and a state at least")
        for rest in product(*(range(len(axis)) for axis in axes[len(given) :])):
            [value] = self.take_numbers(1)
            self.m.add_rule(*given, *rest, value=self.sign * value)


def _keys(given: list[int | None], axes: list[Axis]) -> Iterator[tuple[int, ...]]:
    """Every index tuple that `given` stands for, None standing for all."""
    ranges = [range(len(axis)) for axis in axes]
    return product(*(r if i is None else [i] for i, r in zip(given, ranges, strict=True)))


def _axis(words: list[str] | None) -> Axis:
    if not words:
        raise ValueError("states, actions and observations must all be given")
    if len(words) == 1 and COUNT.fullmatch(words[0]):
        words = [str(i) for i in range(int(words[0]))]
    if len(set(words)) < len(words):
        raise ValueError("a name is given twice")
    return {name: i for i, name in enumerate(words)}


def _index(word: str, axis: Axis) -> int:
    if word in axis:
        return axis[word]
    if COUNT.fullmatch(word) and int(word) < len(axis):
        return int(word)
    raise ValueError(f"{word!r} is neither a name nor an index below {len(axis)}")


def _start(sections: dict[str, list[str]], states: Axis) -> list[Fraction]:
    """The start distribution: numbers, or uniform over a set of states."""
    words = sections.get("start", ["uniform"])
    support = set(range(len(states)))
    if "start include" in sections:
        support = {_index(word, states) for word in sections["start include"]}
    elif "start exclude" in sections:
        support -= {_index(word, states) for word in sections["start exclude"]}
    elif len(words) == 1 and words != ["uniform"] and (len(states) > 1 or words[0] in states):
        support = {_index(words[0], states)}
    elif words != ["uniform"]:
        if len(words) != len(states):
            raise ValueError(f"start has {len(words)} numbers for {len(states)} states")
        return [number(word) for word in words]
    if not support:
        raise ValueError("start leaves no state")
    return [Fraction(s in support, len(support)) for s in range(len(states))]
