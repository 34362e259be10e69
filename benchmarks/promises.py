"""Do promises hold? Bounds of `rpsr learn --plan` beside the true returns of the policies.

Logs are 40-step episodes of a uniform policy. `learn` sees the log alone, plans, and promises a
return; the policy is then run on the true system. Per log, one JSON line: the promises of the plan,
the table and the behaviour policy, their true returns, and the intervals of two textbook methods
for the plan: importance sampling of whole trajectories with a t-interval (IS), and weighted
importance sampling per decision with a bootstrap (PDWIS).

    python benchmarks/promises.py --corpus DIR --out rows.jsonl     # continues where it stopped
    python benchmarks/promises.py --show rows.jsonl                 # the tables of finished rows
    python benchmarks/promises.py --corpus DIR --episodes 1000 --repeats 3 --out long.jsonl
    python benchmarks/promises.py --corpus DIR --shard 2/5 --out rows.2.jsonl  # one part of five

Seeds count from 140000; none of them was used to make the method. The discount is .95 everywhere.
Coverage is the share of logs whose true return is at least `low`; *worse* counts the logs on which
the written policy earns less than the behaviour policy. Both allow for two standard errors of the
test. With --safe, a log on which nothing beats the behaviour policy keeps that policy. The written
policy is the plan or a table's; `plan: above low` counts the promises of all plans.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from functools import cache
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
from rows import add_options, computed  # noqa: E402
from scipy.stats import t as student  # noqa: E402

import rpsr  # noqa: E402
from rpsr.evaluation import returns, simulate  # noqa: E402
from rpsr.learning import learn  # noqa: E402
from rpsr.learning.plan_choice.off_policy import Agreement  # noqa: E402
from rpsr.shards import merged  # noqa: E402

SYSTEMS = {
    "tiger": "tiger.95.POMDP",
    "4x3": "4x3.95.POMDP",
    "paint": "paint.95.POMDP",
    "parr": "parr95.95.POMDP",
    "4x4": "4x4.95.POMDP",
    "cheese": "cheese.95.POMDP",
    "shuttle": "shuttle.95.POMDP",
    "4x5x2": "4x5x2.95.POMDP",
    "web-ad": "web-ad.POMDP",
    "aloha.10": "aloha.10.POMDP",
}
DISCOUNT, LEVEL = "0.95", 0.95
STEPS, FIRST_SEED = 40, 140_000
KEY = ("system", "episodes", "seed")
TEST = {"episodes": 2000, "steps": 160, "seed": 977}  # .95^160 is 3e-4


@cache
def system(name, corpus):
    return rpsr.load_pomdp(str(Path(corpus) / SYSTEMS[name])).with_discount(DISCOUNT)


def earned(pomdp, policy):
    """The mean return on the true system and its standard error; later steps are left out."""
    values = returns(simulate(pomdp, policy, ends=False, **TEST), pomdp.belief_model())
    return float(values.mean()), float(values.std() / np.sqrt(len(values)))


@cache
def uniform(name, corpus):
    return earned(system(name, corpus), "uniform")


def textbook(policy, log):
    """Importance sampling of whole trajectories: the mean of w_i G_i, and a t-interval."""
    agreement = Agreement.of(policy, log)
    n, longest = agreement.weights.shape
    whole = agreement.weights[:, -1] if longest == STEPS else np.zeros(n)
    discounts = float(DISCOUNT) ** np.arange(longest)
    values = whole * (agreement.rewards @ discounts)
    room = float(student.ppf(LEVEL, n - 1) * values.std(ddof=1) / np.sqrt(n))
    mean = float(values.mean())
    return {"value": mean, "low": mean - room, "high": mean + room}


def trial(item, corpus):
    name, episodes, seed = item
    pomdp = system(name, corpus)
    how = {"episodes": episodes, "steps": STEPS, "seed": seed}
    log = simulate(pomdp, "uniform", rewards=True, propensities=True, **how)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learned = learn("em", log, discount=float(DISCOUNT), plan=True, level=LEVEL)
    seconds = time.process_time() - began
    offers = learned.safe.rows()
    for offer, offered in zip(offers, learned.safe.offers, strict=True):
        if offered.solution is None:
            offer["true"], offer["stderr"] = uniform(name, corpus)
        elif offer["chosen"] or offer is offers[0]:  # no table shows other returns
            plan = offered.solution
            policy = plan.value_function.policy(plan.model)
            offer["true"], offer["stderr"] = earned(pomdp, renamed(policy, pomdp))
    plan = learned.choice.solution
    return {
        "system": name,
        "episodes": episodes,
        "seed": seed,
        "offers": offers,
        "own_value": plan.value,
        "is": textbook(plan.value_function.policy(plan.model), log),
        "pdwis": learned.choice.chosen.off_policy.document(),
        "warnings": learned.warnings(),
        "seconds": seconds,
    }


def renamed(policy, pomdp):
    """The policy over the names of the system, which a short log may lack."""
    model = rpsr.models.renaming.renamed(policy.model, pomdp.actions, pomdp.observations)
    return rpsr.planning.AlphaPolicy(model, policy.vectors)


def show(rows):
    rows = [row for row in rows if not row.get("error")]
    print("| system | episodes | logs | above low | in interval | vacuous | width", end="")
    print(" | plan: above low", end="")
    print(" | IS: above low | in interval | width | PDWIS: above low | in interval | width", end="")
    print(" | beats behaviour | worse | worse, safe |")
    print("|" + "---|" * 17)
    keys = sorted({(one["system"], one["episodes"]) for one in rows})
    order = list(SYSTEMS)
    keys.sort(key=lambda key: (key[1], order.index(key[0])))
    groups = [
        (*key, [one for one in rows if (one["system"], one["episodes"]) == key]) for key in keys
    ]
    sizes = sorted({one["episodes"] for one in rows})
    groups += [("all", size, [one for one in rows if one["episodes"] == size]) for size in sizes]
    groups += [("all", "all", rows)]
    for name, episodes, group in groups:
        print(f"| {name} | {episodes} | {len(group)} | " + " | ".join(figures(group)) + " |")


def figures(group):
    chosen = [next(offer for offer in one["offers"] if offer["chosen"]) for one in group]
    logged = [one["offers"][-1] for one in group]
    above, inside = held([(one, one) for one in chosen])
    widths = [one["high"] - one["low"] for one in chosen]
    wrong = [
        a["true"] < b["true"] - 2 * np.hypot(a["stderr"], b["stderr"])
        for a, b in zip(chosen, logged, strict=True)
    ]
    better = [a["low"] > b["value"] for a, b in zip(chosen, logged, strict=True)]
    safe = [bad and beats for bad, beats in zip(wrong, better, strict=True)]
    return [
        above,
        inside,
        f"{sum(one['vacuous'] for one in chosen)}",
        f"{np.median(widths):.3g}",
        held([(one["offers"][0],) * 2 for one in group])[0],
        *rival(group, "is"),
        *rival(group, "pdwis"),
        f"{sum(better)}",
        f"{sum(wrong)}",
        f"{sum(safe)}",
    ]


def rival(group, method):
    """How many lower bounds and intervals of a textbook method hold for the plan; their width."""
    pairs = [(one["offers"][0], one[method]) for one in group]
    return *held(pairs), f"{np.median([one['high'] - one['low'] for _, one in pairs]):.3g}"


def held(pairs):
    """How many lower bounds hold, and how many intervals, for pairs of a policy and bounds."""
    rooms = [(one["true"], 2 * one["stderr"], bounds) for one, bounds in pairs]
    above = [true + room >= bounds["low"] for true, room, bounds in rooms]
    below = [true - room <= bounds["high"] for true, room, bounds in rooms]
    return f"{sum(above)}", f"{sum(a and b for a, b in zip(above, below, strict=True))}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpus", help="the folder of the .POMDP files")
    parser.add_argument("--show", nargs="+", help="only print the tables of these files of rows")
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS))
    parser.add_argument("--episodes", type=int, nargs="*", default=[100, 300])
    parser.add_argument("--repeats", type=int, default=10, help="logs of each system and size")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    add_options(parser, "promises.jsonl")
    given = parser.parse_args()
    if given.show:
        show(merged(given.show).rows)
        return
    items = [
        (name, episodes, seed)
        for seed in range(given.first_seed, given.first_seed + given.repeats)
        for episodes in given.episodes
        for name in given.systems
    ]
    for done, row in computed(trial, items, KEY, ("seconds",), given, corpus=given.corpus):
        print(done, row.get("error", ""), flush=True)
    show(merged([given.out]).rows)


if __name__ == "__main__":
    main()
