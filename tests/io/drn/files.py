"""A small DRN file, and short ways to read variants of it."""

import pytest

from rpsr.errors import InputError
from rpsr.io.drn.reader import parse_drn
from rpsr.io.records import Record

HEADER = """\
// Exported by storm
@type: POMDP
@value_type: double
@parameters

@reward_models
cost time
@nr_states
4
@nr_choices
6
@model
"""
DOORS = f"""\
{HEADER}state 0 {{5}} [0, 1] init
//[x=1\t& y=1]
\taction look [1.5, 0]
\t\t1 : 1/3
\t\t2 : 2/3
state 1 {{2}} [-2, 0] closed
\taction left [0, 0]
\t\t1 : .25
\t\t3 : 7.5e-1
\taction right [1/4, 0]
\t\t3 : 1
state 2 {{2}} [0, 0] "the left door" closed
\taction left
\t\t3 : 1
\taction right
\t\t3 : 0.75
\t\t2 : 0.25
state 3 {{9}} deadlock goal
\taction __NOLABEL__
\t\t3 : 1
"""


def read(text: str, *, normalize: bool = False) -> Record:
    return parse_drn(text.encode(), place="f", name="f", normalize=normalize)


def refusal(text: str, *, normalize: bool = False) -> str:
    """The one-line error that a text ends in."""
    with pytest.raises(InputError) as refused:
        read(text, normalize=normalize)
    message = str(refused.value)
    assert "\n" not in message
    return message
