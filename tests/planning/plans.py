"""What tests of planners share: progress that nobody watches, and planning in one line."""

from functools import cache

from rpsr.domains import build
from rpsr.planning.exact.value_iteration import ValueIteration
from rpsr.planning.planners import solve
from rpsr.planning.reachable.planner import Reachable
from rpsr.predictive import psr, rpsr

PARR = build("parr").belief_model()


def ignore(row):
    """No progress."""


def vi(model, **options):
    """Exact value iteration."""
    return ValueIteration(**options).solve(model, ignore)


@cache
def solved(name, kind="belief"):
    """A built-in domain's plan by planner `reachable`, made once."""
    pomdp = build(name)
    make = {"belief": pomdp.belief_model, "rpsr": lambda: rpsr(pomdp), "psr": lambda: psr(pomdp)}
    return solve(make[kind](), Reachable())
