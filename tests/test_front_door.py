"""The whole library from `import rpsr`: what the first page of a tutorial would show."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rpsr

DOOR = """
import rpsr

tiger = rpsr.load("tiger")
plan = rpsr.solve(tiger, "sarsop", time_limit=10)
plan.value, plan.lower, plan.upper, plan.status
policy = plan.policy()
episodes = rpsr.simulate(tiger, policy, episodes=1000, steps=100, seed=0)
table = rpsr.evaluate(tiger, [policy, "uniform"])
rpsr.planning.SARSOP, rpsr.learning.EMRPSR
"""
HEAVY = ("numpy", "scipy", "numba", "matplotlib", "highspy", "pyarrow")


def test_the_front_door_opens_as_it_is_written():
    house: dict[str, object] = {}
    exec(compile(DOOR, "the front door", "exec"), house)
    plan, episodes, table = house["plan"], house["episodes"], house["table"]
    assert isinstance(plan, rpsr.Solution)
    assert plan.lower <= 19.37136836 <= plan.upper
    assert (episodes.episodes, len(episodes.actions)) == (1000, 100_000)
    assert {(row.policy, row.model) for row in table} == {
        (policy, model)
        for policy in ("AlphaPolicy", "uniform")
        for model in ("pomdp", "psr", "rpsr")
    }
    assert issubclass(rpsr.learning.EMRPSR, rpsr.learning.Estimator)


def test_learn_takes_a_log_or_the_name_of_its_file(tmp_path: Path):
    log = rpsr.simulate(rpsr.load("tiger"), "uniform", episodes=40, steps=10, seed=0, rewards=True)
    rpsr.logs.write_logs(log, tmp_path / "log.jsonl")
    options = {"discount": 0.95, "rank": 2, "seed": 1}
    by_log = rpsr.learn("em", log, **options)
    assert isinstance(by_log, rpsr.learning.Learned)
    assert (by_log.episodes, by_log.steps) == (40, 400)
    by_path = rpsr.learn("em", tmp_path / "log.jsonl", **options)
    assert by_path.heldout.loglik == pytest.approx(by_log.heldout.loglik, rel=1e-9)
    np.testing.assert_allclose(by_path.model.rewards, by_log.model.rewards, rtol=1e-9)


def test_a_policy_acts_is_told_begins_again_and_is_copied():
    tiger = rpsr.load("tiger")
    policy = rpsr.solve(tiger, "vi").policy()
    listen = tiger.actions.index("listen")
    assert policy.act() == listen
    for _ in range(2):
        policy.update("listen", "tiger-left")
    twin = policy.copy()
    twin.update("listen", "tiger-right")
    assert policy.act() == tiger.actions.index("open-right")
    assert twin.act() == listen
    policy.reset()
    assert policy.act() == listen


def test_the_door_is_light():
    """Nothing is imported before it is used."""
    said = subprocess.run(
        [sys.executable, "-c", "import sys, rpsr; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert {name.partition(".")[0] for name in said}.isdisjoint(HEAVY)
    assert {name for name in said if name.startswith("rpsr")} == {"rpsr", "rpsr._version"}


@pytest.mark.parametrize("name", rpsr.__all__)
def test_every_name_leads_somewhere(name: str):
    assert getattr(rpsr, name) is not None
