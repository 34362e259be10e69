"""The search for vectors: policy iteration on points alternates with branch and bound.

For the resulting proof see `infinite`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.models.rounding import weighted_mean
from rpsr.planning.corners.cheap_bounds import blind_values
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.corners.linear_programs import careful_gain, gain
from rpsr.planning.corners.moves import Moves, backups, excess, sweep
from rpsr.planning.corners.point_backups import backup_points, expand
from rpsr.planning.corners.pruning import Effort, program_operations
from rpsr.planning.exact import branch_and_bound, improvement, projections
from rpsr.planning.exact.faces import on_faces
from rpsr.planning.limits import Clock, LimitReached
from rpsr.planning.runner import Run
from rpsr.planning.solution import Solution, Status
from rpsr.planning.value.value_function import ValueFunction

REACHABLE = 30  # states reachable from the start, among the first witness points
APART = 1e-3  # in some coordinate: closer points count as one
TIE = 1e-14  # of the largest value: two vectors this close at a point are equal
SOLVED = 1e-12  # of the largest value: a program with bounds closer than this is solved
NUMBER = 8  # bytes
FEWEST_PIVOTS = 8  # of a program, each of the whole basis, between checks of the clock
MOST_NUMBERS = 2**24  # of the first witness points
MOST_OWNERS = 2**28  # numbers in the successors of a search's columns
FEW = 256  # observations: their square is small
NO_END = 2**62  # programs in a search: no limit
THIN = 0.02  # of the cutoff: the largest error by dropped projected vectors
LARGEST_SUM = 2_000  # vectors in a cross-sum that is formed before the search
SWEEPS = 300  # of the controller in a policy-iteration step
STEPS = 20  # policy-iteration steps between two passes, at most
BLIND_SHARE = 0.1  # of the time left, for the values of blind policies
THIN_OPERATIONS = 2e6  # over the square of a basis: the most programs of a filter


@dataclass
class Search:
    """A controller with values (K, k) at the corners, and witness points (P, k).

    faces: the corners of each part of the domain to search; initially, all corners.
    """

    process: CornerProcess
    clock: Clock
    controller: ValueFunction  # one attribute, so that Ctrl-C leaves it consistent
    points: Floats
    faces: list[Ints]
    blind: ValueFunction  # the blind policies that it started with
    effort: Effort = field(default_factory=Effort)
    hidden: float = 0.0  # the largest rounding error of the filters before a search

    @property
    def moves(self) -> Moves:
        """The process's arrays for the kernels."""
        return self.process.moves

    @property
    def values(self) -> Floats:
        """The vectors, at the corners."""
        return self.controller.vectors

    @property
    def choices(self) -> Ints:
        """The action and the successors of each vector."""
        return self.controller.choices

    @property
    def whole(self) -> bool:
        """Whether the search covers the whole domain."""
        return len(self.faces[0]) == self.process.k

    @property
    def _kept(self) -> int:
        """The count of stored numbers: vectors, choices and points."""
        return self.values.size + self.choices.size + self.points.size

    @property
    def scale(self) -> float:
        """A bound on the absolute values."""
        return self.process.largest_reward + float(max(self.values.max(), -self.values.min()))

    def improve(self, settled: float) -> None:
        """Policy-iteration steps until points gain little and vectors have converged."""
        for _ in range(STEPS):
            # Two new vectors per point beside the old ones; copies in two orders.
            most, width = 2 * len(self.points) + len(self.values), self.choices.shape[1]
            self.clock.claim(NUMBER * (self._kept + most * (3 * self.process.k + 2 * width)))
            self.controller, gain = improvement.improve(
                self.moves,
                self.controller,
                self.points,
                SWEEPS,
                0.1 * settled * (1 - self.process.discount),
                0.1 * settled,
                TIE * self.scale,
                self.clock,
            )
            if gain <= settled:
                break
        while self.excess > settled:
            improvement.evaluate_controller(
                self.moves, self.choices, self.values, SWEEPS, settled / 10, self.clock
            )

    def explore(self) -> None:
        """Add the witness points that are one step away under the best actions."""
        plans = improvement.plan_at(
            self.moves,
            self.values,
            self.points,
            np.full(len(self.points), -1),
            self.choices.shape[1],
            TIE * self.scale,
            self.clock,
        )
        self.points = expand(
            self.moves,
            self.points,
            plans[:, 0].copy(),
            self.process.observations,
            APART,
            len(self.points) + REACHABLE,
        )

    def narrow(self, faces: list[Ints]) -> None:
        """Restrict the search to these faces."""
        self.faces = faces
        self.points = self.points[on_faces(self.points, faces)]

    @property
    def excess(self) -> float:
        """The largest difference, a vector less its own backup, over all vectors and corners."""
        return excess(self.moves, self.choices, self.values)

    def from_below(self) -> tuple[float, float]:
        """The proven lower bound at the start, and delta.

        No vector exceeds its own backup by more than delta, rounding included.
        """
        delta = max(self.excess + self.process.rounding(self.scale), 0.0)
        value, off = self.process.value_at_start(self.values)
        return value - off - delta * self.process.ahead, delta

    def run(self, cutoff: float) -> tuple[int, float]:
        """One pass of branch and bound: (vectors added, residual proven, inf if abandoned)."""
        before, proven = len(self.values), -np.inf
        limit = before + max(30, before)
        for face in self.faces:
            for action in range(len(self.process.rewards)):
                proven = max(proven, self._search(face, action, cutoff, limit))
                if len(self.values) >= limit:
                    return len(self.values) - before, np.inf
        added = len(self.values) - before
        if added:
            v, solved = self.values.T, SOLVED * self.scale
            proven += self.process.discount * max(
                branch_and_bound.rise(np.ascontiguousarray(v[face]), before, solved, self.clock)
                for face in self.faces
            )
        return added, proven

    def _search(self, face: Ints, action: int, cutoff: float, limit: int) -> float:
        """Branch and bound for one action on one face, up to `limit` vectors; the residual."""
        process, count = self.process, len(self.values)
        seen, moves = self._shown(action)
        n_observations, scale = len(seen), self.scale
        projected = 2 * n_observations * count * (len(face) + 1)
        storage = limit * (process.k + 2 * len(face) + 2 * process.observations)
        sums = 2 * LARGEST_SUM * len(face)
        self.clock.claim(NUMBER * (self._kept + projected + sums + storage))
        self.clock.foresee(FEWEST_PIVOTS * (len(face) + 1.0) ** 2, "one linear program")
        v = np.ascontiguousarray(self.values.T)
        g, source, first = projections.project(moves, action, face, v, count, n_observations)
        owners = 2 * n_observations * g.shape[1]  # numbers: the successors of each column
        if owners > MOST_OWNERS:
            raise LimitReached(Status.SIZE)
        self.clock.claim(NUMBER * (self._kept + projected + sums + storage + owners))
        self.clock.foresee(0.5 * n_observations * n_observations * g.shape[1])
        # The rounding error of a filter's proofs grows with the distance of its vectors.
        high, low = (f.reduceat(g, first[:-1], axis=1) for f in (np.maximum, np.minimum))
        spread = float((high - low).max(axis=0).sum())
        solved = min(SOLVED * scale, 0.05 * cutoff)
        budget = int(THIN_OPERATIONS / (len(face) + 1) ** 2)
        g, source, first, programs = projections.thin(
            g, source, first, LARGEST_SUM, THIN * cutoff / (2 * n_observations), solved, budget
        )
        self.effort.programs += programs
        self.clock.check()
        groups, trees = len(first) - 1, 2 * g.shape[1] * (len(face) + 6)
        # One filter per observation, whose spreads add up, and at most as much for each sum. Its
        # proof is a mean of differences of at most len(face) + 1 vectors; their bound is rounded.
        hidden = weighted_mean(len(face) + 2) * spread * (1 + n_observations - groups)
        self.hidden = max(self.hidden, hidden)
        self.clock.claim(NUMBER * (self._kept + g.size + source.size + trees + storage))
        trees, roots, deepest = branch_and_bound.grow_trees(g, first)
        stack, depth = np.empty((deepest + 2, groups), dtype=np.int64), 1
        stack[0] = roots
        u = np.empty((len(face), limit))
        u[:, :count] = v[face]
        r = process.rewards[action, face]
        tuples = np.empty((limit, groups), dtype=np.int64)
        points = np.empty((limit, len(face)))
        collected = branch_and_bound.Found(u, tuples, points)
        tie = min(TIE * scale, 1e-3 * cutoff / groups)
        wanted = branch_and_bound.Wanted(cutoff, cutoff - 2 * solved, solved, tie)
        size, bound = count, -np.inf
        for part in self.clock.parts(NO_END, program_operations(len(face), count)):
            why, size, depth, programs, proven = branch_and_bound.search(
                collected, size, r, trees, stack, depth, wanted, part.stop - part.start
            )
            self.effort.programs += programs
            bound = max(bound, proven)
            if why == branch_and_bound.STUCK:
                self.effort.undecided += 1
                w = r + trees.maxima[stack[depth - 1]].sum(axis=0)
                careful = careful_gain(u[:, :size].T, w)
                if careful.upper <= cutoff:
                    bound = max(bound, careful.upper)
                elif size == limit:
                    break
                else:  # undecided: an additional vector does no harm
                    tuples[size] = trees.child[stack[depth - 1], 1]
                    u[:, size], points[size] = w, careful.point
                    size, bound = size + 1, max(bound, 0.0)
                depth -= 1
            elif why != branch_and_bound.PAUSED:
                break
        if size > count:
            successors = np.zeros((size - count, process.observations), dtype=np.int64)
            successors[:, seen] = source[tuples[count:size]].max(axis=1)  # of the group that has it
            self._adopt(face, action, successors, points[count:size])
        return bound + THIN * cutoff + hidden

    def _shown(self, action: int) -> tuple[Ints, Moves]:
        """The observations to consider after an action, and the moves renumbered for them.

        If there are many, only the possible ones. A few impossible ones cost little.
        """
        moves, k, everything = self.moves, self.process.k, np.arange(self.process.observations)
        if len(everything) <= FEW:
            return everything, moves
        rows = slice(moves.indptr[action * k], moves.indptr[(action + 1) * k])
        seen = np.unique(moves.observation[rows])
        if not len(seen):  # with discount 0 the next steps do not count
            return everything[:1], moves
        return seen, moves._replace(observation=np.searchsorted(seen, moves.observation))

    def solution(
        self, run: Run, status: Status, proven: float, upper: float, iterations: int
    ) -> Solution:
        """The vectors and their proven bounds; if solved, with a Bellman residual.

        A stopped search may have a lower bound below the best blind policy: then it is evaluated
        further, and the blind policies are added.
        """
        process, solved = self.process, status.certified
        ends = self if solved or self.beats_blind else self._with_blind()
        lifted, value = process.lifted(ends.controller), process.value_at_start(ends.values)[0]
        return run.solution(
            status,
            lifted if self.whole else replace(lifted, ahead=process.model),
            (max(ends.from_below()[0], min(self.least, value)), upper),
            value=value,
            iterations=iterations,
            residual=proven if solved else None,
            epsilon=proven * process.ahead if solved else None,
            programs=self.effort.programs,
            undecided=self.effort.undecided,
            faces=None if self.whole else [face.tolist() for face in self.faces],
        )

    @property
    def least(self) -> float:
        """The proven value at the start of the best blind policy."""
        value, off = self.process.value_at_start(self.blind.vectors)
        return value - off

    @property
    def beats_blind(self) -> bool:
        """Whether the value at the start is `least` or more, and proven except for rounding."""
        least, rounding = self.least, self.process.rounding(self.scale) * self.process.ahead
        proven = self.from_below()[0] >= least - 2 * rounding
        return proven and self.process.value_at_start(self.values)[0] >= least

    def _with_blind(self) -> Search:
        """A copy with blind policies added, and vectors swept until none exceeds its value.

        Blind policies follow themselves with exact values, so they are not swept.
        """
        values, count = self.values.copy(), len(self.values)
        sweep(self.moves, self.choices, values, SWEEPS, 0.0)
        over = max(excess(self.moves, self.choices, values), 0.0) * self.process.ahead
        choices = self.blind.choices.copy()
        choices[:, 1:] += count
        joined = ValueFunction.of(
            np.vstack([values - over, self.blind.vectors]), np.vstack([self.choices, choices])
        )
        return replace(self, controller=joined)

    def look_ahead(self) -> None:
        """Add the backup at the start, which may be outside all faces."""
        start, width = self.process.start[None], self.choices.shape[1]
        plan = backup_points(
            self.moves, self.values, start, np.array([-1]), width, TIE * self.scale
        )
        self._append(plan)

    def _adopt(self, face: Ints, action: int, successors: Ints, points: Floats) -> None:
        """Add the vectors of a search, and the points where they were found."""
        full = np.zeros((len(points), self.process.k))
        full[:, face] = points
        self.points = np.vstack([self.points, full])
        self._append(np.insert(successors, 0, action, axis=1))

    def _append(self, choices: Ints) -> None:
        values = backups(self.moves, choices, self.values)
        self.controller = ValueFunction.of(
            np.vstack([self.values, values]), np.vstack([self.choices, choices])
        )


def begin(process: CornerProcess, clock: Clock) -> Search:
    """Blind policies, each taking one action at every step, and the first witness points.

    The points are the corners (if there are many, only the most probable) and the first states
    reachable from the start.
    """
    values = blind_values(process, clock.share(BLIND_SHARE))
    anything, observations = np.array([-1]), process.observations
    start = process.start[None]
    reached = expand(process.moves, start, anything, observations, APART, REACHABLE)
    corners = np.argsort(-reached.sum(axis=0), kind="stable")[: MOST_NUMBERS // process.k]
    points = np.vstack([np.eye(1, process.k, s) for s in np.sort(corners)] + [reached])
    blind = ValueFunction.repeating(values, np.arange(len(values)), observations)
    return Search(process, clock, blind, points, [np.arange(process.k)], blind)


def resume_from(search: Search, earlier: ValueFunction) -> None:
    """Add vectors of an earlier search, each with a point where it is best, if there is one.

    They need not be trusted: the sweeps and both certificates check them.
    """
    values, choices = search.process.at_corners(earlier.vectors), earlier.choices.copy()
    choices[:, 1:] += len(search.values)
    search.controller = ValueFunction.of(
        np.vstack([search.values, values]), np.vstack([search.choices, choices])
    )
    points: list[Floats] = []
    for i, vector in enumerate(values):
        if len(values) > 1:
            points.append(gain(np.delete(values, i, axis=0), vector).point)
        search.clock.check()
    search.points = np.vstack([search.points, *points])
