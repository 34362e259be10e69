"""A picture of a POMDP whose states are places on a floor of square cells.

The names of the states tell the places: 'r0c3' (row 0 from the north, column 3 from the west),
'r0c3-N' (facing north), 'column-3-row-0', 'x3y0-gb' (y counts northwards) or 'loaded-3' (a cell of
a line). One state without a place, such as 'goal' beside 'r0c0', ..., is found by the moves that
lead to it: an action moves there as it does elsewhere. A cell is marked + or - if every arrival
there, or every action there in some state, pays more or less than the most common reward.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from rpsr.models.pomdp import POMDP

Cell = tuple[int, int]  # row from the north, column from the west

_ARROWS = {"N": "^", "E": ">", "S": "v", "W": "<"}
_TURNS = {"N": 0, "E": 1, "S": 2, "W": 3}
_SIDE = 32  # pixels of a cell
_WALL, _FLOOR = (74, 80, 92), (238, 240, 243)
_MARKED = {"+": (150, 208, 180), "-": (240, 178, 140)}
_LINE, _AGENT, _NOSE = (205, 209, 215), (0, 104, 165), (254, 254, 254)


@dataclass(frozen=True)
class Place:
    """A cell and, where the state has one, a heading (N, E, S, W) and a further label."""

    cell: Cell
    heading: str = ""
    label: str = ""


_PATTERNS = (
    re.compile(r"r(?P<row>\d+)c(?P<column>\d+)(?:-(?P<heading>[NESW]))?"),
    re.compile(r"column-(?P<column>\d+)-row-(?P<row>\d+)"),
    re.compile(r"x(?P<column>\d+)y(?P<up>\d+)-(?P<label>[gb]+)"),
    re.compile(r"(?P<label>loaded|empty)-(?P<column>\d+)"),
)


@dataclass(frozen=True)
class Floor:
    """Where each of S states is (None: nowhere), and the signs of marked cells."""

    places: tuple[Place | None, ...]
    marks: dict[Cell, str]
    size: tuple[int, int]

    def text(self, state: int) -> str:
        """The floor with the agent on it: an arrow where it has a heading, else @."""
        rows = [["#"] * self.size[1] for _ in range(self.size[0])]
        for row, column in self._cells():
            rows[row][column] = self.marks.get((row, column), ".")
        place = self.places[state]
        if place is not None:
            rows[place.cell[0]][place.cell[1]] = _ARROWS.get(place.heading, "@")
        label = f" {place.label}" if place is not None and place.label else ""
        return "\n".join(" ".join(row) for row in rows) + f"{label}\n"

    def pixels(self, state: int) -> np.ndarray:
        """The same as an image, (height, width, 3), uint8."""
        height, width = self.size
        image = np.empty((height * _SIDE, width * _SIDE, 3), dtype=np.uint8)
        image[:] = _WALL
        for row, column in self._cells():
            square = image[row * _SIDE : (row + 1) * _SIDE, column * _SIDE : (column + 1) * _SIDE]
            square[:] = _LINE
            square[1:-1, 1:-1] = _MARKED.get(self.marks.get((row, column), ""), _FLOOR)
        place = self.places[state]
        if place is not None:
            row, column = place.cell
            square = image[row * _SIDE : (row + 1) * _SIDE, column * _SIDE : (column + 1) * _SIDE]
            _draw_agent(square, place)
        return image

    def _cells(self) -> set[Cell]:
        return {place.cell for place in self.places if place is not None}


def _draw_agent(square: np.ndarray, place: Place) -> None:
    """A disc; with a heading, a bright wedge in front; loaded, a bright core."""
    y, x = np.mgrid[0:_SIDE, 0:_SIDE] - (_SIDE - 1) / 2
    square[x * x + y * y <= (0.36 * _SIDE) ** 2] = _AGENT
    if place.heading:
        wedge = (-y >= 2 * np.abs(x)) & (x * x + y * y <= (0.32 * _SIDE) ** 2)
        square[np.rot90(wedge, -_TURNS[place.heading])] = _NOSE
    elif place.label == "loaded":
        square[x * x + y * y <= (0.16 * _SIDE) ** 2] = _NOSE


def floor_of(pomdp: POMDP) -> Floor | None:
    """The picture of a POMDP, or None if the names of its states do not tell their places."""
    groups = [_parsed(name) for name in pomdp.states]
    if not any(groups):
        return None
    top = max(int(group.get("up") or 0) for group in groups if group)
    places = [None if group is None else _place(group, top) for group in groups]
    missing = [s for s, place in enumerate(places) if place is None and not pomdp.absorbing[s]]
    if len(missing) == 1:
        places[missing[0]] = _found_by_moves(pomdp, places, missing[0])
    elif missing:
        return None
    cells = [place.cell for place in places if place is not None]
    size = (1 + max(row for row, _ in cells), 1 + max(column for _, column in cells))
    return Floor(tuple(places), _marks(pomdp, places), size)


def _parsed(name: str) -> dict[str, str | None] | None:
    for pattern in _PATTERNS:
        match = pattern.fullmatch(name)
        if match is not None:
            return match.groupdict()
    return None


def _place(group: dict[str, str | None], top: int) -> Place:
    up = group.get("up")
    row = int(group.get("row") or 0) if up is None else top - int(up)
    cell = (row, int(group["column"] or 0))
    return Place(cell, group.get("heading") or "", group.get("label") or "")


def _found_by_moves(pomdp: POMDP, places: list[Place | None], lost: int) -> Place | None:
    """The place of a state: beside a cell that leads to it, where the same action leads elsewhere.

    None if no single place agrees with the moves.
    """
    moves: dict[int, Counter[Cell]] = {}
    entries: list[tuple[int, Cell]] = []
    o = pomdp.outcomes
    for s, a, t in zip(o.state.tolist(), o.action.tolist(), o.next_state.tolist(), strict=True):
        here, there = places[s], places[t]
        if here is None:
            continue
        if t == lost:
            entries.append((a, here.cell))
        elif there is not None and there.cell != here.cell:
            step = (there.cell[0] - here.cell[0], there.cell[1] - here.cell[1])
            moves.setdefault(a, Counter())[step] += 1
    taken = {place.cell for place in places if place is not None}
    votes: Counter[Cell] = Counter()
    for a, (row, column) in entries:
        for south, east in moves.get(a, ()):
            cell = (row + south, column + east)
            if cell not in taken and min(cell) >= 0:
                votes[cell] += 1
    return Place(votes.most_common(1)[0][0]) if votes else None


def _marks(pomdp: POMDP, places: list[Place | None]) -> dict[Cell, str]:
    """+ or - for cells where every arrival, or every action in a state, pays unusually."""
    o = pomdp.outcomes
    values, counts = np.unique(o.reward, return_counts=True)
    sign = np.sign(o.reward - values[counts.argmax()]).astype(np.int64)
    size = len(pomdp.states)
    constant = np.zeros(size, dtype=np.int64)
    for states in (o.state, o.next_state):
        low, high = np.ones(size, dtype=np.int64), -np.ones(size, dtype=np.int64)
        np.minimum.at(low, states, sign)
        np.maximum.at(high, states, sign)
        constant = np.where((low == high) & (low != 0), low, constant)
    return {
        place.cell: "+" if mark > 0 else "-"
        for place, mark in zip(places, constant.tolist(), strict=True)
        if place is not None and mark
    }
