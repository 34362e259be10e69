"""Moments of a log: integer sums over its windows, which can be added in any order.

With phi_t(h) the history features at t (a constant, the start, the last interactions) and u a word
of up to a few interactions, the sums over all t whose window (the steps of a history and of the
word after it) is complete are

    N[u, h]    = sum 1[the next interactions are u] w_t(u) phi_t(h)
    W[u, a, h] = sum 1[the next interactions are u, then a] w_t(u a) phi_t(h)

and, likewise, of w r, w r^2 and w^2 for the reward r of a. Importance weights w are products of 1 /
(A pi) over the actions, so they are 1 for a uniform policy. Weights and rewards are rounded once to
multiples of 2^-30 (of the rewards' range); all sums are integers. So moments of parts of a log can
be computed anywhere, stored in files and added, and the result is the same to the bit.

After the end of a task its last observation repeats with reward 0 for all actions: every action
counts as taken, with 1 / A of the weight. No window begins there. A window that a cut-off recording
does not complete is not counted; `censoring` corrects for this.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np

from rpsr._version import __version__
from rpsr.errors import DataError, InputError
from rpsr.io.archive import read_archive, write_archive
from rpsr.io.records import Ints
from rpsr.learning.moments.censoring import Censoring
from rpsr.learning.moments.kernels import add_windows
from rpsr.learning.moments.survey import Survey
from rpsr.learning.moments.window_plan import WindowPlan
from rpsr.learning.propensities import BEHAVIOURS
from rpsr.logs import Trajectories

FORMAT = "rpsr-moments"
FORMAT_VERSION = 2
ROUNDING = 1e-9  # of the scale of rewards
RAREST = 1e-100  # estimated propensities are above 0, so that weights are finite


class Moments:
    """Sums over the windows of a log, by a plan. Moments of the same plan can be added.

    nodes (U, H) and stats (Z, A, H, 4), by `plan.rows`, are the sums, int64; windows is the number
    of windows.
    """

    def __init__(self, plan: WindowPlan) -> None:
        shape = (len(plan.nodes), plan.features)
        self.plan = plan
        self.nodes: Ints = np.zeros(shape, dtype=np.int64)
        n_actions = len(plan.action_names)
        height = int(plan.rows.max()) + 1
        self.stats: Ints = np.zeros((height, n_actions, shape[1], 4), dtype=np.int64)
        self.windows = 0

    @staticmethod
    def of(chunks: Iterable[Trajectories], plan: WindowPlan | None = None) -> Moments:
        """The moments of a log, in one pass (after a survey, where no plan is given)."""
        moments = Moments(plan or WindowPlan.of(Survey.of(chunks)))
        for chunk in chunks:
            moments.add(chunk)
        return moments

    def add(self, log: Trajectories) -> None:
        """Add the windows of a log; its names must be the plan's."""
        plan = self.plan
        log.check_names(plan.action_names, plan.observation_names, "these moments were set up for")
        recorded = log.rewards_for("learning")
        rewards = plan.counted(recorded)
        if np.abs(rewards).max(initial=0.0) > 1 + ROUNDING:
            read = recorded[np.abs(rewards).argmax()]
            expected = f"{plan.centre - plan.scale:g} to {plan.centre + plan.scale:g}"
            raise DataError(
                f"rewards: read {read:g}, expected {expected}, the range of the log "
                "that these moments were set up for"
            )
        weights = plan.weights(log)
        interactions = log.actions * len(plan.observation_names) + log.observations
        shares = plan.censoring.shares(log, plan.depth)
        self.windows += add_windows(
            (log.actions, interactions, rewards, weights, shares),
            log.offsets,
            log.terminated,
            -plan.centre / plan.scale,
            plan.children,
            plan.past,
            plan.rows,
            plan.depth,
            plan.anchored,
            self.nodes,
            self.stats,
        )

    def __add__(self, other: Moments) -> Moments:
        """The moments of both logs together."""
        total = Moments(self.plan)
        total += self
        total += other
        return total

    def __iadd__(self, other: Moments) -> Self:
        """Add the moments of another log to these."""
        if not same_plan(self.plan, other.plan):
            raise DataError("moments of different plans cannot be added")
        self.nodes += other.nodes
        self.stats += other.stats
        self.windows += other.windows
        return self

    def save(self, path: str | Path) -> None:
        """Write the moments and their plan, completely or not at all."""
        plan = self.plan
        header: dict[str, Any] = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "written_by": __version__,
            "actions": plan.action_names,
            "observations": plan.observation_names,
            "tests": plan.tests,
            "reward_tests": plan.reward_tests,
            "histories": plan.histories,
            "scale": plan.scale,
            "policy": plan.behaviour,
            "anchored": plan.anchored,
            "operators": plan.operators,
            "centre": plan.centre,
            "final": plan.final,
            "cut": [plan.censoring.lengths, plan.censoring.lasting],
            "windows": self.windows,
        }
        tables = {f"policy.{k}": table for k, table in enumerate(plan.policies or ())}
        write_archive(path, header, {"nodes": self.nodes, "stats": self.stats, **tables})

    @staticmethod
    def load(path: str | Path) -> Moments:
        """Read moments from a file."""
        header, arrays = read_archive(path, "file of moments")
        if header.get("format") != FORMAT or header.get("format_version") != FORMAT_VERSION:
            raise InputError("not a file of moments that this version reads", place=str(path))
        try:
            tables = tuple(
                arrays[f"policy.{k}"]
                for k in range(sum(name.startswith("policy.") for name in arrays))
            )
            plan = WindowPlan(
                tuple(header["actions"]),
                tuple(header["observations"]),
                _words(header["tests"]),
                _words(header["reward_tests"]),
                _words(header["histories"]),
                float(header["scale"]),
                str(header["policy"]),
                tables or None,
                bool(header["anchored"]),
                bool(header["operators"]),
                float(header["centre"]),
                Censoring(*map(tuple, header["cut"])),
                tuple(header["final"]),
            )
            _check(plan, arrays["nodes"], arrays["stats"])
            moments = Moments(plan)
            moments.nodes[:] = arrays["nodes"]
            moments.stats[:] = arrays["stats"]
            moments.windows = int(header["windows"])
        except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise InputError(f"damaged file of moments: {error}", place=str(path)) from None
        return moments


def _check(plan: WindowPlan, nodes: Ints, stats: Ints) -> None:
    """Refuse what is no plan, and one with other sums than the file's, before any are allocated."""
    n_actions, codes = len(plan.action_names), plan.n_interactions
    names: tuple[Any, ...] = (*plan.action_names, *plan.observation_names, *plan.final)
    if not all(isinstance(name, str) for name in names):
        raise TypeError("the names of actions and observations are not all text")
    tests, histories = set(plan.tests), set(plan.histories)
    if not all(0 <= code < codes for word in tests | histories for code in word):
        raise ValueError(f"a word has an interaction that is not from 0 to {codes - 1}")
    closed = tests >= {(), *(word[:-1] for word in tests)} and tests >= set(plan.reward_tests)
    if not closed or not histories >= {(), *(word[1:] for word in histories)}:
        raise ValueError("the prefixes of a test or the suffixes of a history are missing")
    if len(histories) < len(plan.histories) or plan.histories[0]:
        raise ValueError("the histories do not begin with the empty one, or repeat")
    few = len(tests) * (codes if plan.operators else 1) <= len(nodes)  # else the plan may be large
    if not few or nodes.shape != (len(plan.nodes), plan.features):
        raise ValueError(f"sums of shape {nodes.shape} for words are not those of its plan")
    if stats.shape != (int(plan.rows.max()) + 1, n_actions, plan.features, 4):
        raise ValueError(f"sums of shape {stats.shape} for actions are not those of its plan")
    if nodes.dtype != np.int64 or stats.dtype != np.int64:
        raise TypeError(
            f"`nodes` and `stats` have types {nodes.dtype} and {stats.dtype}, expected int64"
        )
    if plan.behaviour not in BEHAVIOURS or not (
        0 < plan.scale < np.inf and np.isfinite(plan.centre)
    ):
        raise ValueError("unknown propensities, or rewards of no finite range")
    for length, table in enumerate(plan.policies or ()):
        if table.shape != (codes**length, n_actions) or table.dtype != np.float64:
            raise ValueError(f"policy {length} has the shape {table.shape} of {table.dtype}")
        if not ((table > RAREST) & (table <= 1)).all():
            raise ValueError(f"policy {length} has a value that is no probability of an action")


def _words(lists: list[list[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(int, word)) for word in lists)


def same_plan(a: WindowPlan, b: WindowPlan) -> bool:
    """Whether moments of two plans can be added."""
    if a is b:
        return True
    fields = ("action_names", "observation_names", "tests", "reward_tests", "histories")
    fields += ("scale", "behaviour", "anchored", "operators", "centre", "censoring", "final")
    if any(getattr(a, field) != getattr(b, field) for field in fields):
        return False
    tables = (a.policies or (), b.policies or ())
    return len(tables[0]) == len(tables[1]) and all(map(np.array_equal, *tables))
