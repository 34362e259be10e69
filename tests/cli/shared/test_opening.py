"""Opening sources: what is announced, and names that are refused."""

import pytest

from rpsr import InputError
from rpsr.cli.shared import opening


def test_a_name_that_is_too_long_for_a_file_is_one_error():
    with pytest.raises(InputError):
        opening.load("tiger:" + "x" * 5000)
