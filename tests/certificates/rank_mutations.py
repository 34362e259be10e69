"""Damage to certificates of ranks.

Members are exchanged, dropped or drawn anew, blocks merged, split or given another state, entries
of a basis nudged, ranks raised or lowered with the members and the basis that this takes, and
verdicts on rewards flipped. Other parts of the line are then usually made to fit: which rewards lie
in the stated span, and what the header states (`state_content`). So a missing check shows as a
false statement.
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from tests.certificates.bound_mutations import Lines, Mutation, content

from rpsr.certificates.exact_model import ExactModel

Vector = list[Fraction]


def _drawn(draw: random.Random, lines: Lines) -> dict[str, Any]:
    return draw.choice(content(lines, "rank"))


def _size(line: dict[str, Any]) -> int:
    return max(line["blocks"]) + 1


def _basis(line: dict[str, Any]) -> list[Vector]:
    """The vectors of the basis, also where it is that of all vectors."""
    if line["basis"] is None:
        return [[Fraction(i == j) for j in range(_size(line))] for i in range(_size(line))]
    return [[Fraction(entry) for entry in row] for row in line["basis"]]


def _set_basis(line: dict[str, Any], rows: list[Vector]) -> None:
    whole = line["rank"] >= _size(line)
    line["basis"] = None if whole else [[str(entry) for entry in row] for row in rows]


def _some_member(draw: random.Random, line: dict[str, Any]) -> list[Any]:
    """A short test by actions and observations that members have; for "rpsr", perhaps a reward."""
    known = [step for steps, _ in line["members"] for step in steps] or [[0, 0]]
    steps = [draw.choice(known) for _ in range(draw.randrange(4))]
    last = draw.randrange(len(line["inside"])) if draw.random() < 0.3 else None
    return [steps, last]


def exchange_members(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    members = _drawn(draw, lines)["members"]
    if members:
        one, other = draw.randrange(len(members)), draw.randrange(len(members))
        members[one], members[other] = members[other], members[one]


def repeat_member(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    members = _drawn(draw, lines)["members"]
    if members:
        members[draw.randrange(len(members))] = draw.choice(members)


def replace_member(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    line = _drawn(draw, lines)
    if line["members"]:
        line["members"][draw.randrange(len(line["members"]))] = _some_member(draw, line)


def lower_rank(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    """One member less, and one vector of the basis dropped or added to another."""
    line = _drawn(draw, lines)
    rows = _basis(line)
    if not line["members"] or not rows:
        return
    line["rank"] -= 1
    del line["members"][draw.randrange(len(line["members"]))]
    gone = rows.pop(draw.randrange(len(rows)))
    if rows and draw.random() < 0.7:
        i = draw.randrange(len(rows))
        rows[i] = [x + y for x, y in zip(rows[i], gone, strict=True)]
    _set_basis(line, rows)


def raise_rank(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    """One member more, and a vector of the basis for a block that was no pivot."""
    line = _drawn(draw, lines)
    if line["rank"] == _size(line):
        _split(draw, line)
    rows = _basis(line)
    pivots = {next((b for b, x in enumerate(row) if x), 0) for row in rows}
    free = [b for b in range(_size(line)) if b not in pivots]
    line["rank"] += 1
    line["members"].append(_some_member(draw, line))
    if free:
        new = draw.choice(free)
        rows = [[x * (b != new) for b, x in enumerate(row)] for row in rows]
        rows.append([Fraction(b == new) for b in range(_size(line))])
    _set_basis(line, rows)


def merge_blocks(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    line = _drawn(draw, lines)
    size = _size(line)
    if size == 1:
        return
    kept, gone = sorted(draw.sample(range(size), 2))
    rows = [row[:gone] + row[gone + 1 :] for row in _basis(line)]
    line["blocks"] = [kept if b == gone else b - (b > gone) for b in line["blocks"]]
    while line["rank"] >= size:
        line["rank"] -= 1
        del line["members"][draw.randrange(len(line["members"]))]
    _set_basis(line, rows[: line["rank"]])


def _split(draw: random.Random, line: dict[str, Any]) -> None:
    blocks, size = line["blocks"], _size(line)
    shared = [s for s, b in enumerate(blocks) if blocks.count(b) > 1]
    if shared:
        s = draw.choice(shared)
        rows = [[*row, row[blocks[s]]] for row in _basis(line)]
        blocks[s] = size
        _set_basis(line, rows)


def split_block(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    _split(draw, _drawn(draw, lines))


def move_state(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    line = _drawn(draw, lines)
    line["blocks"][draw.randrange(len(line["blocks"]))] = draw.randrange(_size(line))


def nudge_basis(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    line = _drawn(draw, lines)
    rows = _basis(line)
    if line["basis"] is None or not rows:
        return
    row = draw.choice(rows)
    by = Fraction(draw.choice([-1, 1]) * draw.randint(1, 3), draw.choice([1, 2, 3, 10**6]))
    row[draw.randrange(len(row))] += by
    _set_basis(line, rows)


def exchange_bases(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    one, other = _drawn(draw, lines), _drawn(draw, lines)
    one["basis"], other["basis"] = other["basis"], one["basis"]


def change_modulus(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    line = _drawn(draw, lines)
    line["modulus"] = draw.choice([draw.randint(2, 60), line["modulus"] * draw.randint(2, 9)])


def change_kind(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    """The proof of one rank, alone, stated to be that of the other."""
    line = _drawn(draw, lines)
    line["kind"] = "rpsr" if line["kind"] == "psr" else "psr"
    header["lines"]["rank"] = 1
    lines[:] = [("rank", line)]


def flip_inside(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    line = _drawn(draw, lines)
    line["inside"][draw.randrange(len(line["inside"]))] ^= True
    if line["kind"] == "psr":
        header["accurate"] = all(line["inside"])


def change_statement(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    name = draw.choice([name for name in ("psr_rank", "rpsr_rank", "accurate") if name in header])
    header[name] = not header[name] if name == "accurate" else header[name] + draw.choice([-1, 1])


MUTATIONS: tuple[Mutation, ...] = (
    exchange_members,
    repeat_member,
    replace_member,
    lower_rank,
    raise_rank,
    merge_blocks,
    split_block,
    move_state,
    nudge_basis,
    exchange_bases,
    change_modulus,
    change_kind,
    flip_inside,
    change_statement,
)


STATEMENTS = (flip_inside, change_statement)  # after these, nothing is made to fit


def _fit_inside(model: ExactModel, line: dict[str, Any]) -> None:
    """Say of each reward whether it lies in the span that the line states."""
    rows, size = _basis(line), _size(line)
    if set(line["blocks"]) != set(range(size)) or any(len(row) != size for row in rows):
        return  # the verifier will refuse it
    first = [line["blocks"].index(b) for b in range(size)]
    line["inside"] = []
    for column in model.rewards:
        left = [column[s] for s in first]
        constant = all(column[s] == left[b] for s, b in enumerate(line["blocks"]))
        for row in rows:
            pivot = next((b for b, x in enumerate(row) if x), 0)
            left = [x - left[pivot] * y for x, y in zip(left, row, strict=True)]
        line["inside"].append(constant and not any(left))


def state_content(model: ExactModel, header: dict[str, Any], lines: Lines) -> None:
    """State which rewards lie in the stated spans, and the ranks of the lines."""
    for name in ("psr_rank", "rpsr_rank", "accurate"):
        header.pop(name, None)
    for line in content(lines, "rank"):
        _fit_inside(model, line)
        header[f"{line['kind']}_rank"] = line["rank"]
        if line["kind"] == "psr":
            header["accurate"] = all(line["inside"])
