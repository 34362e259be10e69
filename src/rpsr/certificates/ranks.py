"""Ranks and the accuracy condition, proven in integers.

The outcome vectors of tests are u(empty) = 1 and u(aoq) = D[a,o] u(q); those of intents begin with
the expected rewards R[:,a], too. The rank is the dimension of their span. Neither it nor the span
changes if an operator D[a,o] or an initial vector is multiplied by a positive number, so all of
them are integers here.

**Blocks.** Blocks partition the states. Let every operator sum to the same over each block for all
states of a block, and let the initial vectors be constant on blocks. Then so are all outcome
vectors: they, and the operators, are those of a model whose states are the blocks. The rank is at
most the number of blocks.

**At least r.** The r members of a core set are independent modulo m: elimination finds r pivots,
each invertible modulo m. Then a minor of order r is not 0 modulo m, hence not 0. m need not be
prime. If it is, python-flint, where it is installed, may find the rank in place of that.

**At most r.** If the rank is below the number of blocks, r vectors over blocks, in reduced form
(each is 1 at its own pivot, where the others are 0), span a space that contains the initial vectors
and their images under every operator: so all outcome vectors. A vector x is in it if and only if x
is the sum of the vectors times the entries of x at their pivots; at pivots it is that anyway.

The span is then known: all vectors constant on blocks, or that of the basis. So whether R[:,a] lies
in it, the accuracy condition, is decided without further data.
"""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from math import gcd, lcm
from operator import mul
from typing import Any, NamedTuple

from rpsr.certificates.exact_model import ExactModel
from rpsr.certificates.reading import Fault, items, members, number, shown, whole, whole_list

WORD = 63  # bits of a modulus that FLINT takes

Path = tuple[tuple[int, int], ...]
Operator = list[list[tuple[int, int]]]  # for each block, next blocks and their weights
Vector = list[int]  # over blocks


class Ranked(NamedTuple):
    """The proven rank of the tests ("psr") or the intents ("rpsr") of a model.

    inside (A,): whether the expected rewards of an action lie in the span.
    """

    kind: str
    rank: int
    inside: list[bool]


class _Member(NamedTuple):
    """A test, and the action whose reward follows it, or None."""

    steps: Path
    action: int | None


def check_rank(value: Any, model: ExactModel) -> Ranked:
    """Check a line of a certificate about a rank."""
    keys = {"kind", "rank", "modulus", "members", "blocks", "basis", "inside"}
    given = members(value, "rank", keys)
    kind = given["kind"]
    if kind not in ("psr", "rpsr"):
        raise Fault(f"rank, kind: read {shown(kind)}, expected psr or rpsr")
    what, n_states = f"{kind} rank", len(model.states)
    labels = whole_list(given["blocks"], f"{what}, blocks", n_states, below=n_states)
    blocks = _Blocks(model, labels, what)
    blocks.check_lumpable()
    rewards = [blocks.reduced(column) for column in model.rewards]
    initial: dict[int | None, Vector] = {None: [1] * blocks.size}
    if kind == "rpsr":
        for a, column in enumerate(rewards):
            if column is None:
                raise Fault(
                    f"{what}: rewards of action {model.actions[a]!r} differ between states of one "
                    "block"
                )
            initial[a] = column
    rank = whole(given["rank"], what, below=blocks.size + 1)
    core = [
        _read_member(item, f"{what}, members", model, rewards=kind == "rpsr")
        for item in items(given["members"], what, "members", rank)
    ]
    modulus = whole(given["modulus"], f"{what}, modulus", least=2)
    vectors = _outcomes(core, initial, blocks.operators(modulus), modulus)
    _check_independent(vectors, modulus, what)
    span = None
    if rank < blocks.size:
        span = _Span(given["basis"], rank, blocks.size, f"{what}, basis")
        if not all(span.contains(column) for column in initial.values()):
            also = " and the rewards of every action" if kind == "rpsr" else ""
            raise Fault(
                f"{what}: the span of the basis does not contain all of the constant vector 1{also}"
            )
        span.check_closed(blocks.operators())
    inside = [column is not None and (span is None or span.contains(column)) for column in rewards]
    if given["inside"] != inside:
        raise Fault(
            f"{what}, inside: the list of the actions whose rewards lie in the span is wrong"
        )
    return Ranked(kind, rank, inside)


def _read_member(value: Any, what: str, model: ExactModel, *, rewards: bool) -> _Member:
    given, last = items(value, what, "entries: a list of steps and an action", 2)
    steps: list[tuple[int, int]] = []
    for step in items(given, what, "steps"):
        action, seen = items(step, what, "entries: an action and an observation", 2)
        actions, observations = len(model.actions), len(model.observations)
        steps.append((whole(action, what, below=actions), whole(seen, what, below=observations)))
    if last is None:
        return _Member(tuple(steps), None)
    if not rewards:
        raise Fault(f"{what}: read an action after a test, expected null")
    return _Member(tuple(steps), whole(last, what, below=len(model.actions)))


# ---- blocks


class _Blocks:
    """A partition of the states, and the first state of each block.

    rows (A, blocks): of the first states, the total and the sums of weights.
    """

    def __init__(self, model: ExactModel, labels: list[int], what: str) -> None:
        self.model, self.labels, self.what = model, labels, what
        self.size = max(labels) + 1
        self.first = [-1] * self.size
        for s in reversed(range(len(labels))):
            self.first[labels[s]] = s
        if -1 in self.first:
            raise Fault(f"{what}, blocks: block {self.first.index(-1)} contains no state")
        actions = range(len(model.actions))
        self.rows = [[self._sums(a, s) for s in self.first] for a in actions]

    def _sums(self, action: int, state: int) -> tuple[int, dict[tuple[int, int], int]]:
        """The total of a state's weights, and their sums by observation and block."""
        total, row = self.model.rows[action][state]
        sums: dict[tuple[int, int], int] = {}
        for o, target, weight in row:
            key = (o, self.labels[target])
            sums[key] = sums.get(key, 0) + weight
        return total, sums

    def check_lumpable(self) -> None:
        """States of a block must have the same probabilities of observations and next blocks."""
        for action, rows in enumerate(self.rows):
            for s, block in enumerate(self.labels):
                if s == self.first[block]:
                    continue
                total, sums = self._sums(action, s)
                other, expected = rows[block]
                # Both sides add up to 1: where these are equal, nothing is left for other keys.
                if any(w * other != expected.get(key, 0) * total for key, w in sums.items()):
                    names = [self.model.states[i] for i in (self.first[block], s)]
                    pair = f"{self.what}: states {names[0]!r} and {names[1]!r}"
                    raise Fault(
                        f"{pair} are in one block, but have different probabilities of an "
                        "observation and the next block"
                    )

    def reduced(self, column: list[Fraction]) -> Vector | None:
        """A vector over states by block, as integers; None if it is not constant on blocks."""
        if any(column[s] != column[self.first[b]] for s, b in enumerate(self.labels)):
            return None
        return _integers([column[s] for s in self.first])

    def operators(self, modulus: int | None = None) -> dict[tuple[int, int], Operator]:
        """The operators between blocks, by action and observation; those left out are 0.

        modulus: only what they are modulo m is needed, so that long denominators stay out.
        """
        operators: dict[tuple[int, int], Operator] = {}
        for action, rows in enumerate(self.rows):
            common = lcm(*(total for total, _ in rows))
            for b, (total, sums) in enumerate(rows):
                factor = common // total if modulus is None else common // total % modulus
                for (o, target), weight in sums.items():
                    operator = operators.get((action, o))
                    if operator is None:
                        operator = operators[action, o] = [[] for _ in rows]
                    operator[b].append((target, weight * factor))
        return operators


def _integers(numbers: list[Fraction]) -> Vector:
    """Numbers, multiplied by their common denominator."""
    common = lcm(*(entry.denominator for entry in numbers))
    return [entry.numerator * (common // entry.denominator) for entry in numbers]


def _image(operator: Operator, vector: Vector) -> Vector:
    return [sum([weight * vector[target] for target, weight in row]) for row in operator]


# ---- at least


def _outcomes(
    core: list[_Member],
    initial: dict[int | None, Vector],
    operators: dict[tuple[int, int], Operator],
    modulus: int,
) -> list[Vector]:
    """The outcome vectors of members, modulo m."""
    known: dict[_Member, Vector] = {}  # of all ends of members
    vectors: list[Vector] = []
    for steps, action in core:
        vector = [x % modulus for x in initial[action]]
        for k in reversed(range(len(steps))):
            end = _Member(steps[k:], action)
            if end not in known:
                operator = operators.get(steps[k])
                image = [0] * len(vector) if operator is None else _image(operator, vector)
                known[end] = [x % modulus for x in image]
            vector = known[end]
        vectors.append(vector)
    return vectors


def _check_independent(vectors: list[Vector], modulus: int, what: str) -> None:
    """Vectors must be independent modulo m."""
    if _rank_by_flint(vectors, modulus) == len(vectors):
        return
    echelon = _Echelon(modulus)
    for i, vector in enumerate(vectors):
        if not echelon.add(vector):
            raise Fault(
                f"{what}: the outcome of member {i} depends linearly on those of the members "
                f"before it, modulo {modulus}: no entry of the remainder has an inverse"
            )


def _flint() -> Any:
    """The module of python-flint, or None if it is not installed."""
    try:
        module = import_module("flint")
    except ImportError:
        return None
    return module if hasattr(module, "nmod_mat") else None  # a file of a user may have the name


def _rank_by_flint(vectors: list[Vector], modulus: int) -> int | None:
    """The rank modulo a prime of one machine word; None: plain Python must decide.

    FLINT ends the process where it divides modulo a number that is not prime.
    """
    flint = _flint()
    if not vectors or modulus.bit_length() > WORD or flint is None:
        return None
    if not flint.fmpz(modulus).is_prime():
        return None
    return int(flint.nmod_mat(flint.fmpz_mat(vectors), modulus).rank())


class _Echelon:
    """Rows modulo m, each 1 at its pivot, where all later rows are 0.

    A row is one integer, with `width` bytes for each entry: adding a multiple of it to another is
    one product. There are at most as many rows as entries, so that sums of such multiples fit.
    """

    def __init__(self, modulus: int) -> None:
        self.modulus = modulus
        self.rows: list[tuple[int, int]] = []  # a pivot and its row

    def add(self, vector: Vector) -> bool:
        """Add a vector; whether it is independent, with an entry left that is invertible."""
        modulus, size = self.modulus, len(vector)
        width = (2 * modulus.bit_length() + size.bit_length()) // 8 + 1
        last = (1 << 8 * width) - 1
        left = _packed(vector, width)
        for pivot, row in self.rows:
            entry = (left >> (8 * width * pivot)) & last
            left += (-entry % modulus) * row
        data = left.to_bytes(width * size, "little")
        entries = [
            int.from_bytes(data[i : i + width], "little") % modulus
            for i in range(0, len(data), width)
        ]
        pivot = next((b for b, x in enumerate(entries) if gcd(x, modulus) == 1), None)
        if pivot is None:
            return False
        inverse = pow(entries[pivot], -1, modulus)
        self.rows.append((pivot, _packed([x * inverse % modulus for x in entries], width)))
        return True


def _packed(entries: Vector, width: int) -> int:
    return int.from_bytes(b"".join([x.to_bytes(width, "little") for x in entries]), "little")


# ---- at most


class _Span:
    """The span of r vectors over blocks, in reduced form, as integers over one denominator."""

    def __init__(self, value: Any, rank: int, size: int, what: str) -> None:
        self.what = what
        rows = [
            [number(x, what) for x in items(row, what, "numbers, one for each block", size)]
            for row in items(value, what, "vectors", rank)
        ]
        self.pivots = [next((b for b, x in enumerate(row) if x), 0) for row in rows]
        for i, pivot in enumerate(self.pivots):
            if [row[pivot] for row in rows] != [int(i == j) for j in range(rank)]:
                raise Fault(f"{what}: vector {i} is not in reduced row echelon form")
        self.common = lcm(*(entry.denominator for row in rows for entry in row))
        self.rows = [[int(entry * self.common) for entry in row] for row in rows]
        others = set(range(size)) - set(self.pivots)
        self.columns = {b: [row[b] for row in self.rows] for b in others}

    def contains(self, vector: Vector) -> bool:
        """Whether a vector lies in the span."""
        at_pivots = [vector[pivot] for pivot in self.pivots]
        return all(
            sum(map(mul, at_pivots, column)) == self.common * vector[b]
            for b, column in self.columns.items()
        )

    def check_closed(self, operators: dict[tuple[int, int], Operator]) -> None:
        """Every operator must map every vector into the span."""
        for operator in operators.values():
            for i, row in enumerate(self.rows):
                if not self.contains(_image(operator, row)):
                    raise Fault(f"{self.what}: an operator maps vector {i} out of the span")
