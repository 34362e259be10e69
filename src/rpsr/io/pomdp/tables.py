"""Bodies of `T`, `O`, `OO` and `R` statements: numbers in entry, row or matrix form, or a keyword.

`T : a : s : s' p` gives all its indices and one number; a statement that leaves out its last index
gives a row, its last two a matrix. Every form becomes entries, one per number; zeros are kept
apart, because a zero only clears the value of an earlier line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from rpsr.errors import InputError
from rpsr.io.records import IN_RANGE, LARGEST_REWARD, Ints
from rpsr.io.statements import ANY, Entries, Shaped, Statements, shape_statements
from rpsr.io.tokens import Tokens
from rpsr.printable import shortened


@dataclass(frozen=True, eq=False)
class Table:
    """One table of the file: its entries by value, and those that write zero.

    keywords: the first tokens of the statements whose body is a keyword, by keyword.
    """

    values: Entries
    clears: Entries
    keywords: dict[bytes, Ints]

    def all(self, dimensions: int) -> Entries:
        """Values and zeros together."""
        return Entries.join([self.values, self.clears], dimensions)


@dataclass(frozen=True)
class Layout:
    """The layout of a table's statements: the kinds of its indices, each with its index by word."""

    keyword: str
    lookups: Sequence[tuple[str, Ints]]
    sizes: tuple[int, ...]
    fewest: int  # indices a statement must give at least
    probabilities: bool


Keyword = Callable[[Shaped, Layout], tuple[Entries, Entries]]


def read_table(
    tokens: Tokens, statements: Statements, layout: Layout, keywords: dict[bytes, Keyword]
) -> Table:
    """All statements of one table as entries. `keywords` expand `uniform`, `identity`, `reset`."""
    values: list[Entries] = []
    clears: list[Entries] = []
    by_keyword: dict[bytes, Ints] = dict.fromkeys(keywords, np.zeros(0, dtype=np.int64))
    for given, shaped in shape_statements(
        tokens, statements, layout.lookups, layout.fewest
    ).items():
        numeric = np.ones(len(shaped.first), dtype=np.bool_)
        for word, expand in keywords.items():
            number = tokens.id_of(word)
            ids = tokens.ids[np.minimum(shaped.body, len(tokens.ids) - 1)]
            chosen = (shaped.length > 0) & (ids == number)
            if number < 0 or given == len(layout.sizes) or not chosen.any():
                continue
            followed = chosen & (shaped.length > 1)
            if followed.any():
                at = int(shaped.body[np.argmax(followed)]) + 1
                raise _expected_statement(tokens, at)
            written, wiped = expand(_select(shaped, chosen), layout)
            values.append(written)
            clears.append(wiped)
            by_keyword[word] = np.append(by_keyword[word], shaped.first[chosen])
            numeric &= ~chosen
        if numeric.any():
            written, wiped = _numbers(tokens, _select(shaped, numeric), given, layout)
            values.append(written)
            clears.append(wiped)
    dimensions = len(layout.sizes)
    return Table(Entries.join(values, dimensions), Entries.join(clears, dimensions), by_keyword)


def _select(shaped: Shaped, chosen: np.ndarray) -> Shaped:
    return Shaped(
        shaped.index[chosen], shaped.first[chosen], shaped.body[chosen], shaped.length[chosen]
    )


def _numbers(tokens: Tokens, shaped: Shaped, given: int, layout: Layout) -> tuple[Entries, Entries]:
    missing = layout.sizes[given:]
    needed = prod(missing)
    wrong = np.flatnonzero(shaped.length != needed)
    if len(wrong):
        raise _wrong_count(tokens, shaped, int(wrong[0]), missing)
    at = (shaped.body[:, None] + np.arange(needed)).ravel()
    words = tokens.ids[at]
    _check(tokens, at, words, layout)
    zero = tokens.values[words] == 0
    order = np.repeat(2 * shaped.first + 1, needed)

    def entries(keep: np.ndarray) -> Entries:
        kept = np.flatnonzero(keep)
        index = np.empty((len(kept), len(layout.sizes)), dtype=np.int64)
        index[:, :given] = shaped.index[kept // needed]
        if missing:
            inside = np.unravel_index(kept % needed, missing)
            index[:, given:] = np.stack(inside, axis=1)
        return Entries(index, words[kept], order[kept])

    if not layout.probabilities or given == len(layout.sizes):
        return entries(~zero), entries(zero)
    # A row or matrix replaces everything it covers: one clear, then its non-zeros.
    return entries(~zero), whole(shaped, len(layout.sizes))


def whole(shaped: Shaped, dimensions: int) -> Entries:
    """A clear of everything that each statement covers, just before its values are written."""
    index = np.full((len(shaped.first), dimensions), ANY, dtype=np.int64)
    index[:, : shaped.index.shape[1]] = shaped.index
    return Entries(index, np.full(len(index), -1, dtype=np.int64), 2 * shaped.first)


def _check(tokens: Tokens, at: Ints, words: Ints, layout: Layout) -> None:
    value = tokens.values[words]
    if layout.probabilities:
        wrong = ~((value >= 0) & (value <= 1))
        expected = "a probability in [0, 1]"
    else:
        wrong = ~(np.abs(value) <= LARGEST_REWARD)
        expected = IN_RANGE
    if wrong.any():
        place = int(at[np.argmax(wrong)])
        if not np.isfinite(value[np.argmax(wrong)]):
            expected = expected if layout.probabilities else "a finite number"
        raise tokens.error(place, f"read {tokens.show(place)}, expected {expected}")


def _wrong_count(tokens: Tokens, shaped: Shaped, which: int, shape: tuple[int, ...]) -> InputError:
    """The error of a statement whose body is no array of this shape.

    Too few numbers are an error of the statement, not of the token after them.
    """
    first, body = int(shaped.first[which]), int(shaped.body[which])
    length, needed = int(shaped.length[which]), prod(shape)
    read = np.append(tokens.is_number[tokens.ids[body : body + length]], False)
    numbers = int(np.argmin(read))
    at = body + min(numbers, needed)
    if numbers == needed:
        return _expected_statement(tokens, at)
    if numbers < min(needed, length):
        return tokens.error(at, f"read {tokens.show(at)}, expected a number")
    product = f"{' x '.join(map(str, shape))} = " if len(shape) > 1 else ""
    noun = "number" if numbers == 1 else "numbers"
    message = f"{_head(tokens, first, body)}: read {numbers} {noun}, expected {product}{needed}"
    message += _wrong_line(tokens, body, body + numbers, shape)
    return tokens.error(first if numbers < needed else at, message)


def _head(tokens: Tokens, first: int, body: int) -> str:
    """A statement without its body, as `T: a : s`."""
    words = [tokens.words[i].decode("utf-8", "backslashreplace") for i in tokens.ids[first:body:2]]
    return f"{words[0]}: {' : '.join(map(shortened, words[1:]))}"


def _wrong_line(tokens: Tokens, body: int, end: int, shape: tuple[int, ...]) -> str:
    """Which line of a matrix is too short or too long; empty unless each row has its own line."""
    if len(shape) < 2:
        return ""
    lines, counts = np.unique(tokens.lines_of(body, end), return_counts=True)
    wrong = (counts < shape[-1]) if end - body < prod(shape) else (counts > shape[-1])
    if len(lines) != prod(shape[:-1]) or not wrong.any():
        return ""
    which = int(np.argmax(wrong))
    return f" (line {lines[which]} has {counts[which]})"


def _expected_statement(tokens: Tokens, at: int) -> InputError:
    return tokens.error(at, f"read {tokens.show(at)}, expected a statement such as 'T:'")
