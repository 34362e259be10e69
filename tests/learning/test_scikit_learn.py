"""Estimators keep scikit-learn's conventions, by scikit-learn itself: X is a log of episodes."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted
from tests.learning.worlds import simulate

from rpsr.errors import RpsrError
from rpsr.learning import (
    EMRPSR,
    DiscoveredRPSR,
    Fitting,
    LastKTable,
    Search,
    SpectralPSR,
    SpectralRPSR,
)
from rpsr.learning.base import NotFitted
from rpsr.logs import Trajectories
from rpsr.models.store import load_native, save_native

LOG = simulate("loadunload", 60, 12, seed=0)
SEARCH = Search(sizes=(3,), starts=1, descents=1, memories=0, largest=3, probe=20, probing=2)
SMALL = {
    "em": EMRPSR(search=SEARCH, fitting=Fitting(iterations=3, refitting=2, polishing=2)),
    "spectral": SpectralRPSR(rank=3),
    "psr": SpectralPSR(rank=3),
    "discovered": DiscoveredRPSR(rank=3, repeats=1),
    "last-k": LastKTable(k=1),
}
every_estimator = pytest.mark.parametrize("estimator", SMALL.values(), ids=SMALL)


@every_estimator
def test_a_clone_has_the_parameters_and_is_not_fitted(estimator):
    fitted = clone(estimator).fit(LOG)
    twin = clone(fitted)
    assert twin.get_params() == fitted.get_params() == estimator.get_params()
    assert not hasattr(twin, "model_")
    np.testing.assert_array_equal(twin.fit(LOG).model_.rewards, fitted.model_.rewards)


@every_estimator
def test_whether_it_is_fitted_scikit_learn_can_tell(estimator):
    with pytest.raises(NotFittedError):
        check_is_fitted(estimator)
    check_is_fitted(clone(estimator).fit(LOG))


@every_estimator
def test_what_is_not_fitted_raises_what_a_not_fitted_error_is(estimator):
    for kind in (*NotFittedError.__bases__, RpsrError):  # ValueError and AttributeError
        with pytest.raises(kind, match="is not fitted"):
            estimator.score(LOG)


@every_estimator
def test_wrong_parameters_and_wrong_data_are_value_errors(estimator):
    for wrong in (np.zeros((3, 2)), LOG[:0], None):
        with pytest.raises(ValueError, match=r"read |has no steps"):
            clone(estimator).fit(wrong)
    with pytest.raises(ValueError, match="discount: read 7"):
        clone(estimator).set_params(discount=7).fit(LOG)
    with pytest.raises(ValueError, match="no parameter is called 'ranks'"):
        clone(estimator).set_params(ranks=1)


@every_estimator
def test_scores_of_folds_are_those_of_fitting_and_judging_by_hand(estimator):
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(estimator, LOG, cv=folds)
    for score, (train, test) in zip(scores, folds.split(LOG), strict=True):
        judged = clone(estimator).fit(LOG[train]).judge(LOG[test])
        assert score == pytest.approx(judged.score, rel=1e-9)
        ratio = judged.reward_rmse / judged.reward_std
        assert score == pytest.approx(judged.loglik - np.log(ratio), rel=1e-9)


def test_a_grid_search_finds_the_rank_of_the_domain():
    """Load/unload needs rewards in its state: tables of one pair, or few directions, do worse."""
    log = simulate("loadunload", 300, 15, seed=1)
    search = GridSearchCV(SpectralRPSR(), {"rank": [1, 3, 9]}, cv=3).fit(log)
    assert search.best_params_ == {"rank": 9}
    assert search.best_estimator_.rank_ == 9
    assert search.score(LOG) == search.best_estimator_.score(LOG)
    search = GridSearchCV(LastKTable(), {"k": [1, 2]}, cv=3).fit(log)
    assert search.best_params_ == {"k": 2}


def test_fields_of_grouped_parameters_are_set_and_searched_by_name():
    em = clone(SMALL["em"]).set_params(search__sizes=(2,), search__largest=0, choosing__keep=1)
    assert (em.search.sizes, em.search.probe, em.choosing.keep) == ((2,), 20, 1)
    assert SMALL["em"].search.sizes == (3,)
    assert em.get_params(deep=False).keys() < em.get_params().keys()
    assert em.get_params()["fitting__iterations"] == 3
    grid = {"search__sizes": [(1,), (3,)], "fitting__prior": [0.02]}
    search = GridSearchCV(em, grid, cv=2).fit(LOG)
    assert search.best_params_ == {"search__sizes": (3,), "fitting__prior": 0.02}
    with pytest.raises(ValueError, match=r"^search__sizes: read \(0,\), expected one or more"):
        em.set_params(search__sizes=(0,)).fit(LOG)
    with pytest.raises(ValueError, match=r"^search: read 3, expected a Search$"):
        em.set_params(search=3).fit(LOG)


# ---- check_estimator, on tables of numbers that are turned into logs


def log_of(table):
    """A row, four times over, is an episode: numbers are rewards, their signs observations."""
    if np.iscomplexobj(table):
        raise ValueError("Complex data not supported")
    table = np.asarray(table, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"Expected 2D array, got {table.ndim}D array. Reshape your data.")
    table = np.tile(table, (1, 4))
    episodes, steps = table.shape
    return Trajectories(
        ("even", "odd"),
        ("below", "above"),
        np.tile(np.arange(steps) % 2, episodes),
        (table > 0).reshape(-1).astype(int),
        np.arange(episodes + 1) * steps,
        np.zeros(episodes, dtype=bool),
        table.reshape(-1),
    )


class OfTables:
    """An estimator whose X is a table."""

    def fit(self, X, y=None):
        return super().fit(log_of(X), y)

    def score(self, X, y=None):
        return super().score(log_of(X), y)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


@dataclass(kw_only=True, eq=False)
class TableOfTables(OfTables, LastKTable):
    k: int = 1


@dataclass(kw_only=True, eq=False)
class SpectralOfTables(OfTables, SpectralRPSR):
    rank: int = 1


COLUMNS = "a log has episodes of any lengths, not columns that could be counted or named"
SPARSE = "a log has no sparse form"
WORDS = "the message is about logs, and what it says of tables is up to the adapter of this test"
CANNOT_APPLY = {
    "check_n_features_in_after_fitting": COLUMNS,
    "check_n_features_in": COLUMNS,
    "check_estimator_sparse_tag": SPARSE,
    "check_estimator_sparse_array": SPARSE,
    "check_estimator_sparse_matrix": SPARSE,
    "check_estimators_empty_data_messages": WORDS,
    "check_estimators_nan_inf": "numbers that are not finite are refused when a log is made",
}


@pytest.mark.filterwarnings("ignore:.*does not inherit from:UserWarning")  # nor needs to
@pytest.mark.parametrize("kind", [TableOfTables, SpectralOfTables])
def test_scikit_learns_own_checks(kind):
    """All that can apply to an estimator without `predict` and `transform` pass."""
    rows = check_estimator(kind(), expected_failed_checks=CANNOT_APPLY, on_skip=None, on_fail=None)
    by_status = {
        status: {row["check_name"] for row in rows if row["status"] == status}
        for status in ("failed", "xfail", "passed")
    }
    assert by_status["failed"] == set()
    assert by_status["xfail"] == set(CANNOT_APPLY)  # each of them does fail
    assert {"check_fit_idempotent", "check_estimators_pickle"} <= by_status["passed"]


def test_properties_of_fitted_attributes_are_not_fitted_either():
    for name in ("directions_", "rank_", "trials_"):
        with pytest.raises(NotFitted, match=f"call fit before {name}"):
            getattr(SpectralRPSR(), name)
    with pytest.raises(AttributeError, match="no attribute 'colour_'"):
        _ = SpectralRPSR().colour_


def test_a_group_and_its_fields_are_set_in_any_order():
    for names in (("search", "search__starts"), ("search__starts", "search")):
        given = {"search": Search(sizes=(4,)), "search__starts": 7}
        em = EMRPSR().set_params(**{name: given[name] for name in names})
        assert (em.search.sizes, em.search.starts) == ((4,), 7)


@pytest.mark.parametrize("estimator", [SpectralRPSR(rank=np.int64(2)), LastKTable(k=np.int64(1))])
def test_parameters_from_arrays_are_saved(estimator, tmp_path):
    estimator.fit(LOG)
    save_native(estimator.model_, tmp_path / "m.rpsr")
    again = load_native(tmp_path / "m.rpsr")
    assert again.provenance == estimator.model_.provenance
    assert type(again.provenance.get("rank", 1)) is int
