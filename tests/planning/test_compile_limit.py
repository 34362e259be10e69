"""Where kernels are missing when the time is over, planners answer with bounds that hold.

The compiler is a fake: the first calls of kernels find them ready, later ones find no time left.
"""

from __future__ import annotations

import pytest

import rpsr
from rpsr import kernels
from rpsr.compile_limit import NotCompiled, current_cutoff
from rpsr.planning.limits import Clock, LimitReached, no_cutoff
from rpsr.planning.solution import Status

TIGER, DIGITS = 19.371368374, 1e-9  # the optimal value at the start, and its last digit
READY = (0, 1, 2, 3, 5, 8, 13, 30, 80)


@pytest.fixture
def compiler(monkeypatch):
    """Only the first calls find their kernel ready; the calls that would have compiled late."""

    class Compiler:
        ready, cut, late = 0, False, list[str]()

    fake = Compiler()

    def call(kernel, *arguments):
        if fake.ready > 0:
            fake.ready -= 1
        elif current_cutoff() is not None:
            fake.cut = True
            raise NotCompiled
        elif fake.cut:
            fake.late.append(kernel.__name__)
        return kernel._interpreted(*arguments)

    monkeypatch.setattr(kernels, "PATIENCE", 0.0)
    monkeypatch.setattr(kernels.Kernel, "_compiled", call)
    return fake


PLANNERS = ("auto", "sarsop", "hsvi", "vi", "enumeration", "policy-iteration", "pbvi", "qmdp")
PLANNERS += ("fib", "reachable", "perseus", "q-learning")


@pytest.mark.parametrize("ready", READY)
@pytest.mark.parametrize("planner", PLANNERS)
def test_planners_answer_without_further_kernels(compiler, planner, ready):
    compiler.ready, options = ready, {"max_iterations": 3}
    if planner in ("qmdp", "fib", "reachable"):
        options = {}
    plan = rpsr.solve(rpsr.load("tiger"), planner, time_limit=1000.0, **options)
    assert plan.lower <= TIGER + DIGITS
    assert plan.upper is None or plan.upper >= TIGER - DIGITS
    assert plan.compiled is not compiler.cut
    if compiler.cut:
        assert plan.status is Status.TIME
    assert compiler.late == []
    assert plan.policy().act() in range(3)


@pytest.mark.parametrize("ready", READY)
def test_a_horizon_is_planned_without_further_kernels(compiler, ready):
    compiler.ready = 10**6
    exact = rpsr.solve(rpsr.load("tiger"), "vi", horizon=6)
    compiler.ready = ready
    plan = rpsr.solve(rpsr.load("tiger"), "vi", horizon=6, time_limit=1000.0)
    assert plan.lower <= exact.value + 1e-9
    assert plan.upper >= exact.value - 1e-9
    assert compiler.late == []
    assert len(plan.stages) == 6


@pytest.mark.parametrize("ready", READY)
@pytest.mark.parametrize("planner", ["auto", "sarsop", "hsvi"])
def test_goals_are_planned_without_further_kernels(compiler, planner, ready):
    compiler.ready, goal = ready, rpsr.reach("column-3-row-2")
    plan = rpsr.solve(
        rpsr.load("4x3"), planner, objective=goal, time_limit=1000.0, max_iterations=3
    )
    assert plan.lower <= 1 <= plan.upper  # it can be reached for certain
    assert plan.compiled is not compiler.cut
    assert compiler.late == []


def test_a_cut_compilation_counts_in_the_limit_only():
    clock = Clock(lambda row: None, time_limit=1000.0)
    part = clock.share(0.5)
    assert clock.cutoff is part.cutoff
    assert not part.over
    clock.cutoff.end -= 2000.0  # as if compiling had taken that long
    assert clock.seconds < 500.0
    assert clock.over
    assert part.over
    with pytest.raises(LimitReached):
        part.check()
    assert not clock.with_a_part().over
    assert not Clock(lambda row: None, time_limit=1000.0, cutoff=no_cutoff()).over


def test_ctrl_c_leaves_no_time_for_compiling(monkeypatch, compiler):
    """The search is interrupted; what it has found needs no kernel that is missing."""
    from rpsr.planning.anytime.schedule import Schedule

    def interrupted(self):
        compiler.ready = 0
        raise KeyboardInterrupt

    compiler.ready = 10**6
    monkeypatch.setattr(Schedule, "back_up", interrupted)
    plan = rpsr.solve(rpsr.load("tiger"), "sarsop")
    assert plan.status is Status.INTERRUPTED
    assert plan.lower <= TIGER <= plan.upper
    assert compiler.late == []
