"""The steps that a limit leaves unplanned: the plan goes on, within the memory limit."""

import tracemalloc

import numpy as np
import pytest
from tests.planning.plans import ignore

from rpsr import POMDP
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.limits import Clock
from rpsr.planning.rest_of_horizon import completed
from rpsr.planning.value.trees import PolicyTree
from rpsr.planning.value.value_function import ValueFunction

HORIZON, TREES, PLANNED = 8, 3000, 5
# Two states take turns, and naming the current one earns 1: better than any single action.
TURNS, NOTHING = [[[0, 1], [1, 0]]] * 2, [[[0.5, 0.5]] * 2] * 2
NAMED = POMDP.from_arrays(TURNS, NOTHING, [[1, -1], [-1, 1]], start=[0, 1], discount="0.95")
PROCESS = corner_process(NAMED.belief_model())


def layers():
    """Random trees with their values: more of them than any planner would keep."""
    rng, stages = np.random.default_rng(0), []
    after = np.zeros((1, 2))
    for step in range(PLANNED):
        actions = rng.integers(2, size=TREES)
        successors = rng.integers(len(after), size=(TREES, 2)) if step else np.full((TREES, 2), -1)
        values = PROCESS.rewards[actions].copy()
        for i, (a, follow) in enumerate(zip(actions, np.maximum(successors, 0), strict=True)):
            for o in range(2):
                values[i] += 0.95 * PROCESS.model.operators.matrix(a, o) @ after[follow[o]]
        stages.append(ValueFunction(values, actions, successors))
        after = values
    return stages


@pytest.mark.parametrize(("kept", "spare"), [(0, 1), (1, 1), (3, 1), (PLANNED, 1), (1, 5)])
def test_planned_layers_are_evaluated_only_where_memory_allows(kept, spare):
    planned = layers()
    held = sum(stage.nbytes for stage in planned)
    # Of a layer: 2 values, 2 vectors, 2 successors; spare: too little for one more.
    room = 8 * TREES * (6 * kept + 3) + 8 * TREES * spare
    clock = Clock(ignore, memory_limit=held + room, held=held)
    completed(PROCESS, planned[:1], HORIZON, 1e-9, clock)  # kernels are loaded, caches filled
    tracemalloc.start()
    stages, value, lower = completed(PROCESS, planned, HORIZON, 1e-9, clock)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < room
    assert [len(stage) for stage in stages] == [1] * (HORIZON - kept) + [TREES] * kept
    names = PROCESS.model.actions, PROCESS.model.observations
    every = tuple((stage.actions, stage.successors) for stage in stages)
    root = int((stages[-1].vectors @ PROCESS.model.start).argmax())
    worth = PolicyTree(*names, every, root).value(PROCESS.model)
    assert lower <= worth == pytest.approx(value, abs=1e-9)
