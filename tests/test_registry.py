"""Planners, estimators and domains of other packages are found by name through entry points."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import rpsr
from rpsr.errors import InputError
from rpsr.planning.planners import PLANNERS, planner_options
from rpsr.registry import MOST_COMPARED, did_you_mean
from rpsr.testing import check_domain, check_estimator, check_planner

MODULE = '''
from dataclasses import dataclass, field
from fractions import Fraction

from rpsr.domains import tabulate
from rpsr.learning import Estimator, LastKTable
from rpsr.planning import ValueIteration


@dataclass(frozen=True)
class Careful:
    """Plan as `vi` does, to a tenth of epsilon."""

    epsilon: float = 1e-6
    time_limit: float | None = None

    @property
    def name(self):
        return "careful"

    def solve(self, model, progress):
        return ValueIteration(epsilon=self.epsilon / 10).solve(model, progress)


@dataclass
class Memoryless(Estimator):
    """The table of the last pair."""

    rank: int | str = "auto"
    discount: float | None = None
    table_: LastKTable = field(init=False, repr=False)

    def learn(self, log):
        self.table_ = LastKTable(k=1, discount=self.discount).fit(log)
        self.fitted_ = self.model_ = self.table_.model_
        self.caution_ = self.table_.caution_

    def findings(self):
        return self.table_.findings()


def coin(heads: Fraction = Fraction(1, 2)):
    """A coin: guess its side."""
    return tabulate(
        name="coin",
        states=("heads", "tails"),
        actions=("say heads", "say tails"),
        observations=("nothing",),
        start={"heads": heads, "tails": 1 - heads},
        transition=lambda state, action: {state: 1},
        emission=lambda action, state: {"nothing": 1},
        reward=lambda state, action, after, seen: int(action == f"say {state}"),
        discount=Fraction(1, 2),
    )
'''
ENTRY_POINTS = """
[rpsr.planners]
careful = guest_package:Careful
broken = guest_package:NotThere
vi = guest_package:Careful

[rpsr.estimators]
memoryless = guest_package:Memoryless

[rpsr.domains]
coin = guest_package:coin
"""


@pytest.fixture
def guest(tmp_path, monkeypatch):
    """A package of somebody else's, installed."""
    (tmp_path / "guest_package.py").write_text(MODULE, encoding="utf-8")
    info = tmp_path / "guest_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: guest-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    yield tmp_path
    sys.modules.pop("guest_package", None)


def test_a_planner_of_another_package(guest):
    plan = rpsr.solve(rpsr.load("tiger"), "careful", epsilon=1e-3)
    assert plan.upper - plan.lower <= 1e-3
    assert plan.lower <= 19.371368374 <= plan.upper
    assert "careful" in PLANNERS.names()
    assert planner_options("careful") == ("epsilon", "time_limit")
    check_planner(PLANNERS.get("careful")())


def test_a_name_of_ours_cannot_be_taken(guest):
    assert PLANNERS.get("vi") is rpsr.ValueIteration
    assert PLANNERS.names().count("vi") == 1


def test_what_cannot_be_loaded_is_said_with_its_package(guest):
    with pytest.raises(InputError, match=r"planner 'broken' of guest-package cannot be loaded"):
        PLANNERS.get("broken")


def test_an_estimator_of_another_package(guest):
    from rpsr.learning import learn
    from rpsr.learning.estimator_names import ESTIMATORS

    pomdp = rpsr.load("tiger")
    uniform = rpsr.UniformPolicy(pomdp.belief_model(), np.random.default_rng(0))
    log = rpsr.simulate(pomdp, uniform, episodes=50, steps=10, rewards=True)
    learned = learn("memoryless", log, discount=0.95)
    assert learned.model.observations == pomdp.observations
    check_estimator(ESTIMATORS.get("memoryless")(discount=0.95))


def test_a_domain_of_another_package(guest):
    pomdp = rpsr.load("coin:heads=1/4")
    assert pomdp.start.tolist() == [0.25, 0.75]
    assert "coin" in rpsr.domains.names()
    check_domain(rpsr.domains.generator("coin"))


def test_the_command_line_finds_them(guest):
    command = [sys.executable, "-m", "rpsr", "solve", "coin", "--planner", "careful", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '"planner": "vi"' in done.stdout


@pytest.mark.parametrize(
    ("name", "advice"),
    [("sarsopp", "did you mean sarsop?"), ("qqqq", "choose from auto, vi, enumeration")],
)
def test_an_unknown_name(name, advice):
    with pytest.raises(InputError) as error:
        PLANNERS.get(name)
    assert str(error.value).startswith(f"no planner is called {name!r}; {advice}")


def test_domains_must_be_exact():
    def floats():
        """A POMDP in floats."""
        one = [[[1.0]]]
        return rpsr.POMDP.from_arrays(one, one, [[1.0]], discount=0.5)

    with pytest.raises(AssertionError, match="exact"):
        check_domain(floats)


def test_estimators_must_survive_a_log_and_keep_their_parameters():
    from dataclasses import dataclass

    from rpsr.learning import Estimator, Findings

    @dataclass
    class Forgetful(Estimator):
        discount: float = 0.9

        def learn(self, log):
            self.discount = 0.5

        def findings(self):
            return Findings(rank=1)

    with pytest.raises(AssertionError, match="changed a parameter"):
        check_estimator(Forgetful())


def test_of_many_names_the_first_are_compared():
    names = {f"column{i}": f"'column{i}'" for i in range(MOST_COMPARED)} | {"action": "'action'"}
    assert did_you_mean("column12", names).startswith("did you mean 'column12'")
    assert did_you_mean("action", names) == ""
