"""`check_model` passes for what obeys the laws and names the law that a broken model breaks."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from tests.models.builders import pomdps, rotated
from tests.strategies import few

from rpsr.domains import NAMES, build
from rpsr.models import Corners, DenseOperators, Simplex, Unknown
from rpsr.testing import check_model


@pytest.mark.parametrize("name", NAMES)
def test_every_built_in_domain_obeys_the_laws(name):
    check_model(build(name).belief_model(), histories=5, steps=20)


@given(pomdps())
@settings(max_examples=few(25))
def test_random_models_obey_the_laws(pomdp):
    check_model(pomdp.belief_model(), histories=3, steps=10)


@pytest.mark.parametrize("name", ["tiger", "4x3", "heavenhell", "floatreset"])
def test_the_laws_hold_in_other_coordinates(name):
    check_model(rotated(build(name)), histories=3, steps=20)


def test_a_model_of_unknown_domain_is_held_to_the_other_laws():
    check_model(replace(build("tiger").belief_model(), domain=Unknown()))


# ---- models that break one law each

TIGER = build("tiger").belief_model()
D = np.array([[TIGER.operators.matrix(a, o) for o in range(2)] for a in range(3)])
ROTATED = rotated(build("tiger"))


def broken(**changes):
    return replace(TIGER, **changes)


def corners(**changes):
    domain = ROTATED.domain
    assert isinstance(domain, Corners)
    return replace(ROTATED, domain=replace(domain, **changes))


def scaled():
    return broken(operators=DenseOperators(D * 1.001))


def scaled_in_one_action():
    matrices = D.copy()
    matrices[2] *= 1 - 1e-6
    return broken(operators=DenseOperators(matrices))


def negative_emission():
    extra = np.zeros_like(D)
    extra[:, 0], extra[:, 1] = np.eye(2), -np.eye(2)  # sums are kept, chances leave [0, 1]
    return broken(operators=DenseOperators(D + extra))


def leaving_the_simplex():
    drift = np.array([[2.0, -1.0], [0.0, 1.0]])  # keeps x e, not x >= 0
    return broken(operators=DenseOperators(D @ drift))


def wrong_kernel():
    return corners(kernel=tuple(row[::-1] for row in build("tiger").D))


def negative_kernel():
    return corners(kernel=tuple(tuple(-block for block in row) for row in build("tiger").D))


def shrunken_corners():
    return corners(points=ROTATED.domain.points * [1.0, 1.0 + 1e-6])


def start_beyond_a_corner():
    first, second = ROTATED.domain.points
    return replace(ROTATED, start=1.5 * first - 0.5 * second)


BROKEN = {
    "operators scaled": (scaled, "sum_o M[a, o] e != e at action"),
    "one action scaled": (
        scaled_in_one_action,
        "sum_o M[a, o] e != e at action 'open-right': off by",
    ),
    "negative emission": (
        negative_emission,
        "after start, action 'open-right': a probability is -0.5",
    ),
    "leaving the simplex": (leaving_the_simplex, "away from the valid states"),
    "start not normalised": (
        lambda: broken(start=np.array([0.5, 0.6])),
        "start: x e = 1.1, expected 1",
    ),
    "start outside": (
        lambda: broken(start=np.array([1.5, -0.5])),
        "start: the state is 0.5 away from the valid states",
    ),
    "start outside the hull": (start_beyond_a_corner, "away from the valid states"),
    "kernel of another order": (
        wrong_kernel,
        "operators and corners' transitions differ at 'listen'",
    ),
    "kernel negative": (
        negative_kernel,
        "a transition probability between corners is negative at 'listen'",
    ),
    "kernel too small": (
        lambda: corners(kernel=build("tiger").D[:2]),
        "the corners' transitions have shape (2, 2), expected (3, 2)",
    ),
    "corners off by little": (shrunken_corners, "start: the state is 1.58"),
    "actions twice": (
        lambda: broken(actions=("listen", "listen", "open")),
        "actions are not unique",
    ),
    "observations twice": (lambda: broken(observations=("o", "o")), "observations are not unique"),
    "core without coordinates": (
        lambda: broken(core=("p", "q")),
        "core names without coordinates",
    ),
    "core too short": (
        lambda: broken(core=("p",), coordinates=np.eye(2)),
        "1 core names, expected 2",
    ),
    "core twice": (lambda: broken(core=("p", "p"), coordinates=np.eye(2)), "core are not unique"),
    "coordinates of another shape": (
        lambda: broken(coordinates=np.eye(3)),
        "coordinates have shape (3, 3), expected (2, 2)",
    ),
    "another simplex": (
        lambda: broken(domain=Simplex(3)),
        "the simplex has dimension 3, expected 2",
    ),
    "other corners": (
        lambda: broken(domain=Corners(np.eye(3), ((sp.eye_array(3),),))),
        "corners have dimension 3, expected 2",
    ),
}


@pytest.mark.parametrize(("make", "law"), BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # inf * 0 on purpose
def test_a_broken_law_is_named(make, law):
    model = make()
    with pytest.raises(AssertionError) as caught:
        check_model(model)
    assert law in str(caught.value)


def test_the_tolerance_decides():
    check_model(scaled_in_one_action(), tolerance=1e-3)


def test_checks_survive_optimised_python():
    program = (
        "from dataclasses import replace; import rpsr; from rpsr.testing import check_model\n"
        "model = rpsr.load('tiger').belief_model()\n"
        "check_model(replace(model, core=('p', 'q')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-O", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "core names without coordinates" in done.stderr
