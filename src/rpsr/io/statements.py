"""The statements of a `.pomdp` file: where each begins, its indices and its body.

A keyword opens a statement if a colon follows it and none precedes it. So `T : R : left` is one
statement about an action called R, and a state may be called `start`, without any reserved names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rpsr.errors import InputError
from rpsr.io.records import Ints
from rpsr.io.tokens import Tokens

TABLES = (b"T", b"O", b"OO", b"R")
PREAMBLE = (b"discount", b"values", b"states", b"actions", b"observations", b"start")
ANY = -1  # the index that `*` stands for


@dataclass(frozen=True, eq=False)
class Statements:
    """All statements of one keyword: the numbers of their first token and of the one after."""

    first: Ints
    last: Ints

    def __len__(self) -> int:
        return len(self.first)


def split_statements(tokens: Tokens) -> dict[bytes, Statements]:
    """Every statement, by keyword, in file order. Tokens before the first one are an error."""
    ids, size = tokens.ids, len(tokens.ids)
    colon = tokens.id_of(b":")
    is_colon = ids == colon
    before = np.concatenate([[False], is_colon[:-1]]) if size else is_colon
    after = np.concatenate([is_colon[1:], [False]]) if size else is_colon
    opens: dict[bytes, Ints] = {}
    for word in TABLES + PREAMBLE:
        number = tokens.id_of(word)
        opens[word] = np.flatnonzero((ids == number) & after & ~before) if number >= 0 else _none()
    modifiers = [tokens.id_of(b"include"), tokens.id_of(b"exclude")]
    if tokens.id_of(b"start") >= 0 and max(modifiers) >= 0:
        listed = np.flatnonzero(np.isin(ids, [m for m in modifiers if m >= 0]) & after)
        listed = listed[(listed > 0)] - 1
        listed = listed[(ids[listed] == tokens.id_of(b"start")) & ~before[listed]]
        opens[b"start"] = np.sort(np.concatenate([opens[b"start"], listed]))
    starts = np.sort(np.concatenate(list(opens.values())))
    if size == 0:
        raise tokens.error(0, "the file has no statement; expected 'states:', 'actions:', ...")
    if len(starts) == 0 or starts[0] != 0:
        raise tokens.error(
            0, f"read {tokens.show(0)}, expected a statement such as 'discount:' or 'T:'"
        )
    for word in PREAMBLE:  # else `discount: states: 2` would be one statement without `states`
        third = np.minimum(opens[word] + 3, size - 1)
        if (empty := opens[word][is_colon[third] & after[opens[word]]]).size:
            message = f"'{word.decode()}:' has no value; expected one"
            raise tokens.error(int(empty[0]), message)
    ends = np.append(starts[1:], size)
    return {
        word: Statements(first, ends[np.searchsorted(starts, first)])
        for word, first in opens.items()
    }


def _none() -> Ints:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Entries:
    """Values written into a table, N of them, in the order of the file.

    index (N, d): the cell, `ANY` for every one; word (N,): the value's word, or the number of a
    virtual word; order (N,): later entries override earlier ones.
    """

    index: Ints
    word: Ints
    order: Ints

    @staticmethod
    def join(parts: list[Entries], dimensions: int) -> Entries:
        """All entries of several lists."""
        if not parts:
            return Entries(np.zeros((0, dimensions), dtype=np.int64), _none(), _none())
        return Entries(
            np.concatenate([p.index for p in parts]),
            np.concatenate([p.word for p in parts]),
            np.concatenate([p.order for p in parts]),
        )


@dataclass(frozen=True, eq=False)
class Shaped:
    """Statements of one table that give the same number of indices.

    index (n, k) with `ANY` for `*`; body (n,): token number where the values begin; length (n,).
    """

    index: Ints
    first: Ints
    body: Ints
    length: Ints


def shape_statements(
    tokens: Tokens, statements: Statements, lookups: Sequence[tuple[str, Ints]], fewest: int
) -> dict[int, Shaped]:
    """Statements by their number of indices, `fewest` to len(lookups), each index looked up.

    lookups: for each position, its kind ('an action', 'a state', ...) and the index by word.
    """
    ids = np.append(tokens.ids, -2)
    colon = tokens.id_of(b":")
    first, last = statements.first, statements.last
    count = np.ones(len(first), dtype=np.int64)
    for k in range(2, len(lookups) + 1):
        at = first + 2 * k - 1
        more = (count == k - 1) & (at < last) & (ids[np.minimum(at, len(ids) - 1)] == colon)
        count[more] = k
    too_few = np.flatnonzero(count < fewest)
    if len(too_few):
        which = int(too_few[0])
        at, given = int(first[which] + 2 * count[which] + 1), int(count[which])
        if at <= last[which]:
            expected = f"':' and {lookups[given][0]}"
            raise tokens.error(at, f"read {tokens.show(at)}, expected {expected}")
        raise _no_index(tokens, at - 1, lookups[given - 1][0])
    groups: dict[int, Shaped] = {}
    for k in range(fewest, len(lookups) + 1):
        chosen = count == k
        if not chosen.any():
            continue
        begin, end = first[chosen], last[chosen]
        index = np.empty((len(begin), k), dtype=np.int64)
        for position, (kind, lookup) in enumerate(lookups[:k]):
            at = begin + 2 * position + 2
            present = at < end
            index[:, position] = np.where(present, lookup[ids[np.minimum(at, len(ids) - 2)]], -2)
            wrong = np.flatnonzero(index[:, position] < ANY)
            if len(wrong):
                raise _no_index(tokens, int(at[wrong[0]]), kind)
        body = begin + 2 * k + 1
        groups[k] = Shaped(index, begin, body, end - body)
    return groups


def _no_index(tokens: Tokens, at: int, kind: str) -> InputError:
    return tokens.error(at, f"read {tokens.show(at)}, expected the name or index of {kind}")
