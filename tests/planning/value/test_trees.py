"""Following a policy tree step by step."""

import numpy as np
import pytest

from rpsr import InputError, ModelError
from rpsr.planning.value.trees import PolicyTree, TreePolicy

LAST = np.array([0, 1]), np.full((2, 2), -1)
FIRST = np.array([1]), np.array([[0, 1]])


def test_a_tree_is_followed_by_its_own_actions_to_the_end():
    policy = TreePolicy(PolicyTree(("a", "b"), ("o", "p"), (LAST, FIRST)))
    assert policy.act() == 1
    policy.update("b", "p")
    assert policy.act() == 1
    policy.update("b", "o")
    assert policy.memory[0] == 0
    policy.update("a", "o")  # after the end any action may be taken
    with pytest.raises(ModelError, match="horizon of 2 steps is over"):
        policy.act()
    policy.reset()
    policy.update("b", "o")
    assert policy.act() == 0


def test_a_tree_has_subtrees_for_its_own_actions_only():
    policy = TreePolicy(PolicyTree(("a", "b"), ("o", "p"), (LAST, FIRST)))
    with pytest.raises(
        ModelError, match="the tree chose action 'b', but `update` received action 'a'"
    ):
        policy.update("a", "o")


@pytest.mark.parametrize("shape", [(1, 1), (2, 2)])
def test_a_layer_has_a_successor_for_each_tree_and_observation(shape):
    layer = np.zeros(1, dtype=np.int64), np.full(shape, -1)
    message = rf"layer 1: successors: read shape \({shape[0]}, {shape[1]}\), expected .*\(1, 2\)"
    with pytest.raises(InputError, match=message):
        PolicyTree(("a", "b"), ("o", "p"), (layer,))


def test_a_layer_has_trees():
    layer = np.zeros(0, dtype=np.int64), np.full((0, 2), -1)
    with pytest.raises(InputError, match="layer 1: read no trees, expected at least one"):
        PolicyTree(("a", "b"), ("o", "p"), (layer,))
