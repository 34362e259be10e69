"""Numbers that arithmetic cannot carry are refused where they enter, with the entry's place."""

import math

import numpy as np
import pytest

from rpsr import POMDP, InputError
from rpsr.domains import build
from rpsr.io.pomdp.reader import parse_pomdp
from rpsr.io.records import LARGEST_REWARD, Rewards
from rpsr.logs import Trajectories
from rpsr.models import Corners, DenseOperators
from rpsr.predictive import rpsr

TEXT = """discount: 0.95
states: 2
actions: go
observations: 1
T: go identity
O: go uniform
R: go : * : * : * 1
R: go : 1 : * : * {}
"""
HOSTILE = [math.nan, math.inf, -math.inf, 1e308, -1.01 * LARGEST_REWARD]
IMPOSSIBLE = HOSTILE[:3]


@pytest.mark.parametrize("sign", ["", "-"])
def test_a_file_with_too_large_a_reward_is_refused_at_its_place(sign):
    with pytest.raises(InputError) as error:
        parse_pomdp(TEXT.format(sign + "1e308").encode(), place="f", name="f")
    assert (
        str(error.value) == f"f:8:19: read '{sign}1e308', expected a number from -1e+100 to 1e+100"
    )
    parse_pomdp(TEXT.format(sign + "1e100").encode(), place="f", name="f")


@pytest.mark.parametrize("value", HOSTILE)
def test_arrays_are_refused_with_the_entry(value):
    T, O = np.eye(2)[None], np.ones((1, 2, 1))
    with pytest.raises(InputError, match=r"^R: entry \(1, 0\) is"):
        POMDP.from_arrays(T, O, np.array([[0.0], [value]]))


@pytest.mark.parametrize("value", HOSTILE)
def test_no_record_holds_them(value):
    with pytest.raises(InputError, match="rewards: read"):
        Rewards(np.array([0.0, value]), np.zeros(1, dtype=np.int64))


@pytest.mark.parametrize("value", HOSTILE)
def test_logs_are_refused_with_the_step(value):
    with pytest.raises(InputError, match="episode 0, step 1: rewards: read"):
        Trajectories(("go",), ("o",), [0, 0], [0, 0], [0, 2], [False], np.array([0.0, value]))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e308])
@pytest.mark.parametrize("make", [POMDP.belief_model, rpsr])
def test_other_rewards_of_a_linear_model(make, value):
    model = make(build("tiger"))
    rewards = model.rewards.copy()
    rewards[1, 2] = value
    with pytest.raises(InputError, match=r"^rewards: entry \(1, 2\)"):
        model.with_rewards(rewards)


def test_the_largest_rewards_fit_in_every_basis():
    tiger = build("tiger")
    scaled = POMDP.from_arrays(
        np.stack([tiger.transition(a).toarray() for a in range(3)]),
        np.stack([tiger.emission(a).toarray() for a in range(3)]),
        tiger.R * (LARGEST_REWARD / np.abs(tiger.R).max()),
        discount=0.95,
    )
    model = rpsr(scaled)
    np.testing.assert_allclose(model.domain.corners @ model.rewards, scaled.R, rtol=1e-12)


@pytest.mark.parametrize("value", IMPOSSIBLE)
@pytest.mark.parametrize("field", ["start", "normalizer", "operators", "coordinates"])
def test_no_part_of_a_linear_model_is_other_than_finite(field, value):
    from dataclasses import replace

    model = rpsr(build("tiger"))
    if field == "operators":
        dense = np.stack([[model.operators.matrix(a, o) for o in range(2)] for a in range(3)])
        dense[1, 0, 0, 0] = value
        with pytest.raises(InputError, match=r"operators: entry \(1, 0, 0, 0\) is"):
            DenseOperators(dense)
        return
    array = getattr(model, field).copy()
    array.flat[1] = value
    with pytest.raises(InputError, match=f"{field}: entry .* expected a finite number"):
        replace(model, **{field: array})


@pytest.mark.parametrize("value", IMPOSSIBLE)
def test_no_corner_nor_its_kernel_is_other_than_finite(value):
    domain = rpsr(build("tiger")).domain
    points = domain.points.copy()
    points[0, 1] = value
    with pytest.raises(InputError, match=r"points: entry \(0, 1\)"):
        Corners(points, domain.kernel)
    kernel = [[matrix.copy() for matrix in row] for row in domain.kernel]
    kernel[2][1].data = np.full_like(kernel[2][1].data, value)
    with pytest.raises(InputError, match="kernel: action 2, observation 1"):
        Corners(domain.points, kernel)
