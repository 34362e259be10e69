"""Values of discrete spaces as codes and names, and back."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import batch_space

from rpsr import InputError
from rpsr.envs import NamedDiscrete
from rpsr.envs.labels import Labels

SPACES = [
    NamedDiscrete(["stop", "go"]),
    spaces.Discrete(4, start=-1),
    spaces.MultiDiscrete([2, 3, 4]),
    spaces.MultiDiscrete(np.array([[2, 3], [4, 2]])),
    spaces.MultiBinary(3),
    spaces.Box(-1, 2, (2,), np.int8),
    spaces.Tuple((spaces.Discrete(3), spaces.MultiDiscrete([2, 2]), spaces.Discrete(2, start=5))),
    spaces.Dict({"hand": spaces.Discrete(3), "deck": spaces.MultiBinary(2)}),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_codes_count_all_values_once(space):
    labels = Labels(space, "observation")
    values = [labels.value(code) for code in range(labels.size)]
    assert all(space.contains(value) for value in values)
    assert [labels.code(value) for value in values] == list(range(labels.size))
    assert len({labels.name(code) for code in range(labels.size)}) == labels.size


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_a_batch_is_coded_like_its_values(space):
    labels, many = Labels(space, "observation"), batch_space(space, 6)
    many.seed(0)
    batch = many.sample()
    singles = list(gymnasium.vector.utils.iterate(many, batch))
    assert labels.codes(batch, 6).tolist() == [labels.code(value) for value in singles]
    objects = np.full(6, None, dtype=object)
    for i, value in enumerate(singles):
        objects[i] = value
    assert labels.codes_of(objects).tolist() == labels.codes(batch, 6).tolist()


def test_names():
    assert Labels(spaces.Discrete(3, start=2), "action").names == ("2", "3", "4")
    blackjack = Labels(gymnasium.make("Blackjack-v1").observation_space, "observation")
    assert blackjack.name(blackjack.code((14, 10, 1))) == "14,10,1"
    assert blackjack.names is None


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(-1, 1, (2,)),
        spaces.Tuple((spaces.Discrete(2), spaces.Box(0, 1))),
        spaces.Text(3),
        spaces.Box(0, 255, (84, 84), np.uint8),
    ],
    ids=["box", "inside a tuple", "text", "pixels"],
)
def test_what_cannot_be_named_is_refused_with_the_way_out(space):
    with pytest.raises(InputError, match=r"observation_space: .*; put a discretiser in front"):
        Labels(space, "observation")


def test_a_value_outside_is_refused():
    with pytest.raises(InputError, match="observation: read 3, expected a value of Discrete"):
        Labels(spaces.Discrete(3), "observation").code(3)
