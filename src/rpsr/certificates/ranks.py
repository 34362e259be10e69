"""Ranks and the accuracy condition, proven in integers.

The outcome vectors of tests are u(empty) = 1 and u(aoq) = D[a,o] u(q); those of intents begin with
the expected rewards R[:,a], too. The rank is the dimension of their span.

**At least r.** The r members of a core set are independent modulo m on some states: elimination
finds r pivots, each invertible modulo m. Then a minor of order r is not 0 modulo m, hence not 0.
Every denominator must be invertible modulo m; m need not be prime. If it is, python-flint, where it
is installed, may find the rank in place of that.

**At most n.** Blocks partition the states. Let every operator sum to the same over each block for
all states of a block, and let the initial vectors be constant on blocks. Then so are all outcome
vectors, and the rank is at most the number of blocks.

**At most r.** If the rank is below the number of blocks, r vectors constant on blocks, in reduced
form (each is 1 at its own pivot, where the others are 0), span a space that contains the initial
vectors and their images under every operator: so all outcome vectors. A vector x is in it if and
only if x is the sum of the vectors times the entries of x at their pivots.

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
from rpsr.certificates.reading import Fault, number, shown, whole, whole_list

WORD = 63  # bits of a modulus that FLINT takes

Path = tuple[tuple[int, int], ...]
Operator = list[dict[int, int]]  # for each block, sums of weights by block


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
    if not isinstance(value, dict) or set(value) != keys:
        raise Fault(f"rank: expected an object with the keys {', '.join(sorted(keys))}")
    kind = value["kind"]
    if kind not in ("psr", "rpsr"):
        raise Fault(f"rank, kind: read {shown(kind)}, expected psr or rpsr")
    rewards, what = kind == "rpsr", f"{kind} rank"
    n_states = len(model.states)
    labels = whole_list(value["blocks"], f"{what}, blocks", n_states, below=n_states)
    blocks = _Blocks(model, labels, what)
    rank = whole(value["rank"], what, below=blocks.size + 1)
    blocks.check_lumpable()
    initial = [[Fraction(1)] * blocks.size]
    constant = [blocks.reduced(column) for column in model.rewards]
    if rewards:
        for a, column in enumerate(constant):
            if column is None:
                raise Fault(
                    f"{what}: rewards of action {model.actions[a]!r} differ between states of one "
                    "block"
                )
            initial.append(column)
    listed = value["members"]
    if not isinstance(listed, list) or len(listed) != rank:
        raise Fault(f"{what}, members: expected a list of {rank} members")
    members = [_read_member(item, model, what, rewards=rewards) for item in listed]
    modulus = whole(value["modulus"], f"{what}, modulus", least=2)
    _check_independent(model, blocks, members, modulus, what)
    span = None
    if rank < blocks.size:
        span = _Span(value["basis"], rank, blocks.size, what)
        if not all(span.contains(column) for column in initial):
            also = " and the rewards of every action" if rewards else ""
            raise Fault(
                f"{what}: the span of the basis does not contain all of the constant vector 1{also}"
            )
        span.check_closed(blocks)
    inside = [column is not None and (span is None or span.contains(column)) for column in constant]
    if value["inside"] != inside:
        raise Fault(
            f"{what}, inside: the list of the actions whose rewards lie in the span is wrong"
        )
    return Ranked(kind, rank, inside)


def _read_member(value: Any, model: ExactModel, what: str, *, rewards: bool) -> _Member:
    what = f"{what}, members"
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[0], list):
        raise Fault(f"{what}: expected pairs of a list of steps and an action")
    steps: list[tuple[int, int]] = []
    for step in value[0]:
        action, seen = whole_list(step, what, 2)
        if action >= len(model.actions) or seen >= len(model.observations):
            raise Fault(f"{what}: a step has an unknown action or observation")
        steps.append((action, seen))
    if value[1] is not None and not rewards:
        raise Fault(f"{what}: read an action after a test, expected null")
    last = None if value[1] is None else whole(value[1], what, below=len(model.actions))
    return _Member(tuple(steps), last)


class _Blocks:
    """A partition of the states, and the first state of each block."""

    def __init__(self, model: ExactModel, labels: list[int], what: str) -> None:
        self.model, self.labels, self.what = model, labels, what
        self.size = max(labels) + 1
        self.first = [-1] * self.size
        for s in reversed(range(len(labels))):
            self.first[labels[s]] = s
        if -1 in self.first:
            raise Fault(f"{what}, blocks: block {self.first.index(-1)} contains no state")

    def sums(self, action: int, state: int) -> tuple[int, dict[tuple[int, int], int]]:
        """The total of a state's weights, and their sums by observation and block."""
        total, row = self.model.rows[action][state]
        sums: dict[tuple[int, int], int] = {}
        for o, target, weight in row:
            key = (o, self.labels[target])
            sums[key] = sums.get(key, 0) + weight
        return total, sums

    def check_lumpable(self) -> None:
        """States of a block must have the same probabilities of observations and next blocks."""
        for action in range(len(self.model.actions)):
            of_first = [self.sums(action, s) for s in self.first]
            for s, block in enumerate(self.labels):
                if s == self.first[block]:
                    continue
                total, sums = self.sums(action, s)
                other, expected = of_first[block]
                if sums.keys() != expected.keys() or any(
                    weight * other != expected[key] * total for key, weight in sums.items()
                ):
                    names = [self.model.states[i] for i in (self.first[block], s)]
                    pair = f"{self.what}: states {names[0]!r} and {names[1]!r}"
                    raise Fault(
                        f"{pair} are in one block, but have different probabilities of an "
                        "observation and the next block"
                    )

    def reduced(self, column: list[Fraction]) -> list[Fraction] | None:
        """A vector over states by block; None if it is not constant on blocks."""
        if any(column[s] != column[self.first[b]] for s, b in enumerate(self.labels)):
            return None
        return [column[s] for s in self.first]

    def operators(self) -> list[Operator]:
        """The operators between blocks, each times some positive integer."""
        operators: list[Operator] = []
        for action in range(len(self.model.actions)):
            rows = [self.sums(action, s) for s in self.first]
            common = lcm(*(total for total, _ in rows))
            of: dict[int, Operator] = {}
            for b, (total, sums) in enumerate(rows):
                for (o, target), weight in sums.items():
                    if o not in of:
                        of[o] = [{} for _ in range(self.size)]
                    of[o][b][target] = weight * (common // total)
            operators += of.values()
        return operators


# ---- at least


def _check_independent(
    model: ExactModel, blocks: _Blocks, members: list[_Member], modulus: int, what: str
) -> None:
    """Members must be independent modulo the modulus, at the first states of blocks."""
    moves: dict[tuple[int, int], list[list[tuple[int, int]]]] = {}
    for a in range(len(model.actions)):
        for b, s in enumerate(blocks.first):
            total, sums = blocks.sums(a, s)
            inverse = _inverse(total, modulus, f"{what}: a denominator of the model")
            for (o, target), weight in sums.items():
                rows = moves.get((a, o))
                if rows is None:
                    rows = moves[a, o] = [[] for _ in blocks.first]
                rows[b].append((target, weight * inverse % modulus))
    known: dict[_Member, list[int]] = {_Member((), None): [1] * blocks.size}
    for a, rewards in enumerate(model.rewards):
        if any(member.action == a for member in members):
            known[_Member((), a)] = [
                rewards[s].numerator
                * _inverse(rewards[s].denominator, modulus, f"{what}: a denominator of the model")
                % modulus
                for s in blocks.first
            ]
    vectors = [_outcome(member, known, moves, modulus, blocks.size) for member in members]
    if _rank_by_flint(vectors, modulus) == len(members):
        return
    echelon = _Echelon(modulus, blocks.size)
    for i, vector in enumerate(vectors):
        if not echelon.add(vector):
            raise Fault(
                f"{what}: the outcome of member {i} depends linearly on those of the members "
                f"before it, modulo {modulus}"
            )


def _flint() -> Any:
    """The module of python-flint, or None if it is not installed."""
    try:
        module = import_module("flint")
    except ImportError:
        return None
    return module if hasattr(module, "nmod_mat") else None  # a file of a user may have the name


def _rank_by_flint(vectors: list[list[int]], modulus: int) -> int | None:
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

    A new vector minus sum_k f_k row_k must be 0 at the pivots, which determines f_1, f_2, ... in
    turn. Rows are also packed, a number per `width` bytes of one integer, so that the sum takes a
    product of integers per row.
    """

    def __init__(self, modulus: int, size: int) -> None:
        self.modulus, self.size = modulus, size
        self.width = (2 * modulus.bit_length() + size.bit_length() + 7) // 8
        self.pivots: list[int] = []
        self.earlier: list[list[int]] = []  # the entries of the rows before, at each pivot
        self.rows: list[list[int]] = []
        self.packed: list[int] = []

    def add(self, vector: list[int]) -> bool:
        """Add a vector; whether it is independent, with an entry left that is invertible."""
        modulus, width = self.modulus, self.width
        factors: list[int] = []
        for pivot, entries in zip(self.pivots, self.earlier, strict=True):
            factors.append((vector[pivot] - sum(map(mul, factors, entries))) % modulus)
        data = sum(map(mul, factors, self.packed)).to_bytes(width * self.size, "little")
        left = [
            (x - int.from_bytes(data[i * width : (i + 1) * width], "little")) % modulus
            for i, x in enumerate(vector)
        ]
        place = next((b for b, x in enumerate(left) if x and gcd(x, modulus) == 1), None)
        if place is None:
            return False
        inverse = pow(left[place], -1, modulus)
        row = [x * inverse % modulus for x in left]
        self.pivots.append(place)
        self.earlier.append([other[place] for other in self.rows])
        self.rows.append(row)
        text = b"".join([x.to_bytes(width, "little") for x in row])
        self.packed.append(int.from_bytes(text, "little"))
        return True


def _outcome(
    member: _Member,
    known: dict[_Member, list[int]],
    moves: dict[tuple[int, int], list[list[tuple[int, int]]]],
    modulus: int,
    size: int,
) -> list[int]:
    """The outcome vector of a member by block; those of all its suffixes become known, too."""
    steps, action = member
    done = next(k for k in range(len(steps) + 1) if _Member(steps[k:], action) in known)
    vector = known[_Member(steps[done:], action)]
    for k in range(done - 1, -1, -1):
        rows = moves.get(steps[k])
        if rows is None:
            vector = [0] * size
        else:
            vector = [sum([w * vector[t] for t, w in row]) % modulus for row in rows]
        known[_Member(steps[k:], action)] = vector
    return vector


def _inverse(value: int, modulus: int, what: str) -> int:
    if gcd(value, modulus) != 1:
        raise Fault(f"{what} has no inverse modulo {modulus}")
    return pow(value, -1, modulus)


# ---- at most


class _Span:
    """The span of r vectors over n blocks, in reduced form, as integers over one denominator."""

    def __init__(self, value: Any, rank: int, size: int, what: str) -> None:
        self.what = f"{what}, basis"
        if not isinstance(value, list) or len(value) != rank:
            raise Fault(f"{self.what}: expected a list of {rank} vectors")
        rows: list[list[Fraction]] = []
        for row in value:
            if not isinstance(row, list) or len(row) != size:
                raise Fault(f"{self.what}: expected lists of {size} numbers, one for each block")
            rows.append([number(entry, self.what) for entry in row])
        self.pivots = [next((b for b, x in enumerate(row) if x), 0) for row in rows]
        for i, pivot in enumerate(self.pivots):
            if [row[pivot] for row in rows] != [int(i == j) for j in range(rank)]:
                raise Fault(f"{self.what}: vector {i} is not in reduced row echelon form")
        self.common = lcm(*(entry.denominator for row in rows for entry in row))
        self.rows = [
            [(b, int(entry * self.common)) for b, entry in enumerate(row) if entry] for row in rows
        ]
        self.size = size

    def contains(self, column: list[Fraction]) -> bool:
        """Whether a vector lies in the span."""
        scale = lcm(*(entry.denominator for entry in column))
        return self._has([int(entry * scale) for entry in column])

    def _has(self, vector: list[int]) -> bool:
        total = [0] * self.size
        for pivot, row in zip(self.pivots, self.rows, strict=True):
            factor = vector[pivot]
            if factor:
                for b, entry in row:
                    total[b] += factor * entry
        return all(x * self.common == y for x, y in zip(vector, total, strict=True))

    def check_closed(self, blocks: _Blocks) -> None:
        """Every operator must map every vector into the span."""
        full = [dict(row) for row in self.rows]
        for operator in blocks.operators():
            for i, vector in enumerate(full):
                image = [
                    sum([weight * vector[t] for t, weight in row.items() if t in vector])
                    for row in operator
                ]
                if not self._has(image):
                    raise Fault(f"{self.what}: an operator maps vector {i} out of the span")
