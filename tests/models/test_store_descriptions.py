"""Labels and availability in native files, in parts of a model, and in other views of it."""

from dataclasses import replace

import numpy as np
import pytest
from tests.io.drn.files import DOORS, read

from rpsr import InputError
from rpsr.models.pomdp import POMDP
from rpsr.models.store import from_native_bytes, native_bytes
from rpsr.models.terminal import continuing
from rpsr.planning.compression import restricted

LABELS = {"closed": (1, 2), "the left door": (2,), "deadlock": (3,), "goal": (3,)}


def doors() -> POMDP:
    return POMDP(read(DOORS))


def test_a_native_file_keeps_them():
    again = from_native_bytes(native_bytes(doors()), "f")
    assert again.labels == LABELS
    assert np.array_equal(again.unavailable, doors().unavailable)
    assert again == doors()


def test_they_are_no_part_of_the_identity():
    bare = POMDP(replace(doors().record, labels=(), unavailable=None))
    assert bare == doors()
    assert from_native_bytes(native_bytes(bare), "f").unavailable is None


def test_variants_keep_them():
    for variant in (doors().with_discount("0.9"), doors().with_name("x")):
        assert variant.labels == LABELS
        assert np.array_equal(variant.unavailable, doors().unavailable)


def test_another_view_keeps_them():
    again = continuing(doors())
    assert again.labels == LABELS
    assert np.array_equal(again.unavailable, doors().unavailable)


def test_a_part_renumbers_them():
    part = restricted(doors(), np.array([1, 3]))
    assert part.labels == {"closed": (0,), "the left door": (), "deadlock": (1,), "goal": (1,)}
    assert np.array_equal(part.unavailable, doors().unavailable[:, [1, 3]])


@pytest.mark.parametrize("states", [[4], [-1], [2, 1], [1, 1], [True], ["1"], 3, None])
def test_damaged_labels(states):
    with pytest.raises((InputError, TypeError), match="indices of states, ascending"):
        damaged(labels=(("goal", states),))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda u: u[:, :2], "unavailable: read"),
        (lambda u: u.astype(np.int64), "unavailable: read"),
        (lambda u: u | True, "unavailable: a state has no action"),
        (lambda u: u & [[True, True, False, True]], "an observation does not tell which actions"),
        # Of the two actions behind the doors, the second does not act as the first.
        (lambda u: u | np.isin(np.arange(4), 2)[:, None] & [[False, True, True, False]],
         "an action does not act as the first available one"),
    ],
)  # fmt: skip
def test_damaged_availability(change, message):
    unavailable = doors().unavailable
    with pytest.raises(InputError, match=message):
        damaged(unavailable=change(unavailable))


def damaged(**changes) -> None:
    record = doors().record
    for name, value in changes.items():
        object.__setattr__(record, name, value)
    from_native_bytes(native_bytes(POMDP(record)), "f")
