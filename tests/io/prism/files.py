"""A small model in the explicit form, and short ways to read variants of it."""

import pytest

from rpsr.errors import InputError
from rpsr.io.prism.reader import parse_prism
from rpsr.io.records import Record

COMMANDS = """\
  [look] s=0 -> 1/3 : (s'=1) & (o'=0) + 2/3 : (s'=2) & (o'=0);
  [left] s=1 -> 0.75 : (s'=3) & (o'=1) + .25 : (s'=1) & (o'=0);
  [right] s=1 -> 1 : (s'=4) & (o'=4);
  [left] s=2 -> (o'=4) & (s'=4);
  [right] s=2 -> 7.5e-1 : (s'=3) & (o'=1) + 0.25 : (s'=2) & (o'=0);
  [look] s=3 -> 1.0 : (s'=3) & (o'=1);
  [look] s=4 -> 1.0 : (s'=4) & (o'=4);
"""
MODULE = f"""\
// two doors
pomdp

observables
  o
endobservables

module doors // the only one
  s : [0..5] init 0;
  o : [0..9] init 7;
{COMMANDS}endmodule
"""
LABELS = 'label "goal" = s=3;\nlabel "end" = (s=3) | s=4;\nlabel "none" = false;\n'
REWARDS = """\
rewards "steps"
  s=1 : 2;
  o=0 : 0.5;
  [left] s=1 : -1/4;
  [look] true : 1e1;
endrewards
rewards "other"
  [left] true : 1;
endrewards
"""
DOORS = MODULE + LABELS + REWARDS


def read(text: str, *, normalize: bool = False) -> Record:
    return parse_prism(text.encode(), place="f", name="f", normalize=normalize)


def refusal(text: str, *, normalize: bool = False) -> str:
    """The one-line error that a text ends in."""
    with pytest.raises(InputError) as refused:
        read(text, normalize=normalize)
    message = str(refused.value)
    assert "\n" not in message
    return message
