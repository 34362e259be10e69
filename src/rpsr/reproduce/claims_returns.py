"""The paper's claims about returns: how policies compare by true rewards and by the PSR's."""

from __future__ import annotations

from collections.abc import Iterator

from rpsr.reproduce import paper
from rpsr.reproduce.cells import SAME, best_policies, earned_by_all
from rpsr.reproduce.claim import Claim, holds, listed
from rpsr.reproduce.returns import Returns
from rpsr.reproduce.run import Reproduction
from rpsr.reproduce.verdicts import Verdict

_AGREE = 1e-9  # of returns, on every trajectory


def return_claims(all_: Reproduction) -> Iterator[Claim]:
    """Section 5, returns."""
    six, settings = all_.six, all_.settings
    yield _converged(all_)
    steps = paper.STEPS_OF_THE_PROGRAM
    short = list(dict.fromkeys(cell.domain for cell in all_.cells if cell.one_step_less))
    shows = f", which shows on {listed(short)}" if short else ""
    yield Claim(
        "5",
        f"{paper.EPISODES:,} episodes of {paper.STEPS} steps for each policy",
        f"{settings.episodes:,} episodes of {paper.STEPS} steps here; the authors' published "
        f"program takes {steps} of the {paper.STEPS} steps{shows}",
        Verdict.QUALIFIED,
    )
    apart = max(returns.experiment.disagreement for returns in all_.returns.values())
    yield Claim(
        "5",
        "POMDP and R-PSR give every trajectory the same return",
        f"the returns differ by at most {apart:.0e}",
        holds(apart <= _AGREE),
    )
    equal = [name for name, returns in six.items() if _psr_agrees(returns)]
    yield Claim(
        "5",
        "the PSR gives every trajectory another return",
        f"except PSR-VI's trajectories on {listed(equal)}, whose returns are equal"
        if equal
        else "for every policy on every domain",
        Verdict.QUALIFIED if equal else Verdict.AGREES,
    )
    same = all(
        returns.experiment.same_episodes for returns in all_.returns.values() if returns.certified
    )
    yield Claim(
        "5",
        "POMDP-VI and R-PSR-VI are the same policy and earn the same",
        "their actions are equal in every episode; the 49.2 and 49.8 printed for stand-tiger are "
        "two samples of one number"
        if same
        else "they differ in some episode",
        holds(same),
    )
    yield from _comparisons(six)
    beyond = {name: returns for name, returns in all_.returns.items() if name not in six}
    yield from _worse_than_random(six, beyond)


def _converged(all_: Reproduction) -> Claim:
    says = "value iteration converged on only 6 of the 8 domains"
    if all_.settings.quick:
        finding = "not checked: --quick leaves out the other two domains"
        return Claim("5", says, finding, Verdict.OPEN)
    done = [name for name, returns in all_.returns.items() if returns.certified]
    rest = [name for name in paper.DOMAINS if name not in done]
    bounds = f"; on {listed(rest)} only bounds are known" if rest else ""
    plans = [plan for name in done for plan in all_.returns[name].experiment.plans]
    error = max((plan.epsilon or 0.0 for plan in plans), default=0.0)
    return Claim(
        "5",
        says,
        f"here it converged on {len(done)}: the error of every value function is proven to be at "
        f"most {error:.0e}{bounds}",
        Verdict.QUALIFIED if len(done) > paper.CONVERGED_OF_8 else holds(len(done) == 6),
    )


def _psr_agrees(returns: Returns) -> bool:
    """Whether the PSR's own policy has equal returns by both rewards in every episode."""
    true, believed = (returns.experiment.estimate("psr-vi", row) for row in ("pomdp", "psr"))
    still = max(true.std or 0.0, believed.std or 0.0) < _AGREE
    return still and abs(true.mean - believed.mean) < _AGREE


def _comparisons(six: dict[str, Returns]) -> Iterator[Claim]:
    best = {name: _value(returns, "pomdp-vi", "pomdp") for name, returns in six.items()}
    ranges = {name: earned_by_all(returns, "psr-vi", "pomdp") for name, returns in six.items()}
    worse = [name for name in six if ranges[name][1] < best[name] - SAME]
    lucky = [name for name in six if name not in worse]
    between = (f"{ranges[n][0]:.2f} to {ranges[n][1]:.2f} on {paper.DOMAINS[n]}" for n in lucky)
    ties = f"; on {listed(lucky)} the returns of PSR-optimal policies differ: {', '.join(between)}"
    yield Claim(
        "5",
        "PSR-VI is sub-optimal everywhere but on line4-2goals",
        f"every PSR-optimal policy is sub-optimal on {listed(worse)}{ties if lucky else ''}",
        Verdict.QUALIFIED if "line4-2goals" in lucky else Verdict.DIFFERS,
    )
    short = [
        name
        for name, returns in six.items()
        if _value(returns, "pomdp-vi", "psr") < _value(returns, "psr-vi", "psr") - SAME
    ]
    optimal = [name for name in six if name not in short]
    also = f"; on {listed(optimal)} they are optimal by its rewards, too" if optimal else ""
    yield Claim(
        "5",
        "by the PSR's rewards, POMDP-VI and R-PSR-VI are sub-optimal",
        f"they are sub-optimal on {len(short)} of {len(six)} domains{also}",
        Verdict.DIFFERS if not short else Verdict.QUALIFIED if optimal else Verdict.AGREES,
    )
    wins = [
        name
        for name, returns in six.items()
        if _value(returns, "uniform", "psr") > _value(returns, "pomdp-vi", "psr") + SAME
    ]
    yield Claim(
        "5",
        "by the PSR's rewards, random beats POMDP-VI and R-PSR-VI in 3 of 6 cases",
        f"random beats them in {len(wins)}: {listed(wins)}",
        holds(len(wins) == paper.RANDOM_WINS_OF_6),
    )
    yield _bold(six)


def _worse_than_random(six: dict[str, Returns], beyond: dict[str, Returns]) -> Iterator[Claim]:
    low, high = earned_by_all(six["loadunload"], "psr-vi", "pomdp")
    random = _value(six["loadunload"], "uniform", "pomdp")
    more = [
        name
        for name, returns in beyond.items()
        if returns.certified
        and earned_by_all(returns, "psr-vi", "pomdp")[1] < _value(returns, "uniform", "pomdp")
    ]
    also = f"; the same holds on {listed(more)}, which the paper could not run" if more else ""
    yield Claim(
        "5",
        "on load/unload PSR-VI is worse than random",
        f"{low:.2f} to {high:.2f}, depending on the PSR-optimal policy; random earns "
        f"{random:.2f}{also}",
        holds(high < random),
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
                    f"{paper.POLICIES[policy]} on {paper.DOMAINS[name]} earns {value:.3f}, the "
                    f"best policy {most:.3f}"
                )
    return Claim(
        "5, Table 3",
        "bold marks the best policy of each row",
        "; ".join(wrong) or "in every row",
        Verdict.QUALIFIED if wrong else Verdict.AGREES,
    )


def _value(returns: Returns, policy: str, row: str) -> float:
    estimate = returns.experiment.estimate(policy, row)
    return estimate.mean if estimate.exact is None else estimate.exact
