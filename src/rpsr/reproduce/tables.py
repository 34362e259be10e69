"""The tables of a reproduction."""

from __future__ import annotations

from rpsr.report.tables import Cell, Table, Tone
from rpsr.reproduce import paper
from rpsr.reproduce.case_study import CaseStudy, Walk
from rpsr.reproduce.cells import best_policies, earned_by_all
from rpsr.reproduce.claim import Claim, holds
from rpsr.reproduce.one_domain import PAPER_DISCOUNTS, Plan
from rpsr.reproduce.returns import Returns
from rpsr.reproduce.run import Reproduction
from rpsr.reproduce.verdicts import Verdict

_RA = "RA-PSR-VI"
BADGES: tuple[tuple[str, Tone], ...] = (
    (Verdict.AGREES.value, "good"),
    (Verdict.CHANCE.value, "barely"),
    (Verdict.QUALIFIED.value, "barely"),
    (Verdict.DIFFERS.value, "bad"),
    (Verdict.OPEN.value, "open"),
)
WALK_FROM = 3  # an empty cart on the second cell: the shortest walk that shows the difference


def core_tests(case: CaseStudy) -> Table:
    """The paper's core tests of load/unload, and their outcomes in states 0 to 9."""
    rows = [
        (test, " ".join(f"{value:g}" for value in outcome))
        for test, outcome in zip(case["core_tests"], case["outcomes"], strict=True)
    ]
    return Table(
        caption="Core tests of load/unload, and how likely each is in states 0 to 9",
        columns=("core test", "outcome in states 0 to 9"),
        rows=tuple(rows),
    )


def rewards(case: CaseStudy) -> Table:
    """True rewards of load/unload's states, and the PSR's."""
    states = [str(number) for number in range(len(case["states"]))]
    return Table(
        caption="Rewards in states 0 to 9 of load/unload, equal for both actions",
        columns=("", *states),
        rows=(
            ("true rewards R", *case["rewards"][0]),
            ("the PSR's rewards", *case["reconstruction"][0]),
        ),
        footnotes=(
            f"As coefficients of the core tests, in their order, the PSR's rewards are "
            f"({', '.join(f'{value:g}' for value in case['psr_rewards'][0])}).",
        ),
    )


def walks(case: CaseStudy) -> Table:
    """The cells of the cart under each policy, from one state."""
    names = {"pomdp": "POMDP-VI", "rpsr": "R-PSR-VI", "psr": "PSR-VI"}
    rows = [(title, *_walk(case["walks"][name][WALK_FROM])) for name, title in names.items()]
    start = case["states"][WALK_FROM]
    return Table(
        caption=f"The cart's cells, step by step, from {start}; it loads at 0 and unloads at 4",
        columns=("policy", "cells of the first 20 steps", "earned", "by the PSR's rewards"),
        rows=tuple(rows),
        formats=("", "", ".1f", ".1f"),
        footnotes=("A digit is the cell after one step. Rewards of 20 steps, not discounted.",),
    )


def _walk(walk: Walk) -> tuple[str, float, float]:
    cells = "".join(map(str, walk["cells"]))  # one digit each
    groups = [cells[at : at + 5] for at in range(0, len(cells), 5)]
    return " ".join(groups), sum(walk["earned"]), sum(walk["believed"])


def errors(all_: Reproduction) -> Table:
    """The eight domains: ranks, and the errors of PSR and R-PSR rewards."""
    rows: list[tuple[Cell, ...]] = []
    for name, row in all_.errors.items():
        absolute, relative = paper.ERRORS[name]
        verdict = holds(all(all_.right_errors[name])).value
        size = (row["states"], row["psr_rank"], row["rpsr_rank"])
        compared = (row["d_inf"], absolute, row["rel_d_inf"], relative)
        rpsr = 0.0 if row["rpsr_d_inf"] < 1e-10 else row["rpsr_d_inf"]
        rows.append((paper.DOMAINS[name], verdict, *size, *compared, rpsr))
    ranks = ("states", "PSR rank", "R-PSR rank")
    verified = sum(bool(row["verified"]) for row in all_.errors.values())
    return Table(
        caption="Reward errors of PSRs (the paper's Table 2), and of R-PSRs",
        columns=("domain", "verdict", *ranks, "d_inf", "paper", "relative", "paper", "R-PSR"),
        rows=tuple(rows),
        align="llrrrrrrrr",
        badges=BADGES,
        footnotes=(
            "d_inf: the largest difference between a true reward and the PSR's; relative: divided "
            "by the largest reward; last column: the same difference for the R-PSR.",
            "A PSR is accurate if both ranks are equal.",
            f"Certificates prove the ranks and the accuracy of {verified} of {len(rows)} domains; "
            "rpsr verify checked them in exact arithmetic.",
        ),
    )


def returns(all_: Reproduction) -> Table:
    """Mean and deviation for each policy by each row of rewards, the best in bold."""
    rows: list[tuple[Cell, ...]] = []
    bold: set[tuple[int, int]] = set()
    for name, returns in all_.returns.items():
        for row, title in paper.REWARD_ROWS.items():
            best = best_policies(returns, row)
            cells: list[Cell] = []
            for column, policy in enumerate(paper.POLICIES, 2):
                cells.append(returns.experiment.estimate(policy, row))
                if policy in best:
                    bold.add((len(rows), column))
            rows.append((paper.DOMAINS[name], title, *cells, _aware(returns, row)))
    settings = all_.settings
    return Table(
        caption="Returns of each policy, by each model's rewards (the paper's Table 3)",
        columns=("domain", "rewards", *paper.POLICIES.values(), _RA),
        rows=tuple(rows),
        grouped=True,
        align="llrrrrr",
        formats=("", "", *[".1f"] * 5),
        bold=frozenset(bold),
        footnotes=(
            f"Mean ± standard deviation over {settings.episodes:,} episodes of {paper.STEPS} "
            f"steps, discounted, seed {settings.seed}. Bold, or an asterisk: the best of its row.",
            "The best is decided by exact expected returns where they are known, not by the "
            "simulated means shown here: policies that earn the same are all marked, although "
            "their means differ by chance.",
            "Discount .95 on heaven/hell and line4-2goals, as in the paper.",
            *_beyond(all_),
            f"{_RA} observes its rewards while it acts, which is another problem.",
        ),
    )


def _beyond(all_: Reproduction) -> list[str]:
    """The footnote on domains that are not in the paper's table."""
    more = [name for name in all_.returns if name not in paper.RESULTS]
    if not more:
        return []
    note = f"{' and '.join(paper.DOMAINS[name] for name in more)}: not in the paper's table."
    bounded = [paper.DOMAINS[name] for name in more if not all_.returns[name].certified]
    if bounded:
        note += f" On {' and '.join(bounded)}, VI is the best policy found (see optima)."
    return [note]


def _aware(returns: Returns, row: str) -> Cell:
    if returns.reward_aware is None or row != "pomdp":
        return None
    return returns.reward_aware[0]


def exact_returns(all_: Reproduction) -> Table:
    """Expected returns, without noise, and the range where PSR-optimal policies differ."""
    rows: list[tuple[Cell, ...]] = []
    for name, returns in all_.returns.items():
        for row, title in paper.REWARD_ROWS.items():
            estimates = [returns.experiment.estimate(policy, row) for policy in paper.POLICIES]
            low, high = earned_by_all(returns, "psr-vi", row)
            between = "" if low == high else f"{low:.4f} to {high:.4f}"
            noise = max(estimate.stderr or 0.0 for estimate in estimates)
            values = [_known(estimate.exact) for estimate in estimates]
            rows.append((paper.DOMAINS[name], title, *values, between, noise))
    names = list(paper.POLICIES.values())
    return Table(
        caption=f"Expected returns over {paper.STEPS} steps, exactly",
        columns=("domain", "rewards", *names, "all PSR-optimal", "largest s.e."),
        rows=tuple(rows),
        grouped=True,
        align="llrrrrlr",
        formats=("", "", *[".4f"] * 4, "", ".3f"),
        footnotes=(
            "All PSR-optimal: the least and greatest return of PSR-optimal policies, infinite "
            "horizon; empty if all earn the same.",
            "Empty: the policy reaches too many states for a closed form; see the estimate. "
            "Largest s.e.: the largest standard error of the row's four estimates.",
        ),
    )


def _known(exact: float | None) -> float | None:
    return None if exact is None else exact + 0.0


def plans(all_: Reproduction) -> Table:
    """The proven bounds on each model's optimum."""
    rows: list[tuple[Cell, ...]] = []
    titles = {"pomdp": "POMDP", "psr": "PSR", "rpsr": "R-PSR", "ra-psr": "RA-PSR"}
    for name, returns in all_.returns.items():
        aware = [] if returns.reward_aware is None else [returns.reward_aware[1]]
        for plan in [*returns.experiment.plans, *aware]:
            rows.append(
                (paper.DOMAINS[name], titles[plan.model], *_bounds(plan), plan.vectors, plan.status)
            )
    verified = sum(returns.verified for returns in all_.returns.values())
    return Table(
        caption="Optimal values at the start, infinite horizon, by each model's own rewards",
        columns=("domain", "model", "lower", "upper", "gap", "vectors", "status"),
        rows=tuple(rows),
        grouped=True,
        align="llrrrrl",
        formats=("", "", ".6f", ".6f", ".1g", "", ""),
        footnotes=(
            "The optimum lies between lower and upper. Solved: proven to the precision of epsilon; "
            "iterations: stopped after a fixed number of iterations, so that all runs are equal.",
            f"Certificates prove the POMDP's bounds, to the digits shown, on {verified} of "
            f"{len(all_.returns)} domains; rpsr verify checked them in exact arithmetic.",
            "RA-PSR: for an agent that observes its rewards; the POMDP's agent does not.",
            f"Discount .95 on {' and '.join(paper.DOMAINS[name] for name in PAPER_DISCOUNTS)}.",
        ),
    )


def _bounds(plan: Plan) -> tuple[Cell, Cell, Cell]:
    gap = None if plan.upper is None else max(0.0, plan.upper - plan.lower)
    return plan.lower + 0.0, plan.upper, gap


def cells(all_: Reproduction) -> Table:
    """The paper's estimates one by one; reasons are numbered notes."""
    rows: list[tuple[Cell, ...]] = []
    reasons: dict[str, int] = {}
    for cell in all_.cells:
        ours = f"{cell.low:.4f} to {cell.high:.4f}" if cell.several else f"{cell.low + 0.0:.4f}"
        where = (paper.DOMAINS[cell.domain], paper.POLICIES[cell.policy])
        verdict = cell.judgement.verdict.value
        if reason := cell.judgement.reason:
            verdict += f" ({reasons.setdefault(reason, len(reasons) + 1)})"
        rewards = paper.REWARD_ROWS[cell.row]
        numbers = (str(cell.printed), cell.estimate, ours, cell.judgement.distance)
        rows.append((*where, rewards, *numbers, verdict))
    return Table(
        caption="The paper's returns one by one",
        columns=("domain", "policy", "rewards", "paper", "ours", "exact", "distance", "verdict"),
        rows=tuple(rows),
        align="lllrrrrl",
        badges=BADGES,
        formats=("", "", "", "", ".1f", "", ".1f", ""),
        footnotes=(
            "Distance: from the exact value to the nearest number that rounds to the printed one, "
            "in standard errors of the paper's mean (its standard deviation over the root of "
            "1,000). Up to 2: agrees. Up to 3: agrees, barely; chance explains one or two of 48 "
            "numbers. Above: differs.",
            *(f"({number}) {reason}." for reason, number in reasons.items()),
        ),
    )


def sentences(claims: list[Claim]) -> Table:
    """The paper's sentences one by one."""
    return Table(
        caption="The paper's sentences one by one",
        columns=("verdict", "section", "the paper says", "we find"),
        rows=tuple(
            (claim.verdict.value, claim.where, claim.says, claim.finding) for claim in claims
        ),
        badges=BADGES,
    )


def corpus(all_: Reproduction) -> Table:
    """Every file of the folder."""
    rows: list[tuple[Cell, ...]] = []
    for name, row in all_.corpus.items():
        among = "yes" if name in paper.DOMAINS_63 else "no"
        if row["error"] is not None:
            rows.append((name, among, None, None, None, row["error"], None, None))
            continue
        accurate = "yes" if row["accurate"] else "no"
        size = (row["states"], row["psr_rank"], row["rpsr_rank"])
        rows.append((name, among, *size, accurate, row["d_inf"], row["rel_d_inf"]))
    columns = ("file", "of the 63", "states", "PSR rank", "R-PSR rank", "accurate", "d_inf")
    return Table(
        caption="Every model file of the folder",
        columns=(*columns, "relative"),
        rows=tuple(rows),
        align="llrrrlrr",
    )
