"""Reader of Cassandra's `.pomdp` format, complete and strict: errors name line and column.

Reference: A. R. Cassandra's description of the format in the manual of pomdp-solve. One
extension: `OO : a : s : s'` rows, for observations that also depend on the previous state.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np

from rpsr.io.allowance import excess
from rpsr.io.cells import expanded_size, latest_entry, touched, written_cells
from rpsr.io.files import place_of, read_content
from rpsr.io.pomdp.preamble import Preamble, lookup, read_preamble, read_start
from rpsr.io.pomdp.tables import Layout, Table, read_table, whole
from rpsr.io.records import Bools, Dynamics, Ints, Record, Rewards, Rows
from rpsr.io.statements import ANY, Entries, Shaped, split_statements
from rpsr.io.tokens import Tokens, tokenize
from rpsr.io.weights import Sums, Values, rescaling_warning, weigh

CELL_BYTES = 176  # of memory per cell of a table, wildcards expanded
NAME_BYTES = 256  # per name, with its rows; a count of states takes few bytes of a file


def read_pomdp(path: str | Path, *, normalize: bool = False) -> Record:
    """Read a `.pomdp` file, plain or gzipped; `-` is standard input."""
    name = Path(path).name if str(path) != "-" else "stdin"
    for suffix in (".gz", ".pomdp", ".POMDP"):
        name = name.removesuffix(suffix)
    content, place = read_content(path), place_of(path)
    return parse_pomdp(content.text, place=place, name=name, normalize=normalize, size=content.size)


def parse_pomdp(
    text: bytes, *, place: str, name: str, normalize: bool = False, size: int | None = None
) -> Record:
    """Read a `.pomdp` text. `normalize` accepts rows of any positive sum and rescales them.

    size: bytes of the file itself, if the text was compressed.
    """
    return _Reader(tokenize(text, place), normalize, len(text) if size is None else size).read(name)


class _Reader:
    """One pass over one text: preamble, start, T, O, R, each built on the ones before."""

    def __init__(self, tokens: Tokens, normalize: bool, size: int) -> None:
        self.tokens = tokens
        self.size = size
        self.normalize = normalize
        self.statements = split_statements(tokens)
        self.head: Preamble = read_preamble(tokens, self.statements)
        self.values = Values(tokens)
        self.deviations: list[float] = []  # of the rows that were rescaled
        head = self.head
        self.n_actions, self.n_states = len(head.actions), len(head.states)
        self.n_observations = len(head.observations)
        self.action = ("an action", lookup(tokens, head.actions))
        self.state = ("a state", lookup(tokens, head.states))
        self.observation = ("an observation", lookup(tokens, head.observations))

    def read(self, name: str) -> Record:
        head, begin = self.head, self.statements[b"start"]
        self.start, sums = read_start(self.tokens, begin, self.state[1], self.n_states, self.values)
        at = int(begin.first[0]) if len(begin) else 0
        self._accept(sums, lambda _: (at, "the start distribution"))
        transition, resets = self._transition()
        by_edge = len(self.statements[b"OO"]) > 0
        emission = self._emission_by_edge(transition) if by_edge else self._emission()
        return Record(
            name=name,
            states=head.states,
            actions=head.actions,
            observations=head.observations,
            discount=head.discount,
            start=self.start,
            transition=transition,
            emission=emission,
            emission_by_edge=by_edge,
            rewards=self._rewards(Dynamics(transition, emission, by_edge)),
            resets=resets,
            warnings=self._warnings(),
        )

    # ---- T and O: the statements define which cells are not zero

    def _transition(self) -> tuple[Rows, Bools]:
        sizes = (self.n_actions, self.n_states, self.n_states)
        layout = Layout("T", [self.action, self.state, self.state], sizes, 1, True)
        keywords = {b"uniform": self._uniform, b"identity": self._identity, b"reset": self._reset}
        table = read_table(self.tokens, self.statements[b"T"], layout, keywords)
        rows = self._rows(table, layout, "state")
        resets = np.zeros(sizes[:2], dtype=np.bool_)
        if len(declared := table.keywords[b"reset"]):
            cells = np.indices(sizes[:2]).reshape(2, -1).T
            last = _last_statements(table.all(3), cells, sizes[:2])
            resets = np.isin(last, declared).reshape(sizes[:2])
        return rows, resets

    def _emission(self) -> Rows:
        sizes = (self.n_actions, self.n_states, self.n_observations)
        return self._rows(self._emission_table(), self._emission_layout(sizes), "next state")

    def _emission_layout(self, sizes: tuple[int, ...]) -> Layout:
        return Layout("O", [self.action, self.state, self.observation], sizes, 1, True)

    def _emission_table(self) -> Table:
        sizes = (self.n_actions, self.n_states, self.n_observations)
        keywords = {b"uniform": self._uniform, b"identity": self._identity}
        layout = self._emission_layout(sizes)
        return read_table(self.tokens, self.statements[b"O"], layout, keywords)

    def _rows(self, table: Table, layout: Layout, of: str) -> Rows:
        n_actions, n_states, width = layout.sizes
        cells = expanded_size(table.values, layout.sizes)
        cause = f"'{layout.keyword}' statements stand for {cells} probabilities"
        self._allow(cells, cause, layout.keyword)
        writes = table.all(3)
        given = touched(writes, (n_actions, n_states))

        def name(row: int) -> str:
            action, state = self.head.actions[row // n_states], self.head.states[row % n_states]
            return f"the '{layout.keyword}' row of action '{action}' and {of} '{state}'"

        if not given.all():
            missing = int(np.argmin(given.ravel()))
            raise self.tokens.error(len(self.tokens.ids), f"{name(missing)} is missing")
        keys, words = written_cells(table.values, table.clears, layout.sizes)
        row = keys // width
        indptr = np.searchsorted(row, np.arange(n_actions * n_states + 1))
        rows, sums = weigh(width, indptr, keys % width, words, self.values)

        def place(row: int) -> tuple[int, str]:
            cell = np.array([divmod(row, n_states)])
            statement = int(_last_statements(writes, cell, (n_actions, n_states))[0])
            body = statement + 3  # for a matrix, point to the row, not to the statement
            matrix = self.tokens.is_number[self.tokens.ids[body]]
            return body + row % n_states * width if matrix else statement, name(row)

        self._accept(sums, place)
        return rows

    # ---- OO and R: the cells are known, the statements give their values

    def _emission_by_edge(self, transition: Rows) -> Rows:
        sizes = (self.n_actions, self.n_states, self.n_states, self.n_observations)
        edges = len(transition.indices)
        cause = f"{edges} transitions times {self.n_observations} observations"
        self._allow(edges * self.n_observations, cause, "OO")
        lookups = [self.action, self.state, self.state, self.observation]
        layout = Layout("OO", lookups, sizes, 3, True)
        keywords = {b"uniform": self._uniform}
        table = read_table(self.tokens, self.statements[b"OO"], layout, keywords)
        plain = self._emission_table().all(3)
        for_all = Entries(np.insert(plain.index, 1, ANY, axis=1), plain.word, plain.order)
        writes = Entries.join([for_all, table.all(4)], 4)
        row = transition.row_of_entry()
        ends = np.stack([row // self.n_states, row % self.n_states, transition.indices], axis=1)
        cells = np.concatenate(
            [
                np.repeat(ends, self.n_observations, axis=0),
                np.tile(np.arange(self.n_observations), edges)[:, None],
            ],
            axis=1,
        )
        latest = latest_entry(writes, cells, sizes)

        def name(edge: int) -> str:
            a, s, t = ends[edge].tolist()
            names = f"from '{self.head.states[s]}' to '{self.head.states[t]}'"
            return f"the observation row of action '{self.head.actions[a]}' {names}"

        given = (latest >= 0).reshape(edges, -1).any(axis=1)
        if not given.all():
            message = f"{name(int(np.argmin(given)))} is missing"
            raise self.tokens.error(len(self.tokens.ids), message)
        words = np.where(latest >= 0, writes.word[latest], -1)
        kept = (words >= 0) & (self.values.floats[words] != 0)
        indptr = np.append(0, np.cumsum(kept.reshape(edges, -1).sum(axis=1)))
        rows, sums = weigh(self.n_observations, indptr, cells[kept, 3], words[kept], self.values)

        def place(edge: int) -> tuple[int, str]:
            last = writes.order[latest.reshape(edges, -1)[edge]].max()
            return int(last) // 2, name(edge)

        self._accept(sums, place)
        return rows

    def _rewards(self, dynamics: Dynamics) -> Rewards:
        sizes = (self.n_actions, self.n_states, self.n_states, self.n_observations)
        lookups = [self.action, self.state, self.state, self.observation]
        layout = Layout("R", lookups, sizes, 2, False)
        table = read_table(self.tokens, self.statements[b"R"], layout, {}).all(4)
        outcomes = int(dynamics.outcomes_of_edge().sum())
        cause = f"'T' and 'O' make {outcomes} outcomes (s, a, s', o) possible"
        self._allow(outcomes, cause, "T")
        cells = np.stack(dynamics.outcome_cells(*dynamics.outcome_entries()), axis=1)
        latest = latest_entry(table, cells, sizes)
        words = np.where(latest >= 0, np.append(table.word, -1)[latest], -1)
        used, inverse = np.unique(words, return_inverse=True)
        sign = -1 if self.head.costs else 1
        worth = [Fraction(0) if w < 0 else sign * self.tokens.fraction(w) for w in used.tolist()]
        exact = sorted(set(worth))
        position = {value: i for i, value in enumerate(exact)}
        index = np.array([position[value] for value in worth], dtype=np.int64)[inverse]
        return Rewards(np.array([float(v) for v in exact]), index, tuple(exact))

    # ---- keywords

    def _uniform(self, shaped: Shaped, layout: Layout) -> tuple[Entries, Entries]:
        word = self.values.add(np.ones(1, dtype=np.int64), layout.sizes[-1])
        clears = whole(shaped, len(layout.sizes))
        words = np.repeat(word, len(clears.order))
        return Entries(clears.index, words, clears.order + 1), clears

    def _identity(self, shaped: Shaped, layout: Layout) -> tuple[Entries, Entries]:
        size, width = layout.sizes[-2:]
        if shaped.index.shape[1] != 1 or size != width:
            at = int(shaped.body[0])
            message = (
                f"'identity' stands for a square matrix only, expected {width} numbers per row"
            )
            raise self.tokens.error(at, message)
        cells = len(shaped.first) * size
        cause = f"'identity' statements stand for {cells} probabilities"
        self._allow(cells, cause, layout.keyword)
        word = self.values.add(np.ones(1, dtype=np.int64), 1)
        clears = whole(shaped, 3)
        index = np.repeat(clears.index, size, axis=0)
        index[:, 1] = index[:, 2] = np.tile(np.arange(size), len(clears.order))
        words = np.repeat(word, len(index))
        return Entries(index, words, np.repeat(clears.order + 1, size)), clears

    def _reset(self, shaped: Shaped, layout: Layout) -> tuple[Entries, Entries]:
        start = self.start
        assert start.weights is not None
        cells = len(shaped.first) * len(start.indices)
        self._allow(cells, f"'reset' statements stand for {cells} probabilities", layout.keyword)
        words = self.values.add(start.weights, int(start.totals()[0]))
        clears = whole(shaped, len(layout.sizes))
        index = np.repeat(clears.index, len(words), axis=0)
        index[:, 2] = np.tile(start.indices, len(clears.order))
        order = np.repeat(clears.order + 1, len(words))
        return Entries(index, np.tile(words, len(clears.order)), order), clears

    def _allow(self, cells: int, cause: str, keyword: str) -> None:
        """Refuse a table with more cells than a file of this size may have; cause: their origin."""
        names = self.n_states + self.n_actions + self.n_observations
        needed = CELL_BYTES * cells + NAME_BYTES * names
        if (problem := excess(needed, self.size)) is not None:
            at = int(self.statements[keyword.encode()].first[0])
            raise self.tokens.error(at, f"{cause}: {problem}")

    # ---- row sums

    def _accept(self, sums: Sums, place: Callable[[int], tuple[int, str]]) -> None:
        """Refuse rows with a wrong sum, unless `normalize`; record the rescaled ones."""
        if (refused := sums.first_refused(self.normalize)) is not None:
            at, name = place(refused[0])
            raise self.tokens.error(at, f"{name} {refused[1]}")
        self.deviations += sums.deviations()

    def _warnings(self) -> tuple[str, ...]:
        costs = ("'values: cost': costs were read as negative rewards",) if self.head.costs else ()
        return costs + rescaling_warning(self.deviations)


def _last_statements(writes: Entries, rows: Ints, shape: tuple[int, int]) -> Ints:
    """The last statement for each row (N, 2) of a table, by its first token."""
    heads = Entries(writes.index[:, :2], writes.word, writes.order)
    return writes.order[latest_entry(heads, rows, shape)] // 2
