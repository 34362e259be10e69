"""No damaged certificate that states something false is accepted."""

from fractions import Fraction

import pytest
from tests.certificates.mutations import count, drawn_model, of_bounds, of_controllers, of_ranks

from rpsr.certificates import bounds, controllers, ranks
from rpsr.certificates.reading import number
from rpsr.domains import build


def drawn():
    """A random model whose PSR has rank 2 on 3 blocks: a basis proves it."""
    return drawn_model(3, 12).pomdp()


MADE = {
    "tiger": lambda: of_bounds(build("tiger")),
    "parr": lambda: of_bounds(build("parr")),
    "tiger, 4 steps": lambda: of_bounds(build("tiger"), 4),
    "parr, 4 steps": lambda: of_bounds(build("parr"), 4),
    "ranks of loadunload": lambda: of_ranks(build("loadunload")),
    "ranks of a random model": lambda: of_ranks(drawn()),
    "controller of tiger": lambda: of_controllers(build("tiger")),
    "controller of loadunload": lambda: of_controllers(build("loadunload")),
}


@pytest.mark.parametrize("name", MADE)
def test_nothing_false_is_accepted(name):
    ends = count(MADE[name](), 400, seed=0)
    assert not [mutation for mutation, end in ends if end in ("false", "undecided")]
    refused = sum(times for (_, end), times in ends.items() if end == "refused")
    assert refused > 200  # most damage is noticed, so the mutations bite


class Alike(Fraction):
    """A number that differs from no other."""

    def __ne__(self, other):
        return False


# Each check of the verifier, and what takes its place: nothing is noticed any more.
UNCHECKED = [
    ("parr", bounds.LowerCheck, "slack", lambda *_: iter([1] * 10)),
    ("parr", bounds.UpperCheck, "needed", lambda *_: 0),
    ("ranks of loadunload", ranks._Blocks, "check_lumpable", lambda *_: None),
    ("ranks of loadunload", ranks, "_check_independent", lambda *_: None),
    ("ranks of a random model", ranks._Span, "check_closed", lambda *_: None),
    ("controller of tiger", controllers, "number", lambda value, what: Alike(number(value, what))),
]


@pytest.mark.parametrize(("name", "owner", "check", "passes"), UNCHECKED)
def test_the_count_notices_a_verifier_that_does_not_check(monkeypatch, name, owner, check, passes):
    whole = MADE[name]()
    monkeypatch.setattr(owner, check, passes)
    assert [mutation for mutation, end in count(whole, 200, seed=0) if end == "false"]
