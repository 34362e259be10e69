"""With python-flint and without it, the same certificates of ranks are accepted."""

import json

import pytest

from rpsr import InputError, verify
from rpsr.certificates import ranks
from rpsr.domains import build
from rpsr.predictive.rank_certificates import save_rank_certificate

flint = pytest.importorskip("flint")


@pytest.fixture(params=["loadunload", "parr", "heavenhell"])
def made(request, tmp_path):
    pomdp = build(request.param)
    save_rank_certificate(pomdp, tmp_path / "c.json", ["rpsr"])
    header, line = map(json.loads, (tmp_path / "c.json").read_text().splitlines())
    return pomdp, header, line["rank"]


def both_ways(monkeypatch, path, pomdp, header, rank):
    """What the verifier answers with python-flint, which is the same as without it."""
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, {"rank": rank})))
    answers = []
    for module in (flint, None):
        with monkeypatch.context() as patch:
            patch.setattr(ranks, "_flint", lambda module=module: module)
            try:
                answers.append(verify(pomdp, path).rpsr_rank)
            except InputError as error:
                answers.append(str(error))
    assert answers[0] == answers[1]
    return answers[0]


def test_a_true_certificate_is_accepted_by_flint_alone(made, tmp_path, monkeypatch):
    assert both_ways(monkeypatch, tmp_path / "c.json", *made) == made[2]["rank"]
    monkeypatch.setattr(ranks, "_Echelon", None)
    assert verify(made[0], tmp_path / "c.json").rpsr_rank == made[2]["rank"]


def test_a_dependent_member_is_refused_and_named(made, tmp_path, monkeypatch):
    _, _, rank = made
    rank["members"][-1] = rank["members"][0]
    last = rank["rank"] - 1
    said = both_ways(monkeypatch, tmp_path / "c.json", *made)
    assert f"member {last} depends linearly on those of the members" in said


@pytest.mark.parametrize("modulus", [2**31 + 1, 2**64 - 1, 2**89 - 1])
def test_flint_is_not_asked_modulo_composite_or_large_numbers(made, modulus, tmp_path, monkeypatch):
    """It would end the process. The first two of these are divisible by 3, the third is prime."""
    made[2]["modulus"] = modulus
    assert both_ways(monkeypatch, tmp_path / "c.json", *made) is not None
