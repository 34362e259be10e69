"""Parameters out of range: refused at `fit`, by name, with what was read and what was expected."""

import numpy as np
import pytest
from tests.learning.worlds import simulate

from rpsr.errors import InputError
from rpsr.learning import (
    EMRPSR,
    Choosing,
    DiscoveredRPSR,
    Fitting,
    LastKTable,
    Search,
    SpectralPSR,
    SpectralRPSR,
    psr_enough,
)

LOG = simulate("tiger", 30, 6, seed=0)
ESTIMATORS = (EMRPSR, SpectralRPSR, SpectralPSR, DiscoveredRPSR, LastKTable)
PARTS = (Choosing, Fitting, Search)
WHOLE = {
    0: "search__memories search__largest search__most search__probing fitting__iterations "
    "fitting__refitting fitting__polishing repeats seed",
    1: "search__starts search__descents search__probe choosing__keep states rank tests histories "
    "max_histories cells k longest",
}
WRONG = {
    **{name: [least - 1, 2.5, "x", None, True] for least in WHOLE for name in WHOLE[least].split()},
    "search__sizes": [(), (3, 0), 3, "3", (2.5,)],
    **{name: [3, None, "x", {}] for name in ("search", "fitting", "choosing")},
    "fitting__prior": [0, -0.1, float("nan"), "x"],
    "backoff": [0.0, -1, float("inf"), None],
    "fitting__sparsity": [-0.5, "x"],
    "enough": [-1, float("inf")],
    **{name: [2, 0, 1, -0.2, "x"] for name in ("holdout", "choosing__holdout")},
    "discount": [-0.1, 1.5, float("nan"), "x"],
    "weighting": ["none", None, 3, np.arange(2)],
    "behaviour": ["known", None],
    "algorithm": ["magic", None],
    "rewards": ["normal", None],
    "device": ["tpu", None],
    "time_limit": [0, -1, float("inf"), "x"],
}
STARTS = {"starts": ["never", 3]}  # of spectral estimators, for whom it is a word


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_an_estimator_shows_its_parameters_and_no_more(kind):
    shown = repr(kind())
    assert repr(eval(shown, {known.__name__: known for known in (*ESTIMATORS, *PARTS)})) == shown


def cases():
    for kind in ESTIMATORS:
        wrong = WRONG | (STARTS if issubclass(kind, SpectralRPSR) else {})
        for name in kind().get_params():
            if name not in ("name", "progress"):
                for value in wrong[name]:
                    yield pytest.param(kind, name, value, id=f"{kind.__name__}-{name}")


@pytest.mark.parametrize(("kind", "name", "value"), list(cases()))
def test_a_parameter_out_of_range_is_named(kind, name, value):
    estimator = kind().set_params(**{name: value})  # which only stores
    with pytest.raises(InputError) as caught:
        estimator.fit(LOG)
    message = str(caught.value)
    assert message.startswith(f"{name}: read {value!r}, expected ")
    assert "\n" not in message
    assert not hasattr(estimator, "model_")


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("wrong", [np.zeros((3, 2)), None, 3, [LOG, "log.jsonl"], b"log.jsonl"])
def test_what_is_no_log_is_named(kind, wrong):
    read = "str" if isinstance(wrong, list) else type(wrong).__name__
    expected = "expected Trajectories, a stream of them, a table, or names of files"
    with pytest.raises(InputError, match=f"^read {read}, {expected}$"):
        kind().fit(wrong)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_what_is_not_fitted_says_so(kind):
    """And is not there, as far as Python is concerned."""
    for ask in (lambda: kind().judge(LOG), lambda: kind().models(), lambda: kind().rank_):
        with pytest.raises(InputError, match=f"^{kind.__name__} is not fitted: call fit before "):
            ask()
    assert not hasattr(kind(), "model_")
    with pytest.raises(AttributeError, match="has no attribute 'magic_'"):
        kind().magic_  # noqa: B018  # asking is the test


@pytest.mark.parametrize(
    "estimator",
    [
        EMRPSR(
            states=1,
            enough=0,
            discount=0,
            search=Search(
                sizes=[np.int64(1)], starts=1, descents=1, memories=0, probe=1, probing=0, largest=0
            ),
            fitting=Fitting(prior=1e-9, sparsity=0, iterations=0, refitting=0, polishing=0),
            choosing=Choosing(holdout=1e-9, keep=1),
        ),
        SpectralRPSR(rank=1, tests=1, histories=1, max_histories=1, cells=1, discount=1),
        SpectralPSR(rank=np.int64(1), tests=1, histories=1, max_histories=1, cells=1, discount=1),
        DiscoveredRPSR(rank=1, tests=1, histories=1, max_histories=1, cells=1, repeats=0),
        LastKTable(k=1, backoff=1e-9, holdout=1e-9),
        LastKTable(longest=1, holdout=1 - 1e-9),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_the_least_that_is_allowed_is_learned_from(estimator):
    model = estimator.fit(LOG).model_
    for numbers in (model.start, model.rewards, model.emissions):
        assert np.isfinite(numbers).all()
    for action in model.actions:
        assert model.predict(model.start, action).sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "wrong", [{"repeats": 0}, {"level": 1}, {"tolerance": -1}, {"tests": 0}, {"histories": 0.5}]
)
def test_so_are_those_of_the_rank_test(wrong):
    (name,) = wrong
    with pytest.raises(InputError, match=f"^{name}: read .*, expected"):
        psr_enough(LOG, **wrong)
