"""Writer of the `.pomdp` format: its files read back as the same arrays and names.

The file is compact: one line for rows that all actions share (`*`), `identity`, `uniform` and
`reset` where they apply, whole rows if they are dense, and rewards by the fewest indices on which
they depend. A model read from a file is printed with its original decimals. `write_pomdp` returns
notes on what the format cannot hold: a reward or a discount that is no finite decimal (its nearest
float is written), a row of floats that is no rounded distribution (readers divide rows by their
sums), and a reset to anything but the start. A name that the format cannot hold is an error.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rpsr.errors import InputError
from rpsr.io.decimals import number
from rpsr.io.files import packed, write_bytes
from rpsr.io.records import Bools, Record, Rows
from rpsr.io.reward_lines import reward_lines
from rpsr.io.row_texts import (
    is_even,
    is_uniform,
    lost_decimals,
    lost_descriptions,
    printed_digits,
    row_texts,
    unwritable,
)
from rpsr.io.tokens import is_name, tokenize

_CLASSIC = re.compile("[A-Za-z][A-Za-z0-9_-]*")  # a name as the classic grammar has it
DENSE_SHARE = 0.5  # a row with a larger share of non-zeros is written as a whole


def write_pomdp(record: Record, path: str | Path) -> tuple[str, ...]:
    """Write a `.pomdp` file, completely or not at all; returns notes on losses.

    A name ending in `.gz` is compressed; `-` is standard output.
    """
    content = format_pomdp(record).encode()
    write_bytes(path, packed(content, path))
    return tuple(_notes(record))


def format_pomdp(record: Record) -> str:
    """The text of a `.pomdp` file."""
    return "".join(line + "\n" for line in _lines(record))


def _notes(record: Record) -> Iterator[str]:
    yield from lost_decimals(record)
    yield from lost_descriptions(record)
    if record.emission_by_edge:
        yield "observations that depend on (s, a, s') are written as OO rows, which only rpsr reads"
    strange = sum(
        _CLASSIC.fullmatch(name) is None
        for names in (record.states, record.actions, record.observations)
        if names != tuple(map(str, range(len(names))))
        for name in names
    )
    if strange:
        yield (
            "other programs may refuse names with characters other than letters, digits, - and _ "
            f"(names: {strange}); --plain-names writes s0, a0, o0 instead; "
            "for the SARSOP toolkit, write a .pomdpx file"
        )
    if any(variable.observed for variable in record.state_variables):
        seen = ", ".join(v.name for v in record.state_variables if v.observed)
        yield f"this format does not mark state variables as fully observed: {seen}"
    unmarked = int(record.resets.sum() - _resets(record).sum())
    if unmarked:
        yield (
            "resets that do not lead to the start were written as ordinary rows of transitions: "
            f"{unmarked}"
        )


def _lines(record: Record) -> Iterator[str]:
    if record.discount is not None:
        yield f"discount: {number(record.discount)}"
    yield "values: reward"
    for kind in ("states", "actions", "observations"):
        yield f"{kind}: {_names(getattr(record, kind), kind)}"
    yield from _start(record.start)
    yield ""
    n_states = len(record.states)
    yield from _table("T", record, record.transition, _resets(record))
    yield ""
    if record.emission_by_edge:
        yield from _edge_rows(record)
    else:
        none = np.zeros(len(record.actions) * n_states, dtype=np.bool_)
        yield from _table("O", record, record.emission, none)
    yield ""
    yield from reward_lines(record)


def _names(names: tuple[str, ...], kind: str) -> str:
    if names == tuple(str(i) for i in range(len(names))):
        return str(len(names))
    for name in names:
        if not _readable(name):
            raise unwritable(kind, name)
    return " ".join(names)


def _readable(name: str) -> bool:
    """Whether a reader reads this as one name."""
    try:
        word = name.encode()
        return tokenize(word, "").words == [word] and is_name(word)
    except (UnicodeEncodeError, InputError):  # a lone surrogate, a control character
        return False


def _resets(record: Record) -> Bools:
    """(A * S,): rows written as `reset`: declared so and equal to the start."""
    rows, start = record.transition, record.start
    resets = record.resets.reshape(-1).copy()
    for row in np.flatnonzero(resets).tolist():
        span = slice(int(rows.indptr[row]), int(rows.indptr[row + 1]))
        resets[row] = (
            np.array_equal(rows.indices[span], start.indices)
            and np.array_equal(rows.values[span], start.values)
            and (rows.weights is None) == (start.weights is None)
            and (rows.weights is None or rows.fractions(row) == start.fractions(0))
        )
    return resets


def _start(start: Rows) -> Iterator[str]:
    word, columns, texts = _row(start, 0, np.zeros(1, dtype=np.bool_))
    if word:
        yield f"start: {word}"
    elif texts == ("1",) or (
        start.weights is not None and printed_digits(start, 0) < 0 and is_even(start, 0)
    ):
        # A single state too: pomdp-solve rejects `start: 0` as a distribution that is too short.
        yield "start include: " + " ".join(map(str, columns))
    else:
        yield "start: " + _full(("", columns, texts), start.width)


def _table(keyword: str, record: Record, rows: Rows, resets: Bools) -> Iterator[str]:
    """`T` or `O`: rows a*S + s, shared between actions where all of them agree."""
    n_states = len(record.states)
    blocks = [
        tuple(_row(rows, a * n_states + s, resets) for s in range(n_states))
        for a in range(len(record.actions))
    ]
    if len(set(blocks)) == 1:
        yield from _block(f"{keyword}: *", blocks[0], record, rows.width)
        return
    for action, block in enumerate(blocks):
        yield from _block(f"{keyword}: {record.actions[action]}", block, record, rows.width)


_Row = tuple[str, tuple[int, ...], tuple[str, ...]]  # a keyword or '', columns, decimals


def _row(rows: Rows, row: int, resets: Bools) -> _Row:
    if resets[row]:
        return ("reset", (), ())
    if is_uniform(rows, row):
        return ("uniform", (), ())
    columns = rows.indices[rows.indptr[row] : rows.indptr[row + 1]].tolist()
    return ("", tuple(columns), tuple(row_texts(rows, row)))


def _block(head: str, block: tuple[_Row, ...], record: Record, width: int) -> Iterator[str]:
    if width == len(block) and block == tuple(("", (s,), ("1",)) for s in range(width)):
        yield f"{head} identity"
    elif set(block) == {("uniform", (), ())}:
        yield f"{head} uniform"
    elif len(set(block)) == 1:
        yield from _one_row(f"{head} : *", block[0], width)
    else:
        for state, row in enumerate(block):
            yield from _one_row(f"{head} : {record.states[state]}", row, width)


def _one_row(head: str, row: _Row, width: int) -> Iterator[str]:
    word, columns, texts = row
    if word:
        yield f"{head} {word}"
    elif len(columns) > DENSE_SHARE * width:
        yield f"{head} {_full(row, width)}"
    else:
        for column, text in zip(columns, texts, strict=True):
            yield f"{head} : {column} {text}"


def _full(row: _Row, width: int) -> str:
    """A row with its zeros."""
    line = ["0"] * width
    for column, text in zip(row[1], row[2], strict=True):
        line[column] = text
    return " ".join(line)


def _edge_rows(record: Record) -> Iterator[str]:
    """Observations that also depend on the previous state: the commonest row, then the others."""
    rows, n_states = record.emission, len(record.states)
    none = np.zeros(rows.height, dtype=np.bool_)
    texts = [_row(rows, r, none) for r in range(rows.height)]
    commonest = Counter(texts).most_common(1)[0][0]
    yield from _one_row("O: * : *", commonest, rows.width)
    sources, targets = record.transition.row_of_entry().tolist(), record.transition.indices
    for edge, (text, row, target) in enumerate(zip(texts, sources, targets.tolist(), strict=True)):
        if text != commonest or edge == 0:  # at least one `OO`, to mark the kind of model
            action, state = divmod(row, n_states)
            head = f"OO: {record.actions[action]} : {record.states[state]}"
            # A whole row, which overwrites all entries of the commonest row.
            yield f"{head} : {record.states[target]} {text[0] or _full(text, rows.width)}"
