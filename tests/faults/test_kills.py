"""A few kills of each command; CONTRIBUTING.md says how to run more."""

import os

import numpy as np
import pytest
from tests.faults.kills import SMALL_SOLVE, VERBS, Verb, Violation, kill

from rpsr.cli.app import main
from rpsr.domains import build
from rpsr.planning import AlphaPolicy, save_policy

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.mark.parametrize("name", ["accuracy", "convert", "simulate"])  # the others take longer
def test_files_are_whole_or_absent(name, tmp_path):
    said = []
    kill(VERBS[name], 1, 0, tmp_path, say=said.append)
    assert said[0].startswith(f"{name}: 1 killed of")


def test_planning_goes_on_after_a_kill(tmp_path):
    said = []
    kill(SMALL_SOLVE, 2, 0, tmp_path, say=said.append)
    assert said[0].startswith("small solve: 2 killed of")


def test_a_policy_that_earns_less_than_the_lower_bound_is_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(list(SMALL_SOLVE.arguments)) == 0
    good = tmp_path / "p.json"
    assert SMALL_SOLVE.same(good, good)
    model = build("shuttle").belief_model()
    idle = AlphaPolicy(model, np.zeros((1, model.dimension)), actions=np.array([0]))
    bad = tmp_path / "bad.json"
    save_policy(idle, bad)
    assert not SMALL_SOLVE.same(good, bad)


@pytest.mark.parametrize(
    ("verb", "complaint"),
    [
        (Verb("convert", ("convert", "tiger", "out.pomdp"), lambda path: 1 / 0), "is damaged"),
        (Verb("convert", ("convert", "tiger", "out.pomdp"), str, lambda *_: False), "differs"),
        (Verb("convert", ("convert", "nothing", "out.pomdp"), str), "exit code 1"),
    ],
)
def test_what_is_wrong_is_noticed(verb, complaint, tmp_path):
    with pytest.raises(Violation, match=complaint):
        kill(verb, 1, 0, tmp_path, say=print)
