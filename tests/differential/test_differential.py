"""A thousand models of the differential run; CONTRIBUTING.md says how to run more."""

import pytest
from tests.differential.__main__ import check_chunk

MODELS, CHUNKS = 1000, 20
SIZE = MODELS // CHUNKS


@pytest.mark.parametrize("first", range(0, MODELS, SIZE))
def test_nothing_is_violated(first):
    tally = check_chunk(0, list(range(first, first + SIZE)))
    assert tally.models == SIZE
    assert not tally.violations, "\n".join(map(str, tally.violations))
