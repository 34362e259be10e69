"""The case study: walks are followed, not asserted; outcomes and rewards by hand."""

from fractions import Fraction

import numpy as np
import pytest

from rpsr.planning import FiniteStateController
from rpsr.predictive import psr
from rpsr.reproduce import case_study as study
from rpsr.reproduce import paper
from rpsr.reproduce.case_study import behaviour, case_study, walk_from
from rpsr.reproduce.one_domain import Planned
from rpsr.sources import load_pomdp


@pytest.fixture(scope="module")
def case():
    return {**case_study(), "walks": study.walks(Planned.of(load_pomdp("loadunload")))}


def test_outcomes_are_those_of_driving_the_cart_by_hand(case):
    for test, outcome in zip(case["core_tests"], case["outcomes"], strict=True):
        assert outcome == [float(_happens(test, state)) for state in range(10)]


def _happens(test, state):
    """Whether a test comes out from a state of the five-cell road, two states a cell."""
    cell = state // 2
    for step in test.split(", "):
        action, seen = step.split()
        cell = min(max(cell + (1 if action == "right" else -1), 0), 4)
        if {0: "loading", 4: "unloading"}.get(cell, "travel") != seen:
            return False
    return True


def test_the_reconstruction_is_the_mean_over_states_that_look_alike(case):
    for rewards, rebuilt in zip(case["rewards"], case["reconstruction"], strict=True):
        means = [(rewards[i] + rewards[i + 1]) / 2 for i in range(0, 10, 2)]
        assert rebuilt == pytest.approx([mean for mean in means for _ in range(2)])
        assert tuple(rewards) == paper.REWARDS


def test_the_psrs_rewards_and_outcomes_give_the_reconstruction(case):
    """U R^(p) in fractions; with the printed vector it does not."""
    for vector, right in ((case["psr_rewards"][0], True), (paper.PSR_REWARDS, False)):
        rebuilt = [
            sum(
                Fraction(row[s]) * Fraction(w)
                for row, w in zip(case["outcomes"], vector, strict=True)
            )
            for s in range(10)
        ]
        assert (rebuilt == [Fraction(value) for value in paper.RECONSTRUCTION]) is right


def test_states_are_alike_in_pairs(case):
    assert case["alike"] == [[f"loaded-{cell}", f"empty-{cell}"] for cell in range(5)]
    assert (case["psr_rank"], case["rpsr_rank"]) == (5, 9)


def test_optimal_carts_go_back_and_forth_and_the_psrs_stays(case):
    ends = {name: {walk["behaviour"] for walk in walks} for name, walks in case["walks"].items()}
    assert ends["pomdp"] == ends["rpsr"] == {"moves back and forth between the ends"}
    assert ends["psr"] == {"reaches an end and stays there"}
    assert case["walks"]["pomdp"] == case["walks"]["rpsr"]


def test_a_walk_earns_what_its_cells_say(case):
    """A cart is paid on acting empty at cell 0 and loaded at cell 4."""
    for walks in case["walks"].values():
        for walk in walks:
            loaded = walk["start"].startswith("loaded")
            for cell, earned in zip(walk["cells"], walk["earned"], strict=True):
                paid = (cell == 0 and not loaded) or (cell == 4 and loaded)
                assert earned == float(paid)
                loaded ^= paid


@pytest.mark.parametrize(
    ("actions", "successors", "words"),
    [
        ([1], [[0, 0, 0]], "reaches an end and stays there"),  # always left
        ([0, 1], [[1, 1, 1], [0, 0, 0]], "does something else"),  # to and fro on the spot
        ([0, 1], [[0, 1, 0], [0, 1, 1]], "moves back and forth between the ends"),
    ],
)
def test_behaviour_is_read_from_any_policy(actions, successors, words):
    pomdp = load_pomdp("loadunload")
    controller = FiniteStateController(
        pomdp.actions, pomdp.observations, np.array(actions), np.array(successors)
    )
    walk = walk_from(pomdp, controller.policy(), 4, psr(pomdp))
    assert walk["behaviour"] == words


def test_behaviour_in_words():
    assert behaviour([4, 3, 2, 1, 0, 1, 2, 3], 4).startswith("moves back and forth")
    assert behaviour([0, 0], 4) == behaviour([4], 4) == "reaches an end and stays there"
    assert behaviour([1, 2], 4) == "does something else"
