from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from tests.domains.compare import assert_same_as_file
from tests.domains.laws import earnings, emissions, mirrored, moves, named_outcomes

from rpsr.domains.choices import parr, stand_tiger, tiger
from rpsr.models import POMDP

ACCURACIES = [Fraction(1, 2), Fraction(17, 20), Fraction(1)]


@pytest.mark.parametrize(
    ("model", "file"),
    [
        (tiger(), "tiger.95.POMDP"),
        (tiger(discount=0.75), "tiger.aaai.POMDP"),
        (stand_tiger(), "stand-tiger.95.POMDP"),
        (parr(), "parr95.95.POMDP"),
    ],
)
def test_choices_equal_their_files(corpus: Path, model: POMDP, file: str) -> None:
    assert_same_as_file(model, corpus / file, tolerance=0)


@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_the_tiger_is_its_own_mirror_image(accuracy: Fraction) -> None:
    outcomes = named_outcomes(tiger(accuracy=accuracy))
    flip = {"tiger-left": "tiger-right", "open-left": "open-right"}
    assert mirrored(outcomes, flip) == outcomes


def test_accuracy_is_what_listening_hears() -> None:
    assert emissions(tiger(accuracy=1), "listen")["tiger-left"] == {"tiger-left": 1}
    assert emissions(tiger(accuracy=0.7), "listen")["tiger-left"] == {
        "tiger-left": Fraction(7, 10),
        "tiger-right": Fraction(3, 10),
    }
    assert tiger(accuracy=0.85) == tiger()


@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_the_standing_tiger_is_its_own_mirror_image(accuracy: Fraction) -> None:
    outcomes = named_outcomes(stand_tiger(accuracy=accuracy))
    flip = {
        "TL-sitting": "TR-sitting",
        "TL-standing": "TR-standing",
        "tiger-left-sit": "tiger-right-sit",
        "tiger-left-stand": "tiger-right-stand",
        "open-left": "open-right",
    }
    assert mirrored(outcomes, flip) == outcomes


def test_posture_is_always_felt() -> None:
    for _, _, state, felt in named_outcomes(stand_tiger()):
        assert state.endswith("sitting") == felt.endswith("sit")


def test_standing_ears_hear_noise_and_doors_open_only_from_there() -> None:
    model = stand_tiger(accuracy=1)
    assert set(emissions(model, "listen")["TL-standing"].values()) == {Fraction(1, 2)}
    assert moves(model)["TL-sitting", "open-right"] == {"TL-sitting": 1}
    assert earnings(model)["TL-sitting", "open-right"] == 0
    assert earnings(model)["TL-standing", "open-right"] == 30


def test_parr_is_its_own_mirror_image() -> None:
    outcomes = named_outcomes(parr())
    assert mirrored(outcomes, {"hi-A": "lo-A", "C": "D", "b": "c"}) == outcomes


def test_parr_looks_before_it_chooses() -> None:
    follow = moves(parr())
    for lookalike, view in (("hi-A", "C"), ("lo-A", "D")):
        assert follow[lookalike, "a"] == {view: 1}
        assert follow[view, "a"] == {lookalike: 1}
    assert set(emissions(parr(), "a")["hi-A"]) == set(emissions(parr(), "a")["lo-A"]) == {"A"}


def test_parr_pays_the_rewards_that_are_given() -> None:
    earned = earnings(parr(right=1, wrong=-1))
    assert {state: pay for (state, _), pay in earned.items() if pay} == {"plus1": 1, "minus1": -1}


@pytest.mark.parametrize("make", [tiger, stand_tiger])
def test_accuracy_is_a_probability(make: Callable[..., POMDP]) -> None:
    with pytest.raises(ValueError, match=r"accuracy is 1\.1"):
        make(accuracy=1.1)
