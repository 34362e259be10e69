"""The paper's sentences that hold a number or a comparison, each with what we find and a verdict.

Sentences are told in our words; `where` says where they stand in the paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rpsr.report.reproduce import paper
from rpsr.report.reproduce.case_study import CaseStudy
from rpsr.report.reproduce.cells import SAME, best_policies, earned_by_all, judged_cells
from rpsr.report.reproduce.returns import Returns
from rpsr.report.reproduce.run import Reproduction, corpus_counts
from rpsr.report.reproduce.verdicts import Verdict, rounds_to

_AGREE = 1e-9  # of returns, on every trajectory


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, what we find, and the verdict."""

    where: str
    says: str
    found: str
    verdict: Verdict


def claims(all_: Reproduction) -> Iterator[Claim]:
    """Every claim: the case study, then which domains, then returns."""
    yield from _case_study(all_)
    yield from _domains(all_)
    yield from _returns(all_)


def _holds(true: bool) -> Verdict:
    return Verdict.AGREES if true else Verdict.DIFFERS


def _listed(names: list[str]) -> str:
    shown = [paper.DOMAINS.get(name, name) for name in names]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


# ---- section 3: the case study


def _case_study(all_: Reproduction) -> Iterator[Claim]:
    case = all_.case
    where = "3, case study"
    yield Claim(
        where,
        "load/unload has 10 states and a PSR of rank 5",
        f"{len(case['states'])} states, rank {case['psr_rank']} (R-PSR: {case['rpsr_rank']})",
        _holds((len(case["states"]), case["psr_rank"]) == (10, 5)),
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
        _holds(len(pairs) == 5 and all(len(pair) == 2 for pair in pairs)),
    )
    rewarded = all(tuple(row) == paper.REWARDS for row in case["rewards"])
    rebuilt = all(tuple(row) == paper.RECONSTRUCTION for row in case["reconstruction"])
    yield Claim(
        where,
        "only states 1 and 8 pay, 1 each; to the PSR, states 0, 1, 8 and 9 pay a half",
        "both vectors come out" if rewarded and rebuilt else "another vector comes out",
        _holds(rewarded and rebuilt),
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
        _holds(does["pomdp"] == back and does["rpsr"] == back and does["psr"] == stay),
    )


def _psr_rewards(case: CaseStudy) -> Claim:
    ours, theirs = case["psr_rewards"][0], list(paper.PSR_REWARDS)
    rebuilt = tuple(
        sum(weight * outcome for weight, outcome in zip(theirs, column, strict=True))
        for column in zip(*case["outcomes"], strict=True)
    )
    found = f"({_vector(ours)}) in the order of Table 1"
    if ours != theirs and sorted(ours) == sorted(theirs):
        found += "; the printed vector is right for the same tests in another order"
    if rebuilt != paper.RECONSTRUCTION:
        found += ", and as printed does not give the printed reconstruction"
    return Claim(
        "3, case study",
        f"the PSR's rewards are ({_vector(theirs)})",
        found,
        _holds(ours == theirs),
    )


def _vector(numbers: list[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)


# ---- section 5: which domains


def _domains(all_: Reproduction) -> Iterator[Claim]:
    yield from _counts(all_)
    errors = all_.errors
    right = sum(
        rounds_to(errors[name][key], text)
        for name, pair in paper.ERRORS.items()
        for key, text in zip(("d_inf", "rel_d_inf"), pair, strict=True)
    )
    yield Claim(
        "5, Table 2",
        "reward errors of the eight domains, absolute and relative",
        f"{right} of {2 * len(paper.ERRORS)} numbers come out to the last digit",
        _holds(right == 2 * len(paper.ERRORS)),
    )
    rows = list(errors.values()) + [r for r in all_.corpus.values() if r["error"] is None]
    lost = max(row["rpsr_d_inf"] for row in rows)
    yield Claim(
        "5, Table 2",
        "the reward errors of R-PSRs are all zero",
        f"at most {lost:.0e} on {len(rows)} models, which is rounding",
        _holds(lost < 1e-10),
    )
    least = min(row["rel_d_inf"] for row in rows if not row["accurate"])
    less = [name for name, row in errors.items() if row["least_d_inf"] < row["d_inf"] - SAME]
    but = f"; but on {_listed(less)} other PSR rewards have a smaller largest error"
    yield Claim(
        "5",
        "where a PSR is inaccurate its relative error is high, never mild",
        f"at least {least:.2g} of the largest reward{but if less else ''}",
        Verdict.DIFFERS if least < 0.5 else Verdict.QUALIFIED if less else Verdict.AGREES,
    )


def _counts(all_: Reproduction) -> Iterator[Claim]:
    says = f"{paper.INACCURATE_OF_63} of the {len(paper.DOMAINS_63)} domains are not accurate"
    number = "63 domains: 60 of the classic repository and three more"
    if not all_.corpus:
        inaccurate = [name for name, row in all_.errors.items() if not row["accurate"]]
        yield Claim("5", number, "needs the files: --corpus DIR", Verdict.OPEN)
        yield Claim(
            "5",
            says,
            f"{len(inaccurate)} of the eight that the paper names are not; the other 55 need their "
            "files: --corpus DIR",
            Verdict.OPEN if len(inaccurate) == len(paper.ERRORS) else Verdict.DIFFERS,
        )
        return
    counts = corpus_counts(all_.corpus)
    known, wrong = counts["known"], counts["inaccurate"]
    missing = f"; {len(counts['missing'])} of the 63 are not in it" if counts["missing"] else ""
    yield Claim(
        "5",
        number,
        f"{len(known)} of them in the folder, and {len(counts['beyond'])} files beyond{missing}",
        Verdict.OPEN if counts["missing"] else Verdict.AGREES,
    )
    beyond = counts["inaccurate_beyond"]
    more = f"; beyond them {len(beyond)} of {len(counts['beyond'])} ({_listed(beyond)})"
    same = len(wrong) == paper.INACCURATE_OF_63
    yield Claim(
        "5",
        says,
        f"{len(wrong)} of {len(known)}{more if beyond else ''}, in exact arithmetic",
        _holds(same) if not counts["missing"] else Verdict.OPEN,
    )
    low = [name for name in known if all_.corpus[name]["psr_rank"] < all_.corpus[name]["states"]]
    right = sum(bool(all_.corpus[name]["accurate"]) for name in low)
    yield Claim(
        "3",
        "PSRs of low rank are the most likely to be inaccurate",
        f"only they can be; but of the {len(low)} of low rank {right} are accurate",
        Verdict.QUALIFIED if right else Verdict.AGREES,
    )


# ---- section 5: returns


def _returns(all_: Reproduction) -> Iterator[Claim]:
    six, settings = all_.six, all_.settings
    yield _converged(all_)
    steps = paper.STEPS_OF_THE_PROGRAM
    short = list(dict.fromkeys(cell.domain for cell in judged_cells(six) if cell.one_step_less))
    shows = f", which shows on {_listed(short)}" if short else ""
    yield Claim(
        "5",
        f"{paper.EPISODES:,} episodes of {paper.STEPS} steps for each policy",
        f"{settings.episodes:,} episodes of {paper.STEPS} steps here; the authors' published "
        f"program takes {steps} of the {paper.STEPS} steps{shows}",
        Verdict.QUALIFIED,
    )
    apart = max(found.experiment.disagreement for found in all_.returns.values())
    yield Claim(
        "5",
        "POMDP and R-PSR give every trajectory the same return",
        f"they differ by {apart:.0e} at most",
        _holds(apart <= _AGREE),
    )
    equal = [name for name, found in six.items() if _psr_agrees(found)]
    yield Claim(
        "5",
        "the PSR gives every trajectory another return",
        f"not on PSR-VI's own on {_listed(equal)}, where both are the same"
        if equal
        else "on every policy of every domain",
        Verdict.QUALIFIED if equal else Verdict.AGREES,
    )
    same = all(found.experiment.same_episodes for found in all_.returns.values() if found.certified)
    yield Claim(
        "5",
        "POMDP-VI and R-PSR-VI are the same policy and earn the same",
        "action by action in every episode; the 49.2 and 49.8 printed for stand-tiger are two "
        "samples of one number"
        if same
        else "they differ in some episode",
        _holds(same),
    )
    yield from _comparisons(six)
    beyond = {name: found for name, found in all_.returns.items() if name not in six}
    yield from _worse_than_random(six, beyond)


def _converged(all_: Reproduction) -> Claim:
    says = "value iteration converged on only 6 of the 8 domains"
    if all_.settings.quick:
        found = "the two others were left out of this quick look"
        return Claim("5", says, found, Verdict.OPEN)
    done = [name for name, found in all_.returns.items() if found.certified]
    rest = [name for name in paper.DOMAINS if name not in done]
    bounds = f"; on {_listed(rest)} only bounds are known" if rest else ""
    plans = [plan for name in done for plan in all_.returns[name].experiment.plans]
    error = max((plan.epsilon or 0.0 for plan in plans), default=0.0)
    return Claim(
        "5",
        says,
        f"here on {len(done)}, with every value function proven to {error:.0e}{bounds}",
        Verdict.QUALIFIED if len(done) > paper.CONVERGED_OF_8 else _holds(len(done) == 6),
    )


def _psr_agrees(found: Returns) -> bool:
    """Whether the PSR's own policy earns the same by both rewards in every episode."""
    true, believed = (found.experiment.estimate("psr-vi", row) for row in ("pomdp", "psr"))
    still = max(true.std or 0.0, believed.std or 0.0) < _AGREE
    return still and abs(true.mean - believed.mean) < _AGREE


def _comparisons(six: dict[str, Returns]) -> Iterator[Claim]:
    best = {name: _value(found, "pomdp-vi", "pomdp") for name, found in six.items()}
    ranges = {name: earned_by_all(found, "psr-vi", "pomdp") for name, found in six.items()}
    worse = [name for name in six if ranges[name][1] < best[name] - SAME]
    lucky = [name for name in six if name not in worse]
    between = (f"{ranges[n][0]:.2f} to {ranges[n][1]:.2f} on {paper.DOMAINS[n]}" for n in lucky)
    ties = f"; on {_listed(lucky)} ties decide between PSR-optimal policies: {', '.join(between)}"
    yield Claim(
        "5",
        "PSR-VI is sub-optimal everywhere but on line4-2goals",
        f"on {_listed(worse)} whichever PSR-optimal policy one takes{ties if lucky else ''}",
        Verdict.QUALIFIED if "line4-2goals" in lucky else Verdict.DIFFERS,
    )
    short = [
        name
        for name, found in six.items()
        if _value(found, "pomdp-vi", "psr") < _value(found, "psr-vi", "psr") - SAME
    ]
    optimal = [name for name in six if name not in short]
    also = f"; on {_listed(optimal)} they are optimal to it as well" if optimal else ""
    yield Claim(
        "5",
        "to the PSR, POMDP-VI and R-PSR-VI are sub-optimal",
        f"on {len(short)} of {len(six)}{also}",
        Verdict.DIFFERS if not short else Verdict.QUALIFIED if optimal else Verdict.AGREES,
    )
    wins = [
        name
        for name, found in six.items()
        if _value(found, "uniform", "psr") > _value(found, "pomdp-vi", "psr") + SAME
    ]
    yield Claim(
        "5",
        "to the PSR, random beats POMDP-VI and R-PSR-VI in 3 of 6 cases",
        f"in {len(wins)}: {_listed(wins)}",
        _holds(len(wins) == paper.RANDOM_WINS_OF_6),
    )
    yield _bold(six)


def _worse_than_random(six: dict[str, Returns], beyond: dict[str, Returns]) -> Iterator[Claim]:
    low, high = earned_by_all(six["loadunload"], "psr-vi", "pomdp")
    random = _value(six["loadunload"], "uniform", "pomdp")
    more = [
        name
        for name, found in beyond.items()
        if found.certified
        and earned_by_all(found, "psr-vi", "pomdp")[1] < _value(found, "uniform", "pomdp")
    ]
    also = f"; so it is on {_listed(more)}, which the paper could not run" if more else ""
    yield Claim(
        "5",
        "on load/unload PSR-VI is worse than random",
        f"{low:.2f} to {high:.2f}, by the PSR-optimal policy; random earns {random:.2f}{also}",
        _holds(high < random),
    )


def _bold(six: dict[str, Returns]) -> Claim:
    wrong: list[str] = []
    for name, rows in paper.RESULTS.items():
        for row, cells in rows.items():
            best = best_policies(six[name], row)
            for policy, cell in cells.items():
                if cell.bold == (policy in best):
                    continue
                value = _value(six[name], policy, row)
                most = max(_value(six[name], other, row) for other in cells)
                wrong.append(
                    f"{paper.POLICIES[policy]} on {paper.DOMAINS[name]} earns {value:.3f} and the "
                    f"best {most:.3f}"
                )
    return Claim(
        "5, Table 3",
        "bold marks the best policy of each row",
        "; ".join(wrong) or "in every row",
        Verdict.QUALIFIED if wrong else Verdict.AGREES,
    )


def _value(found: Returns, policy: str, row: str) -> float:
    estimate = found.experiment.estimate(policy, row)
    return estimate.mean if estimate.exact is None else estimate.exact
