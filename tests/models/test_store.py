"""The native file: every model comes back as it was, and a damaged file is refused."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from tests.models.builders import Sizes, pomdps, random_arrays, random_exact, rotated
from tests.strategies import few

from rpsr import POMDP, InputError, ModelError, save
from rpsr.domains import build, tabulate
from rpsr.models import Corners, DenseOperators, Operators, SparseOperators, Unknown
from rpsr.models.store import load_native
from rpsr.testing import check_model

SIZES = Sizes(2, 3, 2)


def huge() -> POMDP:
    """Probabilities whose exact weights need more than 64 bits."""
    p = Fraction(1, 3**80)
    return tabulate(
        name="huge",
        states=["s", "t"],
        actions=["a"],
        observations=["o"],
        start={"s": p, "t": 1 - p},
        transition=lambda _s, _a: {"s": p, "t": 1 - p},
        emission=lambda _a, _t: {"o": 1},
        reward=lambda *_: Fraction(1, 3),
        discount=None,
    )


@pytest.fixture
def saved(tmp_path):
    """Save a model, load it again."""

    def round_trip(model):
        save(model, tmp_path / "model.rpsr")
        return load_native(tmp_path / "model.rpsr")

    return round_trip


# ---- POMDPs


@given(pomdps())
@settings(max_examples=few(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_pomdps_come_back(saved, pomdp):
    assert_same(saved(pomdp), pomdp)


@pytest.mark.parametrize(
    "make",
    [
        lambda: build("hallway"),
        lambda: build("tag"),
        lambda: build("tiger").with_discount(None),
        lambda: random_exact(0, SIZES, by_edge=True),
        lambda: POMDP.from_arrays(*random_arrays(0, SIZES), discount=0.9),
        lambda: POMDP.from_arrays(*random_arrays(0, SIZES, by_edge=True)),
        huge,
    ],
    ids=["hallway", "tag", "no discount", "by edge", "floats", "floats by edge", "big integers"],
)
def test_pomdps_of_every_sort_come_back(saved, make):
    assert_same(saved(make()), make())


def assert_same(back, pomdp):
    assert isinstance(back, POMDP)
    assert back == pomdp
    assert (back.name, back.states, back.warnings) == (pomdp.name, pomdp.states, pomdp.warnings)
    assert back.exact == pomdp.exact
    assert back.discount == pomdp.discount
    for name in ("start", "transition", "emission"):
        old, new = getattr(pomdp.record, name), getattr(back.record, name)
        for part in ("indptr", "indices", "values", "weights", "digits"):
            kept, read = getattr(old, part), getattr(new, part)
            assert (kept is None) == (read is None)
            assert kept is None or (kept.dtype == read.dtype and np.array_equal(kept, read))


def test_big_integers_stay_exact(saved):
    assert huge().record.start.weights.dtype == object
    assert saved(huge()).record.start.fractions(0)[0] == Fraction(1, 3**80)


def test_a_name_of_any_script_comes_back(saved):
    assert saved(build("tiger").with_name('老虎 "é"')).name == '老虎 "é"'


# ---- linear models


@pytest.mark.parametrize(
    "make",
    [
        lambda model: model,
        lambda model: replace(model, operators=dense(model), domain=Unknown(), discount=None),
        lambda model: replace(model, operators=SparseOperators(sparse(model)), domain=Unknown()),
        lambda model: build("4x3").belief_model(),
        lambda model: replace(
            model, estimator="somebody", final=model.observations[:2], pomdp=None
        ),
    ],
    ids=["factored, corners", "dense, unknown", "sparse, unknown", "sparse, simplex", "learned"],
)
def test_linear_models_come_back(saved, make):
    model = make(rotated(build("4x3")))
    back = saved(model)
    for name in ("kind", "name", "actions", "observations", "discount", "rounding", "core"):
        assert getattr(back, name) == getattr(model, name)
    for name in ("estimator", "final", "pomdp", "provenance"):
        assert getattr(back, name) == getattr(model, name)
    for name in ("start", "normalizer", "rewards", "coordinates"):
        assert np.array_equal(getattr(back, name), getattr(model, name))
    assert type(back.operators) is type(model.operators)
    for a, o in np.ndindex(*model.operators.shape[:2]):
        assert np.array_equal(back.operators.matrix(a, o), model.operators.matrix(a, o))
    assert type(back.domain) is type(model.domain)
    if isinstance(model.domain, Corners):
        assert np.array_equal(back.domain.points, model.domain.points)
        check_model(back, histories=2, steps=10)


def dense(model):
    actions, observations, _ = model.operators.shape
    matrices = [[model.operators.matrix(a, o) for o in range(observations)] for a in range(actions)]
    return DenseOperators(np.array(matrices))


def sparse(model):
    return tuple(tuple(sp.csr_array(m) for m in row) for row in dense(model).matrices)


def test_matrices_given_by_column_come_back(saved):
    model = build("4x3").belief_model()
    by_column = tuple(tuple(sp.csc_array(m) for m in row) for row in model.operators.process)
    back = saved(replace(model, operators=SparseOperators(by_column)))
    assert np.array_equal(back.operators.matrix(0, 0), model.operators.matrix(0, 0))


# ---- files


def test_writing_twice_gives_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        save(build("tiger"), tmp_path / f"{name}.rpsr")
    assert (tmp_path / "one.rpsr").read_bytes() == (tmp_path / "two.rpsr").read_bytes()


def test_numpy_opens_it_without_pickle(tmp_path):
    save(huge(), tmp_path / "huge.rpsr")
    with np.load(tmp_path / "huge.rpsr", allow_pickle=False) as archive:
        assert archive["rewards.values"].tolist() == [1 / 3]
        assert all(archive[name] is not None for name in archive.files)


@pytest.mark.parametrize("provenance", [{"made by": object()}, {"score": float("nan")}])
def test_a_failed_save_leaves_the_old_file(tmp_path, provenance):
    path = tmp_path / "model.rpsr"
    save(build("tiger"), path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="provenance: expected values that JSON can hold"):
        save(replace(build("tiger").belief_model(), provenance=provenance), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["model.rpsr"]


def test_a_folder_that_is_not_there_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="cannot be written: No such file"):
        save(build("tiger"), tmp_path / "nowhere" / "model.rpsr")


def test_operators_of_a_users_own_class_have_no_file_form(tmp_path):
    class Identity(Operators):
        shape = (3, 2, 2)

        def left(self, x, action, observation):
            return x / 2

        right = left

    model = replace(build("tiger").belief_model(), operators=Identity())
    with pytest.raises(ModelError, match="Identity cannot be saved"):
        save(model, tmp_path / "model.rpsr")
