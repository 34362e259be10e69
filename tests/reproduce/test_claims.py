"""Verdicts on the paper's sentences: which hold, and what would make them fail."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest

from rpsr.io.classics.checksums import CLASSICS
from rpsr.reproduce import paper
from rpsr.reproduce.claims import claims
from rpsr.reproduce.run import Reproduction, corpus_counts
from rpsr.reproduce.story import Findings, plans_text
from rpsr.reproduce.verdicts import Verdict


def verdict(all_, words):
    (matching,) = (claim for claim in claims(all_) if words in claim.says)
    return matching.verdict


def changed(all_, name, change):
    """The same reproduction with one answer changed."""
    answers = deepcopy(all_.answers)
    change(answers[name])
    return Reproduction(all_.settings, answers)


def test_one_sentence_is_wrong_and_none_is_forgotten(results):
    verdicts = [claim.verdict for claim in claims(results)]
    assert verdicts.count(Verdict.DIFFERS) == 1
    assert verdict(results, "the PSR's rewards are") is Verdict.DIFFERS
    assert verdict(results, "converged on only 6") is Verdict.OPEN  # a quick look
    assert all(claim.finding and claim.where for claim in claims(results))


@pytest.mark.parametrize(
    "words",
    [
        "a PSR of rank 5",
        "goes back and forth",
        "absolute and relative",
        "are all zero",
        "every trajectory the same return",
        "are the same policy",
        "worse than random",
        "in 3 of 6 cases",
    ],
)
def test_sentences_that_hold(results, words):
    assert verdict(results, words) is Verdict.AGREES


@pytest.mark.parametrize(
    "words",
    [
        "found breadth-first",
        "never mild",
        "1,000 episodes",
        "another return",
        "everywhere but on line4-2goals",
        "are sub-optimal",
        "bold marks",
    ],
)
def test_sentences_that_need_a_qualification(results, words):
    assert verdict(results, words) is Verdict.QUALIFIED


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("errors-paint", lambda row: row.update(d_inf=1.0), "absolute and relative"),
        ("errors-iff", lambda row: row.update(rpsr_d_inf=0.1), "are all zero"),
        (
            "returns-parr",
            lambda doc: doc["experiment"].update(disagreement=1e-3),
            "every trajectory the same return",
        ),
        (
            "returns-parr",
            lambda doc: doc["experiment"].update(same_episodes=False),
            "are the same policy",
        ),
        (
            "returns-loadunload",
            lambda doc: doc["experiment"]["psr_range"].update(greatest=[2.0, 2.0]),
            "worse than random",
        ),
        (
            "returns-parr",
            lambda doc: [row.update(exact=9.0) for row in doc["experiment"]["estimates"]],
            "in 3 of 6 cases",
        ),
        ("case-study", lambda doc: doc["rewards"][0].sort(), "only states 1 and 8"),
        ("case-study", lambda doc: doc.update(psr_rank=6), "a PSR of rank 5"),
        ("errors-parr", lambda row: row.update(rel_d_inf=0.1), "never mild"),
        (
            "returns-line4-2goals",
            lambda doc: (
                doc["experiment"]["psr_range"].update(greatest=[0.4, 0.4])
                or [
                    row.update(exact=0.4)
                    for row in doc["experiment"]["estimates"]
                    if (row["policy"], row["model"]) == ("psr-vi", "pomdp")
                ]
            ),
            "everywhere but on line4-2goals",
        ),
    ],
)
def test_a_result_that_contradicts_a_sentence_changes_its_verdict(results, name, change, words):
    assert verdict(changed(results, name, change), words) is Verdict.DIFFERS


def test_what_is_said_beside_a_verdict_is_computed(results):
    def said(all_, words):
        (claim,) = (claim for claim in claims(all_) if words in claim.says)
        return claim.finding

    assert "on iff, line4-2goals and paint, other rewards" in said(results, "never mild")
    other = changed(results, "errors-iff", lambda row: row.update(least_d_inf=row["d_inf"]))
    assert "on line4-2goals and paint, other rewards" in said(other, "never mild")
    assert "which shows on parr" in said(results, "1,000 episodes")
    other = changed(results, "returns-parr", lambda doc: doc.update(program={}))
    assert "which shows" not in said(other, "1,000 episodes")
    assert "in another order" in said(results, "the PSR's rewards are")
    other = changed(results, "case-study", lambda doc: doc.update(psr_rewards=[[1.0] * 5]))
    assert "in another order" not in said(other, "the PSR's rewards are")
    assert "does not change the optimum" in plans_text(results)
    shown = changed(
        results, "returns-parr", lambda doc: doc["reward_aware"][1].update(lower=8.0, upper=8.0)
    )
    assert "changes the optimum on parr" in plans_text(shown)


def test_the_headline_follows_the_results(results):
    assert Findings(results).confirmed
    lossy = changed(results, "errors-iff", lambda row: row.update(rpsr_d_inf=0.1))
    assert not Findings(lossy).confirmed
    assert "Not confirmed" in Findings(lossy).paragraph()


# ---- the 63


def test_the_63_are_60_classics_and_three_more():
    assert len(paper.DOMAINS_63) == len(set(paper.DOMAINS_63)) == 63
    classics = {classic.name for classic in CLASSICS}
    assert set(paper.DOMAINS_63) - classics == {"loadunload", "heavenhell", "floatreset"}


def rows(names, wrong=()):
    return {
        f"corpus-{name}": {
            "domain": name,
            "error": None,
            "accurate": name not in wrong,
            "states": 3,
            "psr_rank": 3,
            "rel_d_inf": 0.7 if name in wrong else 0.0,
            "rpsr_d_inf": 0.0,
        }
        for name in names
    }


def test_a_folder_is_counted_among_the_63_and_beyond(results):
    wrong = [*sorted(paper.DOMAINS_63)[:8], "baseball"]
    answers = results.answers | rows([*paper.DOMAINS_63, "baseball", "mine"], wrong)
    all_ = replace(results, answers=answers)
    counts = corpus_counts(all_.corpus)
    assert (len(counts["known"]), len(counts["inaccurate"]), counts["missing"]) == (63, 8, [])
    assert (counts["beyond"], counts["inaccurate_beyond"]) == (["baseball", "mine"], ["baseball"])
    assert verdict(all_, "8 of the 63") is Verdict.AGREES
    fewer = replace(results, answers=results.answers | rows(paper.DOMAINS_63, wrong[:7]))
    assert verdict(fewer, "8 of the 63") is Verdict.DIFFERS


def test_files_that_are_missing_leave_the_count_open(results):
    answers = results.answers | rows(["paint.95", "mine"])
    assert verdict(replace(results, answers=answers), "8 of the 63") is Verdict.OPEN


def test_a_file_that_cannot_be_read_is_named(results):
    broken = rows(["paint.95"])
    broken["corpus-paint.95"] |= {"error": "no", "accurate": None, "rel_d_inf": None}
    counts = corpus_counts(replace(results, answers=results.answers | broken).corpus)
    assert counts["unread"] == ["paint.95"]
    assert "paint.95" in counts["missing"]
