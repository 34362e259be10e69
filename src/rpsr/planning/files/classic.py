"""The policy files of the classic solver: `.alpha` (value function) and `.pg` (policy graph).

An `.alpha` file has, for every vector, a line with the number of its action, a line with one
coefficient for each state of the POMDP, and a blank line. A `.pg` file has one line per
node: its number, the number of its action, and for each observation the number of the node that
follows, or `-` or `X` where none does. Neither contains names, so only sizes can be checked.
Vectors are in belief coordinates for every model, and numbers are read exactly as written.

Reference: A. R. Cassandra, pomdp-solve, descriptions of its file formats, pomdp.org.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rpsr.errors import InputError
from rpsr.io.files import packed, place_of, read_bytes, write_bytes
from rpsr.io.records import LARGEST_VALUE, Floats, Ints
from rpsr.models.as_model import as_linear
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.value.controllers import FiniteStateController
from rpsr.planning.value.coordinates import from_beliefs, to_beliefs
from rpsr.printable import quoted

_NOWHERE = ("-", "X", "x")
_CANDIDATES = 8  # nodes tried as the first: rounding may rank the best one lower


def write_alpha(
    model: POMDP | LinearModel, vectors: Floats, actions: Ints, path: str | Path
) -> None:
    """Write a value function (K, n) with its actions (K,), completely or not at all."""
    blocks = [
        f"{action}\n{' '.join(repr(v) for v in row)}\n\n"
        for action, row in zip(actions.tolist(), to_beliefs(model, vectors).tolist(), strict=True)
    ]
    write_bytes(path, packed("".join(blocks).encode(), path))


def read_alpha(path: str | Path, model: POMDP | LinearModel) -> tuple[Floats, Ints]:
    """The vectors (K, n) and actions (K,) of a file, in a model's own coordinates."""
    linear = as_linear(model)
    return parse_alpha(read_bytes(path), place_of(path), linear)


def parse_alpha(content: bytes, place: str, model: LinearModel) -> tuple[Floats, Ints]:
    """The same from a file's content; place: its name in messages."""
    n_states = model.domain.size
    actions: list[int] = []
    rows: list[list[float]] = []
    at = _Line(place, 1, [])
    for at in _lines(content, place):
        if len(rows) == len(actions):
            at.expect(1, "the number of an action")
            actions.append(at.integer(0, len(model.actions), "action"))
        else:
            at.expect(n_states, "a coefficient for each state")
            rows.append([at.coefficient(i) for i in range(n_states)])
    if len(rows) != len(actions):
        raise at.error("the last vector has no coefficients")
    if not rows:
        raise at.error("the file has no vectors")
    return from_beliefs(model, np.array(rows)), np.array(actions, dtype=np.int64)


def write_pg(controller: FiniteStateController, path: str | Path) -> None:
    """Write a controller, completely or not at all; a node's number is its position.

    A successor of -1 is written as the node of a restart, since the format cannot express
    restarts.
    """
    following = np.where(controller.successors < 0, controller.first, controller.successors)
    lines = [
        f"{node} {action}  {' '.join(map(str, successors))}\n"
        for node, (action, successors) in enumerate(
            zip(controller.actions.tolist(), following.tolist(), strict=True)
        )
    ]
    write_bytes(path, packed("".join(lines).encode(), path))


def read_pg(path: str | Path, model: POMDP | LinearModel) -> FiniteStateController:
    """The controller of a file. It starts in the node with the largest value at the start."""
    linear = as_linear(model)
    return parse_pg(read_bytes(path), place_of(path), linear)


def parse_pg(content: bytes, place: str, model: LinearModel) -> FiniteStateController:
    """The same from a file's content; place: its name in messages."""
    n_observations = len(model.observations)
    lines = list(_lines(content, place))
    if not lines:
        raise InputError("the file has no nodes", place=place, line=1)
    actions = np.zeros(len(lines), dtype=np.int64)
    successors = np.full((len(lines), n_observations), -1, dtype=np.int64)
    for node, at in enumerate(lines):
        at.expect(2 + n_observations, "a node, an action and a node for each observation")
        if at.words[0][0] != str(node):
            raise at.error(
                f"read {quoted(at.words[0][0])}, expected {node}: nodes are numbered from 0, in "
                "order",
                0,
            )
        actions[node] = at.integer(1, len(model.actions), "action")
        for o in range(n_observations):
            if at.words[o + 2][0] not in _NOWHERE:
                successors[node, o] = at.integer(o + 2, len(lines), "node")
    return _best_first(
        FiniteStateController(model.actions, model.observations, actions, successors), model
    )


def _best_first(controller: FiniteStateController, model: LinearModel) -> FiniteStateController:
    """The controller with its best node as the first, which also changes the restarts."""
    if controller.successors.min() >= 0:  # it never restarts
        return replace(controller, first=controller.best_node(model))
    order = np.argsort(-(controller.vectors(model) @ model.start), kind="stable")
    begun = [replace(controller, first=int(node)) for node in order[:_CANDIDATES]]
    return max(begun, key=lambda candidate: candidate.value(model))


@dataclass(frozen=True)
class _Line:
    """A line's words with their columns, for error messages."""

    place: str
    number: int
    words: list[tuple[str, int]]

    def error(self, message: str, word: int | None = None) -> InputError:
        column = None if word is None else self.words[word][1]
        return InputError(message, place=self.place, line=self.number, column=column)

    def expect(self, count: int, what: str) -> None:
        if len(self.words) != count:
            raise self.error(f"read {len(self.words)} words, expected {count}: {what}")

    def integer(self, word: int, count: int, what: str) -> int:
        text = self.words[word][0]
        plain = text.isascii() and text.isdecimal() and len(text) < 20  # longer: no index
        if not (plain and int(text) < count):
            wanted = f"the number of an existing {what}, 0 to {count - 1}"
            raise self.error(f"read {quoted(text)}, expected {wanted}", word)
        return int(text)

    def coefficient(self, word: int) -> float:
        text = self.words[word][0]
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not abs(value) <= LARGEST_VALUE:
            limits = f"from {-LARGEST_VALUE:.0e} to {LARGEST_VALUE:.0e}"
            raise self.error(f"read {quoted(text)}, expected a number {limits}", word)
        return value


def _lines(content: bytes, place: str) -> Iterator[_Line]:
    """The lines that are not blank."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise InputError("not a text file", place=place) from None
    for number, line in enumerate(text.splitlines(), 1):
        words = [(match.group(), match.start() + 1) for match in re.finditer(r"\S+", line)]
        if words:
            yield _Line(place, number, words)
