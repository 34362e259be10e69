"""The interactive part of a page: a history, step by step, in three models side by side.

A POMDP, its PSR and its R-PSR go into the page as numbers, and the page's script computes with
them as `rpsr.Filter` does: in the orthonormal basis Q, through the shared sparse process D,

    y = x Q^T      P(o | x, a) = sum(y D[a,o])      x' = (y D[a,o]) Q / P      rewards x (Q^T R)

and reads the state in the core's coordinates, x T. The belief model is the case Q = 1. A plan goes
into the page as its vectors: the best action at x is that of the vector with the largest x alpha.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from rpsr.io.records import Floats
from rpsr.models.labels import index_of
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.solution import Solution
from rpsr.predictive import psr as psr_of
from rpsr.predictive import rpsr as rpsr_of
from rpsr.predictive.futures import ZETA, Test, parse_future
from rpsr.showing import counted

LARGEST = 120_000  # numbers that one POMDP may bring into a page; about 1.5 MB
LARGEST_PLAN = 60_000  # numbers of one plan


@dataclass(frozen=True, eq=False)
class Steps:
    """A POMDP with its PSR and its R-PSR, to be stepped through.

    note: a sentence shown beneath; history: pairs of names that the page begins with. plans: by the
    names POMDP, PSR and R-PSR, for the best actions; none are shown without them.
    """

    pomdp: POMDP
    psr: LinearModel
    rpsr: LinearModel
    note: str = ""
    history: tuple[tuple[str, str], ...] = ()
    plans: Mapping[str, Solution] = field(default_factory=dict[str, Solution])

    @staticmethod
    def of(pomdp: POMDP, *, note: str = "", history: Sequence[tuple[str, str]] = ()) -> Steps:
        """With the PSR and the R-PSR found breadth-first."""
        return Steps(pomdp, psr_of(pomdp), rpsr_of(pomdp), note, tuple(history))

    @cached_property
    def size(self) -> int:
        """The number of numbers in the page."""
        process = sum(int(block.nnz) for row in self.pomdp.D for block in row)
        arrays = [self.pomdp.R]
        for model in (self.psr, self.rpsr):
            arrays += [_basis(model), _coordinates(model), model.rewards]
        return process + sum(int(np.count_nonzero(array)) for array in arrays)

    @property
    def too_large(self) -> str:
        """The reason why this is too large for a page, or an empty text."""
        if self.size <= LARGEST:
            return ""
        return (
            f"Stepping through {self.pomdp.name} is left out: its models are {self.size:,} numbers,"
            f" and a page holds at most {LARGEST:,} of one POMDP. In Python, model.filter() does "
            "the same."
        )

    def document(self) -> dict[str, Any]:
        """The data for the page's script."""
        pomdp = self.pomdp
        values, process = _coded(pomdp)
        belief = pomdp.belief_model()
        return {
            "name": pomdp.name,
            "note": self.note,
            "history": [
                [
                    index_of(pomdp.actions, action, "action"),
                    index_of(pomdp.observations, observation, "observation"),
                ]
                for action, observation in self.history
            ],
            "states": pomdp.states,
            "actions": pomdp.actions,
            "observations": pomdp.observations,
            "values": values,
            "process": process,
            "models": [
                self._model("POMDP", "belief b(h)", belief, pomdp.states),
                self._model("PSR", "core tests p(h)", self.psr, self.psr.core),
                self._model("R-PSR", "core intents r(h)", self.rpsr, self.rpsr.core),
            ],
        }

    def _model(
        self, name: str, title: str, model: LinearModel, labels: Sequence[str]
    ) -> dict[str, Any]:
        predictive = model.coordinates is not None
        rewards = self.pomdp.R
        plan, without = _plan(self.plans.get(name)) if self.plans else (None, "")
        return {
            "name": name,
            "title": title,
            "labels": labels,
            "rounding": model.rounding,
            "start": model.start.tolist(),
            "normalizer": model.normalizer.tolist(),
            "rewards": _sparse(model.rewards),
            "basis": _sparse(_basis(model)) if predictive else None,
            "coordinates": _sparse(_coordinates(model)) if predictive else None,
            "kinds": [_kind(label) for label in labels] if predictive else None,
            "scale": float(np.abs(rewards).max()),
            "signed": bool(rewards.min() < 0),
            "plan": plan,
            "without_plan": without,
        }

    def stored(self) -> StoredSteps:
        """The same as plain JSON values."""
        return StoredSteps(None if self.too_large else self.document(), self.too_large)


@dataclass(frozen=True, eq=False)
class StoredSteps:
    """`Steps` as plain JSON values: the data for the page's script, or why there is none."""

    data: dict[str, Any] | None
    too_large: str

    def document(self) -> dict[str, Any]:
        """The data for the page's script."""
        assert self.data is not None, "only what fits into a page is stored"
        return self.data


@dataclass(frozen=True, eq=False)
class Stepper:
    """The block: one or more POMDPs to step through; those too large are named and left out."""

    domains: tuple[Steps | StoredSteps, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "domains", tuple(self.domains))

    def html(self, prefix: str) -> str:
        """The block's markup and data, for the page's script."""
        shown = [steps for steps in self.domains if not steps.too_large]
        left_out = "".join(
            f"<p>{html.escape(steps.too_large)}</p>" for steps in self.domains if steps.too_large
        )
        if not shown:
            return f'<div class="left-out">{left_out}</div>\n'
        documents = [steps.document() for steps in shown]
        # Inside a script element only "</" could end it early.
        data = json.dumps(documents, ensure_ascii=False, separators=(",", ":"))
        data = data.replace("<", "\\u003c")
        return (
            f'<div class="stepper" id="{prefix}">'
            "<noscript><p>Stepping through a history needs JavaScript.</p></noscript>"
            f'<script type="application/json">{data}</script></div>\n'
            + (f'<div class="left-out">{left_out}</div>\n' if left_out else "")
        )


def _kind(label: str) -> str:
    """Whether a core member is the probability of a test, or an expected reward after one."""
    member = parse_future(label)
    return "probability" if isinstance(member, Test) or member.action is ZETA else "reward"


def _plan(solution: Solution | None) -> tuple[dict[str, Any] | None, str]:
    """The vectors of a plan with their actions, or the reason why there are none."""
    if solution is None:
        return None, "not planned"
    if solution.vectors.size > LARGEST_PLAN:
        return None, f"left out: the plan has {counted(len(solution.vectors), 'vector')}"
    # Different planners keep vectors that are nowhere best; they change nothing here.
    return {
        "vectors": solution.vectors.tolist(),
        "actions": solution.actions.tolist(),
    }, ""


def _basis(model: LinearModel) -> Floats:
    return model.domain.corners


def _coordinates(model: LinearModel) -> Floats:
    assert model.coordinates is not None, "models found by name have core members"
    return model.coordinates


def _sparse(array: Floats) -> dict[str, Any]:
    matrix = sp.csr_array(array)
    return {
        "shape": array.shape,
        "starts": matrix.indptr.tolist(),
        "columns": matrix.indices.tolist(),
        "data": matrix.data.tolist(),
    }


def _coded(pomdp: POMDP) -> tuple[list[float], list[list[dict[str, Any]]]]:
    """D[a][o] by rows, with numbers in place of its few distinct probabilities."""
    distinct = np.unique(np.concatenate([block.data for row in pomdp.D for block in row]))
    process = [
        [
            {
                "starts": block.indptr.tolist(),
                "columns": block.indices.tolist(),
                "data": np.searchsorted(distinct, block.data).tolist(),
            }
            for block in row
        ]
        for row in pomdp.D
    ]
    return distinct.tolist(), process
