"""The cells of a table after wildcards, overrides and clears: the last entry for a cell wins.

Neither function expands a wildcard over a dense table. `written_cells` finds the non-zero cells of
a table whose support the statements define (T, O); a zero written over everything only clears.
`latest_entry` finds, for given cells, the entry that wrote each last (R on the possible outcomes,
observations by edge): entries are grouped by which of their indices are wildcards, at most 2^d
groups, and each group takes one sorted lookup.
"""

from __future__ import annotations

from math import prod

import numpy as np

from rpsr.io.records import Bools, Ints
from rpsr.io.statements import ANY, Entries


def latest_entry(entries: Entries, cells: Ints, sizes: tuple[int, ...]) -> Ints:
    """For each cell (N, d), the position in `entries` of the one that wrote it last, or -1."""
    latest = np.full(len(cells), -1, dtype=np.int64)
    order = np.full(len(cells), -1, dtype=np.int64)
    strides = _strides(sizes)
    for fixed, keys, members in _last_writers(entries, sizes):
        wanted = cells[:, fixed] @ strides[fixed]
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        newer = (keys[at] == wanted) & (entries.order[members[at]] > order)
        latest[newer] = members[at[newer]]
        order[newer] = entries.order[latest[newer]]
    return latest


def written_cells(values: Entries, clears: Entries, sizes: tuple[int, ...]) -> tuple[Ints, Ints]:
    """Non-zero cells, sorted: their flat keys and the words they hold.

    values: entries with a non-zero value; clears: entries that write zero.
    """
    keys, members = _expand(values, sizes)
    by_key = np.lexsort((values.order[members], keys))
    kept = by_key[_ends_run(keys[by_key])]
    keys, members = keys[kept], members[kept]
    if len(clears.order) and len(keys):
        cells = keys[:, None] // _strides(sizes) % np.array(sizes, dtype=np.int64)
        cleared = latest_entry(clears, cells, sizes)
        alive = (cleared < 0) | (clears.order[cleared] < values.order[members])
        keys, members = keys[alive], members[alive]
    return keys, values.word[members]


def expanded_size(entries: Entries, sizes: tuple[int, ...]) -> int:
    """How many cells the entries cover, without entries overwritten by one of the same pattern."""
    return sum(
        len(members) * prod(size for i, size in enumerate(sizes) if i not in fixed)
        for fixed, _, members in _last_writers(entries, sizes)
    )


def touched(entries: Entries, shape: tuple[int, int]) -> Bools:
    """(shape): rows, addressed by the first two indices, that any entry wrote to."""
    mask = np.zeros(shape, dtype=np.bool_)
    for fixed, members in _by_pattern(Entries(entries.index[:, :2], entries.word, entries.order)):
        first, second = entries.index[members, 0], entries.index[members, 1]
        if fixed == [0, 1]:
            mask[first, second] = True
        elif fixed == [0]:
            mask[first, :] = True
        elif fixed == [1]:
            mask[:, second] = True
        else:
            mask[:] = True
    return mask


def _by_pattern(entries: Entries) -> list[tuple[list[int], Ints]]:
    """Entries grouped by which indices they fix: (fixed positions, positions in `entries`)."""
    dimensions = entries.index.shape[1]
    bits = (entries.index != ANY) @ (1 << np.arange(dimensions))
    return [
        ([i for i in range(dimensions) if pattern >> i & 1], np.flatnonzero(bits == pattern))
        for pattern in np.unique(bits).tolist()
    ]


def _last_writers(entries: Entries, sizes: tuple[int, ...]) -> list[tuple[list[int], Ints, Ints]]:
    """The entries that no later one with the same wildcards and indices overwrites.

    Grouped by the positions they fix: (fixed, flat keys of those positions ascending, entries).
    """
    strides = _strides(sizes)
    groups: list[tuple[list[int], Ints, Ints]] = []
    for fixed, members in _by_pattern(entries):
        keys = entries.index[members][:, fixed] @ strides[fixed]
        by_key = np.lexsort((entries.order[members], keys))
        last = by_key[_ends_run(keys[by_key])]
        groups.append((fixed, keys[last], members[last]))
    return groups


def _ends_run(keys: Ints) -> Bools:
    """(N,): whether each of these sorted keys is the last of its equals."""
    ends = np.ones(len(keys), dtype=np.bool_)
    ends[:-1] = keys[1:] != keys[:-1]
    return ends


def _strides(sizes: tuple[int, ...]) -> Ints:
    """By position, the distance between the flat keys of neighbouring cells."""
    return np.array([prod(sizes[i + 1 :]) for i in range(len(sizes))], dtype=np.int64)


def _expand(entries: Entries, sizes: tuple[int, ...]) -> tuple[Ints, Ints]:
    """The entries with wildcards expanded: flat keys of cells, and the entry of each."""
    strides = _strides(sizes)
    keys: list[Ints] = [np.zeros(0, dtype=np.int64)]
    members: list[Ints] = [np.zeros(0, dtype=np.int64)]
    for fixed, base, chosen in _last_writers(entries, sizes):
        offsets = np.zeros(1, dtype=np.int64)
        for i in [i for i in range(len(sizes)) if i not in fixed]:
            offsets = np.add.outer(offsets, np.arange(sizes[i]) * strides[i]).ravel()
        keys.append(np.add.outer(base, offsets).ravel())
        members.append(np.repeat(chosen, len(offsets)))
    return np.concatenate(keys), np.concatenate(members)
