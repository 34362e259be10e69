"""The preamble of a `.pomdp` file: sizes and names, discount, sense of values, start."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rpsr.errors import InputError
from rpsr.io.records import Ints, Rows
from rpsr.io.statements import ANY, Statements
from rpsr.io.tokens import Tokens, is_name
from rpsr.io.weights import Sums, Values, weigh

MOST_NAMES = 1_000_000  # of one kind
MOST_ROWS = 2_000_000  # actions times states


@dataclass(frozen=True, eq=False)
class Preamble:
    """The content of the preamble. costs: whether `values: cost` makes rewards negative."""

    discount: Fraction | None
    costs: bool
    states: tuple[str, ...]
    actions: tuple[str, ...]
    observations: tuple[str, ...]


def read_preamble(tokens: Tokens, statements: dict[bytes, Statements]) -> Preamble:
    """Read the preamble without `start`, which is a distribution."""
    states = _names(tokens, statements[b"states"], "states")
    actions = _names(tokens, statements[b"actions"], "actions")
    observations = _names(tokens, statements[b"observations"], "observations")
    if len(actions) * len(states) > MOST_ROWS:
        at = int(statements[b"states"].first[0])
        sizes = f"{len(states)} states times {len(actions)} actions"
        raise tokens.error(at, f"{sizes} is more than the reader's limit of {MOST_ROWS} rows")
    if len(actions) * len(states) ** 2 * len(observations) >= 2**62:
        at = int(statements[b"observations"].first[0])
        sizes = f"{len(states)} states, {len(actions)} actions and {len(observations)} observations"
        limit = "more than 2^62 combinations (s, a, s', o), the reader's limit"
        raise tokens.error(at, f"{sizes} have {limit}")
    return Preamble(
        discount=_discount(tokens, statements[b"discount"]),
        costs=_costs(tokens, statements[b"values"]),
        states=states,
        actions=actions,
        observations=observations,
    )


def lookup(tokens: Tokens, names: tuple[str, ...]) -> Ints:
    """By word: its index among `names`, `ANY` for `*`, -2 if it is neither."""
    indices = np.full(len(tokens.words), -2, dtype=np.int64)
    for word, decimal in enumerate(tokens.decimals):
        if decimal is not None and tokens.words[word].isdigit() and decimal[0] < len(names):
            indices[word] = decimal[0]
    for index, name in enumerate(names):
        word = tokens.id_of(name.encode())
        if word >= 0:
            indices[word] = index
    star = tokens.id_of(b"*")
    if star >= 0:
        indices[star] = ANY
    return indices


def read_start(
    tokens: Tokens, statement: Statements, states: Ints, size: int, values: Values
) -> tuple[Rows, Sums]:
    """The start distribution, uniform if there is no statement. states: index by word."""
    first, last = _only(tokens, statement, "start") or (0, 0)
    modifier = tokens.words[int(tokens.ids[first + 1])] if last else b":"
    body = np.arange(first + (2 if modifier == b":" else 3), last)
    words = tokens.ids[body]
    if modifier != b":":
        listed = np.unique(_state_indices(tokens, body, states))
        if modifier == b"exclude":
            listed = np.setdiff1d(np.arange(size), listed)
        if len(listed) == 0:
            raise tokens.error(first, "'start' allows no state, expected at least one")
        return _uniform_over(listed, size, values)
    if last == 0 or (len(words) == 1 and tokens.words[int(words[0])] == b"uniform"):
        return _uniform_over(np.arange(size, dtype=np.int64), size, values)
    if len(words) == 1 and states[words[0]] != -2:  # with one state, `1` is a vector, not an index
        return _uniform_over(_state_indices(tokens, body, states), size, values)
    if len(words) != size or not tokens.is_number[words].all():
        wrong = np.flatnonzero(~tokens.is_number[words])
        at = int(body[wrong[0]]) if len(wrong) else int(min(first + 2 + size, last))
        at = first + 2 if len(words) == 1 else at
        expected = f"a state, 'uniform', or {size} probabilities"
        raise tokens.error(at, f"'start': read {tokens.show(at)}, expected {expected}")
    value = tokens.values[words]
    wrong = ~((value >= 0) & (value <= 1))
    if wrong.any():
        at = int(body[np.argmax(wrong)])
        raise tokens.error(at, f"read {tokens.show(at)}, expected a probability in [0, 1]")
    support = np.flatnonzero(value)
    return weigh(size, np.array([0, len(support)]), support, words[support], values)


def _uniform_over(support: Ints, size: int, values: Values) -> tuple[Rows, Sums]:
    word = values.add(np.ones(1, dtype=np.int64), len(support))
    words = np.repeat(word, len(support))
    return weigh(size, np.array([0, len(support)]), support, words, values)


def _state_indices(tokens: Tokens, body: Ints, states: Ints) -> Ints:
    indices = states[tokens.ids[body]]
    if (indices < 0).any():
        at = int(body[np.argmax(indices < 0)])
        raise tokens.error(at, f"read {tokens.show(at)}, expected the name or index of a state")
    return indices


def _only(tokens: Tokens, statement: Statements, word: str) -> tuple[int, int] | None:
    if len(statement) > 1:
        raise tokens.error(
            int(statement.first[1]), f"read a second '{word}' statement, expected one"
        )
    return (int(statement.first[0]), int(statement.last[0])) if len(statement) else None


def _single(tokens: Tokens, statement: Statements, word: str, expected: str) -> int | None:
    """The place of the one token in a statement's body."""
    span = _only(tokens, statement, word)
    if span is None:
        return None
    if span[1] - span[0] != 3:
        at = span[0] + 2 if span[1] - span[0] < 3 else span[0] + 3
        raise tokens.error(at, f"'{word}': read {tokens.show(at)}, expected {expected}")
    return span[0] + 2


def _discount(tokens: Tokens, statement: Statements) -> Fraction | None:
    at = _single(tokens, statement, "discount", "one number in [0, 1]")
    if at is None:
        return None
    word = int(tokens.ids[at])
    discount = tokens.fraction(word) if tokens.is_number[word] else None
    if discount is None or not 0 <= discount <= 1:
        raise tokens.error(at, f"'discount': read {tokens.show(at)}, expected a number in [0, 1]")
    return discount


def _costs(tokens: Tokens, statement: Statements) -> bool:
    at = _single(tokens, statement, "values", "'reward' or 'cost'")
    if at is None:
        return False
    # Some classic files say `rewards`, which the format's grammar does not allow; the meaning is
    # clear.
    word = tokens.words[int(tokens.ids[at])].removesuffix(b"s")
    if word not in (b"reward", b"cost"):
        raise tokens.error(at, f"'values': read {tokens.show(at)}, expected 'reward' or 'cost'")
    return word == b"cost"


def _names(tokens: Tokens, statement: Statements, kind: str) -> tuple[str, ...]:
    span = _only(tokens, statement, kind)
    if span is None:
        message = f"the file has no '{kind}:' statement, expected one with a count or names"
        raise InputError(message, place=tokens.place)
    body = tokens.ids[span[0] + 2 : span[1]]
    if len(body) == 0:
        raise tokens.error(span[0] + 2, f"'{kind}': expected a count or names, read nothing")
    word = tokens.words[int(body[0])]
    if len(body) == 1 and word.isdigit():
        count = int(word) if len(word) < 20 else MOST_NAMES + 1
        if not 0 < count <= MOST_NAMES:
            limit = f"expected 1 to {MOST_NAMES} (the reader's limit)"
            raise tokens.error(span[0] + 2, f"'{kind}': read {tokens.show(span[0] + 2)}, {limit}")
        return tuple(str(i) for i in range(count))
    if len(body) > MOST_NAMES:
        raise tokens.error(span[0], f"'{kind}': {len(body)} names, the limit is {MOST_NAMES}")
    seen: dict[int, int] = {}
    for offset, number in enumerate(body.tolist()):
        at = span[0] + 2 + offset
        if not is_name(tokens.words[number]):
            expected = "a count or names" if len(body) == 1 else "a name"
            raise tokens.error(at, f"'{kind}': read {tokens.show(at)}, expected {expected}")
        if number in seen:
            raise tokens.error(at, f"'{kind}': the name {tokens.show(at)} was given twice")
        seen[number] = at
    names = tuple(tokens.words[number].decode("utf-8", "replace") for number in seen)
    for name, (number, at) in zip(names, seen.items(), strict=True):
        if name.encode() != tokens.words[number]:
            raise tokens.error(at, f"'{kind}': the name {tokens.show(at)} is not valid UTF-8")
    return names
