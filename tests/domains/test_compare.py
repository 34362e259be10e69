"""The comparison that the corpus tests rest on notices every kind of difference."""

from fractions import Fraction
from pathlib import Path

import pytest
from tests.domains.compare import assert_same_as_file

from rpsr.domains.choices import tiger

TIGER = """
discount: 0.95
values: reward
states: 2
actions: listen open-left open-right
observations: tiger-left tiger-right
start: 0.5 0.5
T: listen identity
T: open-left uniform
T: open-right uniform
O: * uniform
O: listen : 0 0.85 0.15
O: listen : 1 0.15 0.85
R: * : * : * : * 10
R: listen : * : * : * -1
R: open-left : 0 : * : * -100
R: open-right : 1 : * : * -100
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "tiger.pomdp"
    path.write_text(text)
    return path


def test_the_same_story_is_the_same(tmp_path: Path) -> None:
    assert_same_as_file(tiger(), written(tmp_path, TIGER), tolerance=0)


@pytest.mark.parametrize(
    ("said", "instead"),
    [
        ("discount: 0.95", "discount: 0.96"),
        ("states: 2", "states: tiger-right tiger-left"),
        ("open-left open-right", "open-right open-left"),
        ("tiger-left tiger-right", "left right"),
        ("start: 0.5 0.5", "start: 0.4 0.6"),
        ("T: listen identity", "T: listen uniform"),
        ("0 0.85 0.15", "0 0.8500001 0.1499999"),
        ("0 0.85 0.15", "0 1 0"),
        ("* uniform", "* 1 0 1 0"),
        ("listen : * : * : * -1", "listen : * : * : 0 -2"),
    ],
)
def test_any_difference_is_noticed(tmp_path: Path, said: str, instead: str) -> None:
    assert said in TIGER
    with pytest.raises(AssertionError):
        assert_same_as_file(tiger(), written(tmp_path, TIGER.replace(said, instead)), tolerance=0)


def test_a_tolerance_forgives_rounding_but_no_missing_entry(tmp_path: Path) -> None:
    tolerance = Fraction(1, 10**6)
    rounded = TIGER.replace("0 0.85 0.15", "0 0.8500001 0.1499999")
    assert_same_as_file(tiger(), written(tmp_path, rounded), tolerance)
    missing = written(tmp_path, TIGER.replace("0 0.85 0.15", "0 1 0"))
    with pytest.raises(AssertionError):
        assert_same_as_file(tiger(accuracy=1 - tolerance / 2), missing, tolerance)
