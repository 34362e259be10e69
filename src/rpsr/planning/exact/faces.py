"""Faces: the states that can follow an interaction, often a small part of the domain.

After action a and observation o the state is a mixture of the corners that a, o can lead to: it
lies on a face of the domain. HV at any state depends on V on faces only. So if HV <= V + rho holds
on every face, then V* <= V + rho / (1 - discount) holds there, and a look-ahead with that V is
within discount * rho / (1 - discount) of V* everywhere else. Faces inside other faces need no
proof.
"""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Bools, Floats, Ints
from rpsr.planning.corners.corner_model import CornerProcess

MUCH_SMALLER = 0.75  # of all corners: larger faces save too little
MANY_VECTORS = 200  # over the whole domain: with fewer, faces save too little


def maximal_faces(process: CornerProcess) -> list[Ints]:
    """The corners of each maximal face, ascending; all corners at discount 0."""
    member = _members(process)
    if not member.any():
        return [np.arange(process.k)]
    member = np.unique(member[member.any(axis=1)], axis=0)
    inside = (member[:, None] <= member[None]).all(axis=2)  # row's face within column's
    return [np.flatnonzero(face) for face in member[inside.sum(axis=1) == 1]]


def worth_it(process: CornerProcess, vectors: int) -> bool:
    """Whether to plan on faces instead of the whole domain."""
    return vectors > MANY_VECTORS and largest(process) <= MUCH_SMALLER * process.k


def largest(process: CornerProcess) -> int:
    """The number of corners of the largest face."""
    return int(_members(process).sum(axis=1).max())


def _members(process: CornerProcess) -> Bools:
    """Which corners each interaction can lead to, (A * O, k)."""
    n_actions, k = process.rewards.shape
    action = np.repeat(np.arange(n_actions * k), np.diff(process.indptr)) // k
    member = np.zeros((n_actions * process.observations, k), dtype=np.bool_)
    member[action * process.observations + process.observation, process.target] = True
    return member


def on_faces(points: Floats, faces: list[Ints]) -> Bools:
    """Which points (P, k) lie on one of the faces, (P,)."""
    member = np.zeros((len(faces), points.shape[1]), dtype=np.bool_)
    for row, face in zip(member, faces, strict=True):
        row[face] = True
    outside = (points > 0).astype(np.int64) @ (~member).astype(np.int64).T  # (P, faces)
    return outside.min(axis=1) == 0
