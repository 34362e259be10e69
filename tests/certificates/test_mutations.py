"""No damaged certificate that states something false is accepted."""

import pytest
from tests.certificates.mutations import count, intact

from rpsr.certificates import bounds
from rpsr.domains import build
from rpsr.models.timed import timed


def four_steps(name):
    return timed(build(name).with_discount(1), 4)


@pytest.mark.parametrize("make", [build, four_steps])
@pytest.mark.parametrize("name", ["tiger", "parr"])
def test_nothing_false_is_accepted(name, make):
    found = count(intact(make(name), 1e-2, 1e-9), 400, seed=0)
    assert not [mutation for mutation, end in found if end == "false"]
    refused = sum(times for (_, end), times in found.items() if end == "refused")
    assert refused > 200  # most damage is noticed, so the mutations bite


@pytest.mark.parametrize("unchecked", ["LowerCheck.slack", "UpperCheck.needed"])
def test_the_count_notices_a_verifier_that_does_not_check(monkeypatch, unchecked):
    whole = intact(build("parr"), 1e-2, 1e-9)
    owner, method = unchecked.split(".")
    passes = {"slack": lambda *_: iter([1] * 10), "needed": lambda *_: 0}[method]
    monkeypatch.setattr(getattr(bounds, owner), method, passes)
    assert [mutation for mutation, end in count(whole, 200, seed=0) if end == "false"]
