"""`check_planner` and `check_policy` pass for what is sound and name what is not."""

from dataclasses import dataclass, fields, replace

import numpy as np
import pytest

from rpsr.domains import build
from rpsr.planning.conformance import _check_solution
from rpsr.planning.exact.value_iteration import ValueIteration
from rpsr.planning.planners import PLANNER_NAMES, planner_by_name, solve
from rpsr.planning.reachable.planner import Reachable
from rpsr.planning.solution import ProgressRow, Solution
from rpsr.planning.value.policies import AlphaPolicy, Policy, UniformPolicy
from rpsr.testing import check_planner, check_policy


@pytest.mark.parametrize("name", PLANNER_NAMES)
def test_every_planner_passes(name):
    few = {"max_iterations": 500} if name == "q-learning" else {}
    check_planner(planner_by_name(name, **few))


def test_a_planner_with_a_coarse_precision_passes():
    check_planner(ValueIteration(epsilon=2.0))


# ---- planners that break one law each


@dataclass(frozen=True)
class Broken:
    """A sound planner whose solutions are changed."""

    changes: tuple[tuple[str, object], ...] = ()
    refuses: bool = True
    name: str = "broken"

    def solve(self, model, progress):
        discounted = model if self.refuses else model.with_discount(min(model.discount, 0.9))
        solution = Reachable().solve(discounted, progress)
        given = {key: make(solution) for key, make in self.changes}
        arrays = {
            key: given.pop(key) for key in ("vectors", "actions", "successors") if key in given
        }
        function = replace(solution.value_function, **arrays)
        return replace(solution, value_function=function, **given)


def shifted(by):
    return lambda solution: solution.value + by


BROKEN = {
    "a low upper bound": ({"upper": shifted(-1e-3)}, "is above the upper bound"),
    "both bounds low": (
        {"upper": shifted(-1e-3), "lower": shifted(-2e-3), "value": shifted(-1e-3)},
        "the upper bound 24.99",
    ),
    "both bounds high": (
        {"upper": shifted(2e-3), "lower": shifted(1e-3), "value": shifted(1e-3)},
        "the lower bound 25.00",
    ),
    "a value below its bound": ({"value": shifted(-1e-3)}, "is below the lower bound"),
    "a wrong value": ({"value": shifted(1e-3)}, ", but the value 25.001"),
    "no vectors": ({"vectors": lambda s: s.vectors[:0]}, "vectors: read shape"),
    "vectors of another size": ({"vectors": lambda s: np.ones((1, 7))}, "vectors: read shape"),
    "no number": ({"vectors": lambda s: s.vectors * np.nan}, "vectors: a number is not finite"),
    "too many actions": (
        {"actions": lambda s: np.zeros(9, dtype=int)},
        "actions: read shape (9,), expected (1,)",
    ),
    "an unknown action": (
        {"actions": lambda s: s.actions + 7},
        "actions: expected indices of actions",
    ),
    "successors of another shape": (
        {"successors": lambda s: s.successors[:, :0]},
        "successors: read shape",
    ),
    "time that runs backwards": ({"seconds": lambda s: -1.0}, "seconds or iterations are negative"),
    "a policy that is worth less": (
        {"vectors": lambda s: -s.vectors * [[-1.0]] if s.model.dimension == 1 else -s.vectors},
        "the policy's value",
    ),
}


@pytest.mark.parametrize(("changes", "law"), BROKEN.values(), ids=BROKEN)
def test_a_broken_planner_is_named(changes, law):
    with pytest.raises(AssertionError) as caught:
        check_planner(Broken(tuple(changes.items())))
    assert law in str(caught.value)


def test_a_plan_whose_policy_takes_the_lowest_of_almost_equal_actions_is_named():
    class Tied(Solution):
        def policy(self):
            return AlphaPolicy(self.model, self.vectors, 5.0, ties=True)

    @dataclass(frozen=True)
    class Ties:
        name: str = "ties"

        def solve(self, model, progress):
            plan = Reachable().solve(model, progress)
            return Tied(**{field.name: getattr(plan, field.name) for field in fields(plan)})

    with pytest.raises(AssertionError, match="the policy's value"):
        check_planner(Ties())


def test_a_planner_that_accepts_discount_one_is_named():
    with pytest.raises(AssertionError, match="the planner accepted discount 1"):
        check_planner(Broken(refuses=False))


def test_a_planner_that_is_no_frozen_dataclass_is_named():
    class Loose:
        name = "loose"

    with pytest.raises(AssertionError, match="a dataclass of hyper-parameters"):
        check_planner(Loose())

    @dataclass
    class Melting:
        name: str = "melting"

    with pytest.raises(AssertionError, match="expected a planner that is a frozen dataclass"):
        check_planner(Melting())


def test_progress_that_goes_back_is_named():
    @dataclass(frozen=True)
    class Backwards:
        name: str = "backwards"

        def solve(self, model, progress):
            progress(ProgressRow(1e9, 0))
            return Reachable().solve(model, progress)

    with pytest.raises(AssertionError, match="progress rows are not in order of time"):
        check_planner(Backwards())


def test_a_horizon_that_is_not_summed_is_named():
    @dataclass(frozen=True)
    class Short:
        horizon: int | None = None
        name: str = "short"

        def solve(self, model, progress):
            steps = None if self.horizon is None else self.horizon - 1
            return Reachable(horizon=steps).solve(model, progress)

    with pytest.raises(
        AssertionError, match=r"4 steps with reward 2\.5: read value .*, expected 10"
    ):
        check_planner(Short())


# ---- policies that break one law each

TIGER = build("tiger").belief_model()


def alpha():
    return AlphaPolicy.of(solve(TIGER, Reachable()))


class Wrapped(Policy):
    """A sound policy, to be broken."""

    def __init__(self):
        self.inner = alpha()
        self.asked = 0

    @property
    def memory(self):
        return self.inner.memory

    def reset(self):
        self.inner.reset()

    def act(self):
        return self.inner.act()

    def update(self, action, observation):
        self.inner = self.inner.copy()
        self.inner.update(action, observation)


class Outside(Wrapped):
    def act(self):
        return 3


class Fickle(Wrapped):
    def act(self):
        self.asked += 1
        return self.asked % 3


class Stubborn(Wrapped):
    def reset(self):
        self.asked = 0 if self.asked == 0 else self.asked

    def act(self):
        return 0 if self.asked == 0 else 1

    def update(self, action, observation):
        super().update(action, observation)
        self.asked += 1


class Shared(Wrapped):
    def update(self, action, observation):
        self.inner.update(action, observation)  # a copy shares the inner policy


class Growing(Wrapped):
    @property
    def memory(self):
        return np.zeros(self.asked + 1)

    def update(self, action, observation):
        super().update(action, observation)
        self.asked += 1


class Deaf(Wrapped):
    def update(self, action, observation):
        super().update(action, 0 if observation == 2 else observation)


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        (Outside, "history 0, step 0: `act` gave 3, expected an index of an action"),
        (Fickle, "after `reset`, `act` gives another|a second `act` gave another action"),
        (Stubborn, "after `reset`, `act` gives another first action"),
        (Shared, "`update` of a copy changed the original policy"),
        (Growing, "the length of `memory` changed"),
        (Deaf, "accepted the index of an observation that does not exist"),
    ],
)
def test_a_broken_policy_is_named(kind, law):
    with pytest.raises(AssertionError, match=law):
        check_policy(kind(), TIGER)


def test_sound_policies_pass():
    check_policy(Wrapped(), TIGER)
    check_policy(alpha(), TIGER)
    check_policy(UniformPolicy(TIGER, np.random.default_rng(0)), TIGER, deterministic=False)


def test_a_policy_is_checked_along_observations_that_can_occur():
    pomdp = build("loadunload")
    met = []

    class Watched(AlphaPolicy):
        def update(self, action, observation):
            super().update(action, observation)
            met.append(observation)

    plan = solve(pomdp, Reachable())
    check_policy(Watched(plan.model, plan.vectors), pomdp)
    assert len(met) >= 100


def test_a_solution_without_an_upper_bound_is_sound():
    plan = replace(solve(build("tiger"), Reachable()), upper=None)
    _check_solution(plan, "tiger")
    with pytest.raises(AssertionError, match="below the lower bound"):
        _check_solution(replace(plan, lower=plan.value + 1), "tiger")
