"""Sums over items of work: the same tree of additions, whoever adds (see also `test_cluster`)."""

import os
from functools import reduce
from operator import add, iadd

import numpy as np
import pytest

from rpsr.errors import RpsrError
from rpsr.parallel import Processes
from rpsr.tree_sums import FAN, summed


def level_by_level(leaves, add):
    """The same sums, as the documentation says them."""
    while len(leaves) > 1:
        groups = [leaves[k : k + FAN] for k in range(0, len(leaves), FAN)]
        leaves = [reduce(add, group) for group in groups]
    return leaves[0]


@pytest.mark.parametrize("count", [1, 2, 4, 5, 16, 17, 33, 63, 64, 65, 100])
def test_the_tree_depends_on_the_number_of_items_alone(deeds, count):
    total = summed(str, range(count), None, deeds.joined, None, "item")
    assert total == level_by_level(list(map(str, range(count))), deeds.joined)


def test_processes_are_given_every_item_and_the_tree_is_the_same(deeds):
    """Results that come in another order are added in theirs, and here."""
    said = []
    with Processes(2) as pool:
        whole = summed(deeds.double, range(70), pool, deeds.joined, said.append, "item")
        assert summed(deeds.nobody, range(70), pool, deeds.adders, None, "") == {os.getpid()}
        total = summed(deeds.double, range(70), pool, add, None, "", exact=True)
    assert total == 69 * 70
    assert whole == summed(deeds.double, range(70), None, deeds.joined, None, "item")
    assert said == [f"item {number} of 70" for number in range(1, 71)]


@pytest.mark.parametrize(("exact", "expected"), [(False, 7), (True, 3)])
def test_few_sums_are_held_at_once(exact, expected):
    """One for each level of the tree, or one if they are exact, and those that are added."""
    held = most = 0

    class Held(float):
        def __init__(self, _):
            nonlocal held, most
            held += 1
            most = max(most, held)

        def __del__(self):
            nonlocal held
            held -= 1

        def __add__(self, other):
            return Held(float(self) + float(other))

    assert summed(Held, range(1000), None, Held.__add__, None, "", exact=exact) == 999 * 500
    assert most == expected


def test_a_sum_may_be_changed_in_place():
    total = summed(lambda k: np.full(3, float(k)), range(50), None, iadd, None, "")
    assert total.tolist() == [1225.0] * 3


def test_an_item_whose_processes_are_killed_is_an_error(deeds, tmp_path):
    items = [str(tmp_path / name) for name in ("a", "deadly", "b")]
    with (
        Processes(2) as pool,
        pytest.raises(RpsrError, match="item 2 of 3: the processes that ran it were"),
    ):
        summed(deeds.die, items, pool, deeds.joined, None, "item")
    with Processes(2) as pool, pytest.raises(ValueError, match="no 1"):
        summed(deeds.fail, [1, 1, 1], pool, deeds.joined, None, "item")
