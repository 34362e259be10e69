"""PSRs and R-PSRs as models: against beliefs over long histories, by their laws, and in files."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.predictive.exact_accuracy import pomdps
from tests.predictive.histories import random_history
from tests.predictive.small_models import flaw, mixture
from tests.strategies import few

from rpsr import save
from rpsr.domains import NAMES, build
from rpsr.errors import ImpossibleObservation, InputError, ModelError
from rpsr.models.domain import Corners
from rpsr.models.linear import LinearModel
from rpsr.models.operators import DenseOperators, FactoredOperators
from rpsr.models.pomdp import POMDP
from rpsr.models.store import load_native
from rpsr.predictive import (
    CoreView,
    constructors,
    find_core,
    predictive_model,
    psr,
    reward_aware_psr,
    rpsr,
)
from rpsr.sources import load_pomdp
from rpsr.testing import check_model

FEW = settings(max_examples=few(20))
SEEDS = st.integers(0, 2**32 - 1)


def differences(pomdp: POMDP, model: LinearModel, seed: int, steps: int) -> tuple[float, float]:
    """Along a history: the largest difference of probabilities, and of rewards over max |R|."""
    belief = pomdp.belief_model()
    b, x = belief.start, model.start
    chances, rewards = [], []
    for a, o in random_history(pomdp, seed, steps):
        for action in pomdp.actions:
            chances.append(np.abs(model.predict(x, action) - belief.predict(b, action)).max())
        rewards.append(np.abs(model.expected_rewards(x) - belief.expected_rewards(b)).max())
        b, x = belief.update(b, a, o), model.update(x, a, o)
    return float(max(chances)), float(max(rewards)) / (float(np.abs(pomdp.R).max()) or 1.0)


def assert_follows(pomdp: POMDP, *, seeds: int = 2, steps: int = 100) -> None:
    """Both models agree with beliefs as far as the paper says they must."""
    tests = find_core(pomdp, "psr")
    for model, carries in ((predictive_model(pomdp, tests), tests.accurate), (rpsr(pomdp), True)):
        for seed in range(seeds):
            chance, reward = differences(pomdp, model, seed, steps)
            assert chance < 1e-9
            assert reward < 1e-9 or not carries


# ---- against beliefs


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"tag", "rock-sample"}))
def test_built_in_domains_over_histories_of_100_steps(name):
    assert_follows(build(name), seeds=1)


@FEW
@given(pomdp=pomdps())
def test_random_models_over_histories_of_100_steps(pomdp):
    assert_follows(pomdp, seeds=1)


@pytest.mark.parametrize(
    "file",
    [
        *("iff.POMDP", "hallway2.POMDP", "tiger-grid.POMDP", "aloha.30.POMDP.gz"),
        *("saci-s100-a10-z31.POMDP", "cit.POMDP", "4x5x2.95.POMDP", "learning.c4.POMDP"),
    ],
)
def test_corpus_files_over_histories_of_100_steps(corpus, file):
    assert_follows(load_pomdp(corpus / file))


@pytest.mark.parametrize("file", ["fourth.POMDP.gz", "baseball.POMDP.gz"])
def test_the_largest_files_over_short_histories(corpus, file):
    assert_follows(load_pomdp(corpus / file), seeds=1, steps=3)


def test_where_the_psr_is_not_accurate_its_rewards_are_off():
    pomdp = build("loadunload")
    assert differences(pomdp, psr(pomdp), 0, 100)[1] > 0.1
    assert differences(pomdp, rpsr(pomdp), 0, 100)[1] < 1e-9


@pytest.mark.parametrize("weight", ["0.314159265359", "0.000123456789", "0.000123895507"])
def test_rationals_too_large_to_reconstruct_do_not_spoil_the_model(weight):
    # Modulo two primes, these look like smaller ones that they are not.
    assert_follows(mixture(Fraction(weight)))


# ---- conformance


@pytest.mark.parametrize("name", ["loadunload", "tiger", "iff", "hallway", "paint", "shuttle"])
@pytest.mark.parametrize("make", [psr, rpsr, reward_aware_psr])
def test_predictive_models_obey_the_laws(name, make):
    check_model(make(build(name)), histories=3)


@FEW
@given(pomdp=pomdps())
def test_random_predictive_models_obey_the_laws(pomdp):
    check_model(psr(pomdp), histories=2, steps=10)
    check_model(rpsr(pomdp), histories=2, steps=10)


def test_corners_are_the_images_of_states_and_move_like_them():
    pomdp, model = build("loadunload"), rpsr(build("loadunload"))
    assert isinstance(model.domain, Corners)
    assert len(model.domain.points) == len(pomdp.states)
    assert pomdp.start @ model.domain.points == pytest.approx(model.start)
    assert (model.kind, model.discount, len(model.core)) == ("rpsr", 0.95, 9)


def test_an_impossible_observation_is_refused():
    model = psr(build("loadunload"))
    with pytest.raises(ImpossibleObservation, match="'unloading' cannot follow action 'left'"):
        model.update(model.start, "left", "unloading")


def test_large_models_stay_factored(monkeypatch):
    pomdp = build("loadunload")
    dense = rpsr(pomdp)
    monkeypatch.setattr(constructors, "LARGEST_DENSE", 10)
    factored = rpsr(pomdp)
    assert isinstance(dense.operators, DenseOperators)
    assert isinstance(factored.operators, FactoredOperators)
    for a in range(2):
        for o in range(3):
            assert factored.operators.matrix(a, o) == pytest.approx(dense.operators.matrix(a, o))
    check_model(factored, histories=2)


@pytest.mark.parametrize("order", ["bfs", "dfs"])
def test_both_orders_give_the_same_process(order):
    pomdp = build("iff")
    model = rpsr(pomdp, search=order)
    assert differences(pomdp, model, 0, 50) == (pytest.approx(0, abs=1e-9),) * 2


# ---- where it came from, and files


def test_models_say_where_they_came_from():
    pomdp = build("loadunload")
    provenance = psr(pomdp).provenance
    assert psr(pomdp).pomdp == pomdp.digest
    assert (provenance["search"], provenance["certified"]) == ("bfs", True)
    assert psr(pomdp, exact=False).provenance["certified"] is False
    assert psr(pomdp, exact=False).provenance["error_probability"] is None


@pytest.mark.parametrize("make", [psr, rpsr, reward_aware_psr])
@pytest.mark.parametrize("most", [10, 2**23])
def test_a_native_file_keeps_everything(make, most, tmp_path, monkeypatch):
    monkeypatch.setattr(constructors, "LARGEST_DENSE", most)
    model = make(build("loadunload"))
    save(model, tmp_path / "model.rpsr")
    again = load_native(tmp_path / "model.rpsr")
    assert isinstance(again, LinearModel)
    for key in ("kind", "name", "actions", "observations", "discount", "rounding", "core"):
        assert getattr(again, key) == getattr(model, key)
    for key in ("start", "normalizer", "rewards", "coordinates"):
        assert np.array_equal(getattr(again, key), getattr(model, key))
    assert (again.pomdp, again.provenance) == (model.pomdp, model.provenance)
    assert type(again.operators) is type(model.operators)
    assert np.array_equal(CoreView(again).U, CoreView(model).U)
    check_model(again, histories=2)


# ---- cores that do not fit


def test_a_core_of_another_model_is_refused():
    core = find_core(build("loadunload"), "psr")
    with pytest.raises(InputError, match="read a psr core of a POMDP with 10 states, expected a"):
        rpsr(build("loadunload"), core=core)
    with pytest.raises(InputError, match="read a psr core of a POMDP with 10 states, expected a"):
        psr(build("tiger"), core=core)
    other = build("loadunload").record
    swapped = POMDP(
        type(other)(**vars(other) | {"actions": other.actions[::-1], "name": "swapped"})
    )
    with pytest.raises(InputError, match="whose outcomes differ from those of swapped"):
        psr(swapped, core=core)


def test_rewards_of_the_wrong_shape_are_refused():
    with pytest.raises(InputError, match=r"read shape \(2, 2\), expected .*\(5, 2\)"):
        psr(build("loadunload"), rewards=np.zeros((2, 2)))


def test_a_belief_model_has_no_core_to_read_it_by():
    with pytest.raises(ModelError, match="a belief model has no core set"):
        CoreView(build("tiger").belief_model())


def test_what_is_rare_is_not_impossible_in_a_model_of_blocks():
    belief = psr(flaw(Fraction(1, 10**15))).filter()
    belief.update("use", "broken")
    assert belief.predict("use") == pytest.approx([1, 1e-15], rel=1e-9)
