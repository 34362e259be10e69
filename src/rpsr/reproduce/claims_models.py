"""The paper's claims about models: its case study, and which domains have inaccurate PSRs."""

from __future__ import annotations

from collections.abc import Iterator

from rpsr.reproduce import paper
from rpsr.reproduce.case_study import CaseStudy
from rpsr.reproduce.cells import SAME
from rpsr.reproduce.claim import Claim, holds, listed
from rpsr.reproduce.run import Reproduction, corpus_counts
from rpsr.reproduce.verdicts import Verdict


def case_study_claims(all_: Reproduction) -> Iterator[Claim]:
    """Section 3, the case study."""
    case = all_.case
    where = "3, case study"
    yield Claim(
        where,
        "load/unload has 10 states and a PSR of rank 5",
        f"{len(case['states'])} states, rank {case['psr_rank']} (R-PSR: {case['rpsr_rank']})",
        holds((len(case["states"]), case["psr_rank"]) == (10, 5)),
    )
    printed = [[float(digit) for digit in row] for row in paper.CORE_TESTS.values()]
    same = sum(ours == theirs for ours, theirs in zip(case["outcomes"], printed, strict=True))
    yield Claim(
        "3, Table 1",
        "the outcomes of five core tests, found breadth-first",
        f"{same} of {len(printed)} rows are equal; with observations in the file's order the "
        f"fifth test is '{case['breadth_first'][-1]}'",
        Verdict.QUALIFIED if same == len(printed) else Verdict.DIFFERS,
    )
    pairs = [sorted(group) for group in case["alike"]]
    yield Claim(
        where,
        "the PSR cannot tell a loaded cart from an empty one",
        f"{sum(len(pair) for pair in pairs)} states look alike in {len(pairs)} pairs",
        holds(len(pairs) == 5 and all(len(pair) == 2 for pair in pairs)),
    )
    rewarded = all(tuple(row) == paper.REWARDS for row in case["rewards"])
    rebuilt = all(tuple(row) == paper.RECONSTRUCTION for row in case["reconstruction"])
    yield Claim(
        where,
        "only states 1 and 8 pay, 1 each; to the PSR, states 0, 1, 8 and 9 pay a half",
        "both vectors are right" if rewarded and rebuilt else "at least one vector differs",
        holds(rewarded and rebuilt),
    )
    yield _psr_rewards(case)
    does = {
        name: sorted({walk["behaviour"] for walk in walks}) for name, walks in case["walks"].items()
    }
    back, stay = ["moves back and forth between the ends"], ["reaches an end and stays there"]
    yield Claim(
        where,
        "the optimal cart goes back and forth; the PSR's reaches an end and stays",
        f"from each state, POMDP-VI {does['pomdp'][0]}, R-PSR-VI {does['rpsr'][0]}, PSR-VI "
        f"{does['psr'][0]}",
        holds(does["pomdp"] == back and does["rpsr"] == back and does["psr"] == stay),
    )


def _psr_rewards(case: CaseStudy) -> Claim:
    ours, theirs = case["psr_rewards"][0], list(paper.PSR_REWARDS)
    rebuilt = tuple(
        sum(weight * outcome for weight, outcome in zip(theirs, column, strict=True))
        for column in zip(*case["outcomes"], strict=True)
    )
    finding = f"({_vector(ours)}) in the order of Table 1"
    if ours != theirs and sorted(ours) == sorted(theirs):
        finding += "; the printed vector is right for the same tests in another order"
    if rebuilt != paper.RECONSTRUCTION:
        finding += ", and as printed does not give the printed reconstruction"
    return Claim(
        "3, case study",
        f"the PSR's rewards are ({_vector(theirs)})",
        finding,
        holds(ours == theirs),
    )


def _vector(numbers: list[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)


def domain_claims(all_: Reproduction) -> Iterator[Claim]:
    """Section 5, which domains."""
    yield from _counts(all_)
    errors, right = all_.errors, all_.count_right_errors
    yield Claim(
        "5, Table 2",
        "reward errors of the eight domains, absolute and relative",
        f"{right} of {2 * len(paper.ERRORS)} numbers are right to the last digit",
        holds(right == 2 * len(paper.ERRORS)),
    )
    rows = list(errors.values()) + [r for r in all_.corpus.values() if r["error"] is None]
    lost = max(row["rpsr_d_inf"] for row in rows)
    yield Claim(
        "5, Table 2",
        "the reward errors of R-PSRs are all zero",
        f"the largest is {lost:.0e} over {len(rows)} models, a rounding error",
        holds(lost < 1e-10),
    )
    least = min(row["rel_d_inf"] for row in rows if not row["accurate"])
    less = [name for name, row in errors.items() if row["least_d_inf"] < row["d_inf"] - SAME]
    but = f"; but on {listed(less)}, other rewards linear in the PSR's state have a smaller one"
    yield Claim(
        "5",
        "where a PSR is inaccurate its relative error is high, never mild",
        f"the relative error is at least {least:.2g}{but if less else ''}",
        Verdict.DIFFERS if least < 0.5 else Verdict.QUALIFIED if less else Verdict.AGREES,
    )


def _counts(all_: Reproduction) -> Iterator[Claim]:
    says = f"{paper.INACCURATE_OF_63} of the {len(paper.DOMAINS_63)} domains are not accurate"
    number = "63 domains: 60 of the classic repository and three more"
    if not all_.corpus:
        inaccurate = [name for name, row in all_.errors.items() if not row["accurate"]]
        yield Claim("5", number, "not counted: give the files with --corpus DIR", Verdict.OPEN)
        yield Claim(
            "5",
            says,
            f"{len(inaccurate)} of the eight domains that the paper names are not accurate; to "
            "count the other 55, give their files with --corpus DIR",
            Verdict.OPEN if len(inaccurate) == len(paper.ERRORS) else Verdict.DIFFERS,
        )
        return
    counts = corpus_counts(all_.corpus)
    known, wrong = counts["known"], counts["inaccurate"]
    missing = f"; {len(counts['missing'])} of the 63 are missing" if counts["missing"] else ""
    yield Claim(
        "5",
        number,
        f"the folder has {len(known)} of them and {len(counts['beyond'])} other files{missing}",
        Verdict.OPEN if counts["missing"] else Verdict.AGREES,
    )
    beyond = counts["inaccurate_beyond"]
    more = f"; of the other files {len(beyond)} of {len(counts['beyond'])} ({listed(beyond)})"
    same = len(wrong) == paper.INACCURATE_OF_63
    yield Claim(
        "5",
        says,
        f"{len(wrong)} of {len(known)}{more if beyond else ''}, in exact arithmetic",
        holds(same) if not counts["missing"] else Verdict.OPEN,
    )
    low = [name for name in known if all_.corpus[name]["psr_rank"] < all_.corpus[name]["states"]]
    right = sum(bool(all_.corpus[name]["accurate"]) for name in low)
    yield Claim(
        "3",
        "PSRs of low rank are the most likely to be inaccurate",
        f"only these can be inaccurate; but {right} of {len(low)} PSRs of low rank are accurate",
        Verdict.QUALIFIED if right else Verdict.AGREES,
    )
