"""Certificates of ranks: proven from both sides, and refused where one side fails."""

import json

import pytest

from rpsr import POMDP, InputError, ModelError, accuracy, verify
from rpsr.domains import NAMES, build
from rpsr.predictive.rank_certificates import save_rank_certificate


def lines_of(pomdp, tmp_path, kinds=("psr", "rpsr")):
    path = tmp_path / "c.json"
    save_rank_certificate(pomdp, path, kinds)
    return [json.loads(line) for line in path.read_text().splitlines()]


def verified(pomdp, tmp_path, lines):
    path = tmp_path / "c.json"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return verify(pomdp, path)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("tag", "iff")])
def test_ranks_and_accuracy_of_built_in_domains_are_proven(tmp_path, name):
    pomdp = build(name)
    proof = verified(pomdp, tmp_path, lines_of(pomdp, tmp_path))
    expected = accuracy(pomdp)
    ranks = (expected.psr.rank, expected.rpsr.rank)
    assert (proof.psr_rank, proof.rpsr_rank) == ranks
    assert proof.accurate == expected.accurate
    assert (proof.lower, proof.upper) == (None, None)


def refused(pomdp, tmp_path, lines):
    with pytest.raises(InputError) as caught:
        verified(pomdp, tmp_path, lines)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def merging(tmp_path):
    """The PSR of loadunload: rank 5 of 10 states, by blocks."""
    pomdp = build("loadunload")
    return pomdp, lines_of(pomdp, tmp_path, ["psr"])


def test_a_rank_that_is_too_high_or_too_low_is_refused(merging, tmp_path):
    pomdp, lines = merging
    line = lines[1]["rank"]
    members = line["members"]
    lines[0]["psr_rank"] = line["rank"] = 4
    line["members"] = members[:-1]
    assert "basis" in refused(pomdp, tmp_path, lines)
    lines[0]["psr_rank"] = line["rank"] = 6
    line["members"] = [*members, members[0]]
    assert "from 0 to 5" in refused(pomdp, tmp_path, lines)


def test_dependent_members_are_refused(merging, tmp_path):
    pomdp, lines = merging
    line = lines[1]["rank"]
    line["members"][-1] = line["members"][0]
    assert "member 4 depends linearly on those of the members before it" in refused(
        pomdp, tmp_path, lines
    )


def test_blocks_that_can_be_told_apart_are_refused(merging, tmp_path):
    pomdp, lines = merging
    line = lines[1]["rank"]
    line["blocks"][0], line["blocks"][-1] = line["blocks"][-1], line["blocks"][0]
    assert "are in one block, but have different" in refused(pomdp, tmp_path, lines)
    line["blocks"] = [0] * len(line["blocks"])
    line["rank"], line["members"] = 1, [[[], None]]
    assert "are in one block, but have different" in refused(pomdp, tmp_path, lines)


@pytest.mark.parametrize("which", ["inside", "accurate", "psr_rank"])
def test_a_wrong_verdict_is_refused(merging, tmp_path, which):
    pomdp, lines = merging
    if which == "inside":
        lines[1]["rank"]["inside"][0] ^= True
    else:
        lines[0][which] = True if which == "accurate" else 7
    refused(pomdp, tmp_path, lines)


@pytest.mark.parametrize("modulus", [2, 6, 4])
def test_a_modulus_that_divides_a_denominator_is_refused(tmp_path, modulus):
    pomdp = build("tiger")  # of 85/100 and 1/2
    lines = lines_of(pomdp, tmp_path, ["psr"])
    lines[1]["rank"]["modulus"] = modulus
    assert "no entry of the remainder has an inverse" in refused(pomdp, tmp_path, lines)


def test_a_modulus_need_not_be_prime_but_its_pivots_invertible(tmp_path):
    pomdp = build("tiger")
    lines = lines_of(pomdp, tmp_path, ["psr"])
    lines[1]["rank"]["modulus"] = 11 * 13
    assert verified(pomdp, tmp_path, lines).psr_rank == 2


def short_of_blocks():
    """Two states that show themselves, and one that moves to either: none are alike.

    What the third predicts is the mean of what the others do, so that the rank is 2.
    """
    coin = [[[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]]
    moved = [[[1.0, 0, 0], [0.5, 0, 0.5], [0, 0, 1.0]]]
    return POMDP.from_arrays(moved, coin, [[0.0], [1.0], [2.0]], None, 0.9, exact=True)


def test_a_basis_proves_a_rank_below_the_number_of_blocks(tmp_path):
    pomdp = short_of_blocks()
    lines = lines_of(pomdp, tmp_path)
    assert lines[1]["rank"]["basis"] is not None
    proof = verified(pomdp, tmp_path, lines)
    assert (proof.psr_rank, proof.rpsr_rank, proof.accurate) == (2, 2, True)
    line = lines[1]["rank"]
    basis = json.loads(json.dumps(line["basis"]))
    line["basis"][0][-1] = "1/3"
    refused(pomdp, tmp_path, lines)
    line["basis"] = basis[:-1]
    assert "expected a list of 2 vectors" in refused(pomdp, tmp_path, lines)
    line["basis"] = None
    refused(pomdp, tmp_path, lines)
    line["basis"] = [basis[1], basis[1]]
    assert "is not in reduced row echelon form" in refused(pomdp, tmp_path, lines)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "both"},
        {"rank": "x"},
        {"modulus": 1},
        {"members": None},
        {"members": [[[[0, 9]], None]] * 5},
        {"members": [[[[0, 0]], 0]] * 5},
        {"members": [[[0], None]] * 5},
        {"blocks": [0]},
        {"blocks": [99] * 10},
        {"blocks": [1] * 10},
    ],
)
def test_wrong_lines_are_one_line_of_error(merging, tmp_path, change):
    pomdp, lines = merging
    lines[1]["rank"] |= change
    refused(pomdp, tmp_path, lines)


def test_a_rank_that_is_not_a_whole_number_is_refused(merging, tmp_path):
    pomdp, lines = merging
    lines[0]["accurate"] = int(lines[0]["accurate"])
    assert "accurate: the certificate states" in refused(pomdp, tmp_path, lines)


def test_a_certificate_that_states_nothing_is_refused(merging, tmp_path):
    pomdp, lines = merging
    lines[0]["lines"] = {}
    del lines[0]["psr_rank"], lines[0]["accurate"]
    assert "states nothing" in refused(pomdp, tmp_path, lines[:1])


def test_a_model_in_floats_has_no_certificate_of_ranks(tmp_path):
    pomdp = POMDP.from_arrays([[[1.0]]], [[[1.0]]], [[0.0]], None, 0.9)
    with pytest.raises(ModelError, match="known only in floats"):
        save_rank_certificate(pomdp, tmp_path / "c.json")
