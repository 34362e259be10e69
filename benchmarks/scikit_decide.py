"""SARSOP beside the planner of that name in scikit-decide: bounds after equal time.

    python benchmarks/scikit_decide.py --peer PYTHON [SOURCE ...] [--seconds S]

PYTHON: a Python with scikit-decide. Its planner is in C++ and asks a domain in Python for
probabilities and rewards, which is how its users state a problem. The domain here answers from
lists. Both sides plan on one core, one after the other, until the bounds are 1e-3 apart or
the time is over; our kernels are compiled before. Seconds are those of planning, without reading.
No lower bound may exceed the other side's upper bound.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import rpsr
from rpsr import kernels

SOURCES = ("tiger", "paint", "4x3", "shuttle", "cheese", "4x4", "network", "hallway")
GAP = 1e-3  # the default of scikit-decide
AGREE = 1e-6  # its floats have no margin

PEER = """
import json, sys, time
from skdecide import DiscreteDistribution, Domain, EnumerableSpace, Value
from skdecide.builders.domain import (
    Actions, EnumerableTransitions, Markovian, PartiallyObservable, Rewards, Sequential,
    SingleAgent, UncertainInitialized,
)
from skdecide.hub.solver.sarsop import SARSOP

model = json.load(sys.stdin)
moves, emissions = [
    [[DiscreteDistribution([tuple(pair) for pair in row]) for row in rows] for rows in model[key]]
    for key in ("moves", "emissions")
]
values = [[Value(reward=reward) for reward in rewards] for rewards in model["rewards"]]


class Numbers(EnumerableSpace):
    def __init__(self, count):
        self.count = count

    def get_elements(self):
        return list(range(self.count))

    def contains(self, x):
        return 0 <= x < self.count


class POMDP(
    Domain, SingleAgent, Sequential, EnumerableTransitions, Actions, Markovian,
    PartiallyObservable, Rewards, UncertainInitialized,
):
    T_state = T_observation = T_event = int
    T_value = float

    def _get_initial_state_distribution_(self):
        return DiscreteDistribution([tuple(pair) for pair in model["start"]])

    def _get_next_state_distribution(self, memory, action):
        return moves[action][memory]

    def _get_observation_distribution(self, state, action=None):
        return emissions[0 if action is None else action][state]

    def _get_transition_value(self, memory, action, next_state=None):
        return values[memory][action]

    def _is_transition_value_dependent_on_next_state_(self):
        return False

    def _is_terminal(self, state):
        return False

    def _get_action_space_(self):
        return Numbers(len(moves))

    _get_applicable_actions_from = lambda self, memory: self._get_action_space_()

    def _get_observation_space_(self):
        return Numbers(model["observations"])


budget, gap = int(1000 * float(sys.argv[1])), float(sys.argv[2])
solver = SARSOP(POMDP, epsilon=gap, discount=model["discount"], time_budget=budget)
began = time.perf_counter()
solver.solve()
took = time.perf_counter() - began
print(json.dumps([solver.get_lower_bound(), solver.get_upper_bound(), took]))
"""

Answer = tuple[float, float, float]  # lower, upper, seconds


def ours(pomdp: rpsr.POMDP, seconds: float) -> Answer:
    began = time.perf_counter()
    plan = rpsr.solve(pomdp, "sarsop", epsilon=GAP, time_limit=seconds)
    return plan.lower, plan.upper, time.perf_counter() - began


def theirs(python: str, pomdp: rpsr.POMDP, seconds: float) -> Answer | str:
    """The answer of scikit-decide, or why there is none."""
    words = [python, "-c", PEER, f"{seconds:g}", f"{GAP:g}"]
    try:
        run = subprocess.run(
            words, input=document(pomdp), capture_output=True, text=True, timeout=3 * seconds + 60
        )
    except subprocess.TimeoutExpired:
        return "no answer in three times the time"
    lines = run.stdout.strip().splitlines()
    if run.returncode or not lines:
        return (run.stderr.strip().splitlines() or ["no answer"])[-1][:60]
    return tuple(json.loads(lines[-1]))


def document(pomdp: rpsr.POMDP) -> str:
    """The POMDP's nonzeros, as JSON."""
    return json.dumps(
        {
            "start": [(s, p) for s, p in enumerate(pomdp.start.tolist()) if p > 0],
            "moves": [rows(pomdp.transition(a)) for a in range(len(pomdp.actions))],
            "emissions": [rows(pomdp.emission(a)) for a in range(len(pomdp.actions))],
            "rewards": pomdp.R.tolist(),
            "observations": len(pomdp.observations),
            "discount": pomdp.discount,
        }
    )


def rows(matrix) -> list[list[tuple[int, float]]]:
    """For each row of a sparse matrix: pairs of a column and a probability."""
    matrix = matrix.tocsr()
    parts = zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
    return [
        list(zip(matrix.indices[i:j].tolist(), matrix.data[i:j].tolist(), strict=True))
        for i, j in parts
    ]


def shown(answer: Answer | str) -> str:
    if isinstance(answer, str):
        return answer.rjust(34)
    lower, upper, took = answer
    return f"[{lower:.5g}, {upper:.5g}]".rjust(26) + f"{took:8.2f}"


def verdict(mine: Answer, other: Answer | str) -> str:
    if isinstance(other, str):
        return ""
    if mine[0] > other[1] + AGREE or mine[1] < other[0] - AGREE:
        return "CONTRADICTION"
    if max(mine[1] - mine[0], other[1] - other[0]) <= GAP:
        return f"{other[2] / mine[2]:.3g} times faster"
    return f"gap {(mine[1] - mine[0]) / (other[1] - other[0]):.2g} of its gap"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="*", metavar="SOURCE", default=SOURCES)
    parser.add_argument("--peer", metavar="PYTHON", required=True, help="that has scikit-decide")
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    kernels.PATIENCE = 0.0
    ours(rpsr.load("hallway"), 2.0)
    print(f"{'':12} {'rpsr':>25} {'s':>8} {'scikit-decide':>25} {'s':>7}  ours")
    for source in given.sources:
        pomdp = rpsr.load(source)
        mine = ours(pomdp, given.seconds)
        other = theirs(given.peer, pomdp, given.seconds)
        row = f"{pomdp.name[:12]:12}{shown(mine)}{shown(other)}"
        print(f"{row}  {verdict(mine, other)}", flush=True)


if __name__ == "__main__":
    main()
