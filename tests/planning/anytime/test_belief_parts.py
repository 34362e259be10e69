"""Parts that beliefs lie in, and searches whose vectors live on one part each."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from rpsr import rpsr, verify
from rpsr.domains import build
from rpsr.models.as_model import as_linear
from rpsr.models.pomdp import POMDP
from rpsr.planning.anytime import belief_parts
from rpsr.planning.anytime.belief_parts import BEGIN, CENTRE, END, find_parts, members
from rpsr.planning.anytime.planners import HSVI, SARSOP
from rpsr.planning.anytime.schedule import Schedule
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.corners.proven_worth import worth_at_start
from rpsr.planning.files.checkpoint import Checkpoint
from rpsr.planning.files.policies import load_policy, save_policy
from rpsr.planning.limits import Clock, no_limits
from rpsr.planning.solution import silent
from rpsr.planning.value.controllers import extract_controller
from rpsr.planning.value.value_function import PartialValueFunction


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use parts wherever there are several."""
    monkeypatch.setattr(belief_parts, "FEWEST_CORNERS", 0)
    monkeypatch.setattr(belief_parts, "WORTHWHILE", 1.0)


def finest(pomdp: POMDP) -> list[set[int]]:
    """The finest parts, by merging sets until every step from a set leads into one set."""
    model = as_linear(pomdp)
    steps = {
        (a, o): model.operators.left(np.eye(model.dimension), a, o) > 0
        for a, o in product(range(len(model.actions)), range(len(model.observations)))
    }
    parts = [{s} for s in range(model.dimension)]
    supports = [set(np.flatnonzero(model.start).tolist())]
    while True:
        joined = None
        for part, moves in product(parts + supports, steps.values()):
            after = set(np.flatnonzero(moves[sorted(part)].any(axis=0)).tolist())
            touched = [other for other in parts if other & after]
            if len(touched) > 1:
                joined = touched
                break
        if joined is None:
            return parts
        parts = [part for part in parts if part not in joined] + [set().union(*joined)]


@pytest.mark.parametrize("name", ["rock-sample:n=2,k=2", "rock-sample:n=3,k=1", "4x3", "tiger"])
def test_parts_are_the_finest_that_every_step_keeps(name: str, always: None) -> None:
    pomdp = build(name)
    parts = find_parts(corner_process(as_linear(pomdp)), no_limits())
    members = {
        frozenset(parts.member[begin:end].tolist())
        for begin, end in parts.part[:, [BEGIN, END]].tolist()
        if begin < len(parts.of)  # else the support of the start
    }
    assert members == {frozenset(part) for part in finest(pomdp)}


def test_the_cells_of_rock_sample_are_parts_and_hallways_are_whole() -> None:
    rocks = find_parts(corner_process(as_linear(build("rock-sample:n=5,k=5"))), no_limits())
    assert sorted((rocks.part[:, END] - rocks.part[:, BEGIN]).tolist()) == [1] + 25 * [32]
    hallway = find_parts(corner_process(as_linear(build("hallway"))), no_limits())
    assert len(hallway.part) == 1


def test_parts_are_left_out_where_they_do_not_pay(
    always: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pomdp = build("rock-sample:n=2,k=2")
    process = corner_process(as_linear(pomdp))
    assert len(find_parts(process, no_limits()).part) == 5
    assert len(find_parts(process, Clock(silent, memory_limit=1000)).part) == 1
    assert len(find_parts(corner_process(rpsr(pomdp)), no_limits()).part) == 1
    for name in ("MOST_PARTS", "TABLE"):
        with monkeypatch.context() as changed:
            changed.setattr(belief_parts, name, 4)
            assert len(find_parts(process, no_limits()).part) == 1


@pytest.mark.parametrize("planner", [SARSOP, HSVI])
@pytest.mark.parametrize("name", ["rock-sample:n=2,k=2", "4x3"])
def test_bounds_by_parts_hold_and_agree_with_those_without(
    name: str, planner: type[SARSOP] | type[HSVI], monkeypatch: pytest.MonkeyPatch
) -> None:
    pomdp, trials = build(name), 30
    plain = planner(max_iterations=trials).solve(pomdp)
    monkeypatch.setattr(belief_parts, "FEWEST_CORNERS", 0)
    monkeypatch.setattr(belief_parts, "WORTHWHILE", 1.0)
    process = corner_process(as_linear(pomdp))
    assert len(find_parts(process, no_limits()).part) > 1
    plan = planner(max_iterations=trials).solve(pomdp)
    assert plan.upper is not None
    assert plain.upper is not None
    # Both pairs of bounds contain the optimal value.
    assert plan.lower <= plain.upper
    assert plain.lower <= plan.upper
    assert plan.upper - plan.lower < 0.2 * abs(plan.value)
    # The plan is a controller worth its lower bound, by its own equations and by an exact system.
    first = int((plan.vectors @ plan.model.start).argmax())
    choices = plan.value_function.choices
    assert worth_at_start(process, plan.vectors, choices, first) >= plan.lower - 1e-9
    assert extract_controller(plan).value(pomdp) >= plan.lower - 1e-9


@pytest.mark.parametrize("name", ["rock-sample:n=2,k=2", "4x3"])
def test_a_search_by_parts_continues_from_an_earlier_one(name: str, always: None) -> None:
    pomdp = build(name)
    first = SARSOP(max_iterations=8).solve(pomdp)
    begun = Checkpoint("sarsop", first.value_function, first.lower, first.upper, 8, 0.0)
    again = SARSOP(max_iterations=1).resume(pomdp, None, begun)
    assert again.lower >= first.lower - 1e-9
    assert extract_controller(again).value(pomdp) >= again.lower - 1e-9


def test_partial_vectors_are_a_value_function_like_any_other(always: None, tmp_path: Path) -> None:
    pomdp = build("rock-sample:n=2,k=2")
    plan = SARSOP(max_iterations=5, keep_points=True).solve(pomdp)
    values, start = plan.value_function, plan.model.start
    assert isinstance(values, PartialValueFunction)
    size, largest = values.nbytes, values.largest  # before all numbers are computed
    copy = replace(values, vectors=2 * values.vectors)
    assert (largest, copy.largest) == (np.abs(values.vectors).max(), 2 * largest)
    assert size < copy.nbytes
    assert copy.at(start[None])[0] == pytest.approx(2 * plan.value)
    assert plan.policy().act() in range(len(pomdp.actions))
    proof = plan.certificate()
    proof.save(tmp_path / "proof.json")
    assert verify(pomdp, tmp_path / "proof.json").lower == Fraction(proof.lower)
    save_policy(plan, tmp_path / "plan.npz")
    stored = load_policy(tmp_path / "plan.npz", pomdp)
    assert (stored.vectors == plan.vectors).all()


def test_a_search_begins_with_every_first_policy_in_every_part(
    always: None,
) -> None:
    """Values are the policy's at the part's corners; successors are in the part that follows."""
    process = corner_process(as_linear(build("rock-sample:n=2,k=2")))
    search = Schedule(process, no_limits(), 1e-3, selective=True, seed=0)
    vectors, policies = search.state.vectors, search.begun.policies
    parts = vectors.parts
    count = len(policies)
    assert search.state.graph.counts["vectors"] >= count * len(parts.part)
    for c in range(len(parts.part)):
        where = members(parts, c)
        for p in range(count):
            v = c * count + p
            at = vectors.first[v]
            np.testing.assert_array_equal(
                vectors.values[at : at + len(where)], policies.vectors[p, where]
            )
            action, *following = vectors.choice[v].tolist()
            assert action == policies.actions[p]
            for o, then in enumerate(parts.after[c, action].tolist()):
                expected = v if then < 0 else then * count + policies.successors[p, o]
                assert following[o] == expected
        belief = search.state.graph.node[parts.part[c, CENTRE]]
        assert belief["length"] == len(where) or c + 1 == len(parts.part)
