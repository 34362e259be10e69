"""Damage certificates so that they might state something false, and count what the verifier says.

    python -m tests.certificates.mutations --seed 0 --count 5000 tiger parr drawn:12
    python -m tests.certificates.mutations --kinds ranks --count 5000 loadunload
    python -m tests.certificates.mutations --kinds bounds --count 1000 tiger --horizon 4

Each kind of certificate has its mutations, in the modules beside this one. The model's hash is
kept. What is true is computed apart (see `true_values`). A statement is true, false, or undecided:
a bound, where the optimal value is known only to lie in an interval that contains it.

A source is a file, a domain's name, or `drawn:N`, a random model of the differential run.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tests.certificates import bound_mutations, controller_mutations, rank_mutations
from tests.certificates.bound_mutations import Lines, Mutation, content
from tests.certificates.true_values import controller_value, meant, optimal_value, ranks_of
from tests.differential.models import draw as drawn_model

from rpsr import POMDP, certify, load_pomdp, solve
from rpsr.certificates.exact_model import ExactModel
from rpsr.certificates.reading import Fault
from rpsr.certificates.verifier import Verified, check
from rpsr.errors import ModelError
from rpsr.models.timed import timed
from rpsr.planning import certify_controller, extract_controller
from rpsr.predictive.rank_certificates import save_rank_certificate

LOOSE = 1e-2  # the gap of the plans: damage that matters is larger than rounding
OF_DRAWN = 3  # the seed of drawn models


class Intact(NamedTuple):
    """A verified certificate: the model, its header, its lines, and how to damage and judge it.

    mutations: a module with MUTATIONS, STATEMENTS and `state_content`. judge(verified, lines): is
    the statement that the lines were accepted for true, undecided or false?
    """

    model: ExactModel
    header: dict[str, Any]
    lines: Lines
    mutations: Any
    judge: Callable[[Verified, Lines], str]


def _intact(
    pomdp: POMDP,
    save: Callable[[Path], object],
    mutations: Any,
    judge: Callable[[Verified, Lines], str],
) -> Intact:
    """A certificate as read from its file; it is accepted, and not false."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "c.json"
        save(path)
        header, *rest = (json.loads(line) for line in path.read_text().splitlines())
    lines = [next(iter(line.items())) for line in rest]
    model = ExactModel(pomdp.record)
    assert judge(check(model, header, lines), lines) != "false"
    return Intact(model, header, lines, mutations, judge)


def of_bounds(pomdp: POMDP, horizon: int | None = None) -> Intact:
    """The bounds of a plan; horizon: of a number of steps, without a discount."""
    value = optimal_value(pomdp, horizon)

    def judge(verified: Verified, _: Lines) -> str:
        lower, upper = verified.lower, verified.upper
        assert lower is not None
        assert upper is not None
        if lower > value.upper or upper < value.lower:
            return "false"
        return "true" if lower <= value.lower and upper >= value.upper else "undecided"

    if horizon is not None:
        pomdp = timed(pomdp.with_discount(1), horizon)
    plan = solve(pomdp, "sarsop", epsilon=LOOSE, time_limit=20, keep_points=True)
    return _intact(pomdp, certify(plan).save, bound_mutations, judge)


def of_ranks(pomdp: POMDP) -> Intact:
    """The ranks of a model's PSR and R-PSR, and whether the PSR is accurate."""
    truth = ranks_of(pomdp)

    def judge(verified: Verified, _: Lines) -> str:
        stated = (verified.psr_rank, verified.rpsr_rank, verified.accurate)
        same = all(one in (None, other) for one, other in zip(stated, truth, strict=True))
        return "true" if same else "false"

    return _intact(pomdp, lambda path: save_rank_certificate(pomdp, path), rank_mutations, judge)


def of_controllers(pomdp: POMDP) -> Intact:
    """The value of a plan's controller."""
    exact = meant(pomdp)

    def judge(verified: Verified, lines: Lines) -> str:
        (line,) = content(lines, "controller")
        return "true" if verified.controller_value == controller_value(exact, line) else "false"

    plan = solve(pomdp, "sarsop", epsilon=LOOSE, time_limit=20)
    made = certify_controller(extract_controller(plan), pomdp)
    return _intact(pomdp, made.save, controller_mutations, judge)


KINDS = {"bounds": of_bounds, "ranks": of_ranks, "controllers": of_controllers}


def verdict(whole: Intact, draw: random.Random) -> tuple[str, str]:
    """The name of a mutation, and refused, true, undecided or false."""
    header, lines = copy.deepcopy(whole.header), copy.deepcopy(whole.lines)
    kinds = {kind for kind, _ in lines}
    chosen: list[Mutation] = [
        draw.choice(whole.mutations.MUTATIONS) for _ in range(draw.choice([1, 1, 1, 2, 3]))
    ]
    for mutate in chosen:
        if kinds == {kind for kind, _ in lines}:
            mutate(draw, header, lines)
    if not set(chosen) & set(whole.mutations.STATEMENTS) and draw.random() < 0.8:
        whole.mutations.state_content(whole.model, header, lines)
    name = chosen[0].__name__ if len(chosen) == 1 else "several"
    try:
        return name, whole.judge(check(whole.model, header, lines), lines)
    except Fault:
        return name, "refused"


def count(whole: Intact, number_of: int, seed: int) -> Counter[tuple[str, str]]:
    """How often each mutation ended how."""
    draw = random.Random(seed)
    return Counter(verdict(whole, draw) for _ in range(number_of))


def _load(source: str) -> POMDP:
    if source.startswith("drawn:"):
        return drawn_model(OF_DRAWN, int(source.removeprefix("drawn:"))).pomdp()
    return load_pomdp(source, normalize=Path(source).exists())


ENDS = ("refused", "true", "undecided", "false")


def _row(name: str, ends: Counter[str]) -> str:
    return f"{name:32}" + "".join(f"{ends[end]:>11}" for end in ENDS)


def main() -> int:
    """Count, print a table, and return 1 if a false statement was accepted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sources", nargs="+", type=str)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000, help="for each source and kind")
    parser.add_argument("--horizon", type=int, help="a number of steps of bounds, undiscounted")
    options = parser.parse_args()
    if options.horizon is not None and options.kinds != ["bounds"]:
        parser.error("--horizon is for --kinds bounds")
    by_mutation: dict[str, Counter[str]] = {}
    total = Counter[str]()
    print(f"{'':32}" + "".join(f"{end:>11}" for end in ENDS))
    for source in options.sources:
        pomdp = _load(source)
        for kind in options.kinds:
            steps = {} if options.horizon is None else {"horizon": options.horizon}
            try:
                whole, ends = KINDS[kind](pomdp, **steps), Counter[str]()
            except ModelError as error:  # too large, or without a discount
                print(f"no {kind}: {error}", flush=True)
                continue
            for (name, end), times in count(whole, options.count, options.seed).items():
                ends[end] += times
                by_mutation.setdefault(f"{kind}: {name}", Counter())[end] += times
            total += ends
            print(_row(f"{source} {kind}", ends), flush=True)
    for name in sorted(by_mutation):
        print(_row(name, by_mutation[name]))
    print(_row("all", total))
    return 1 if total["false"] else 0


if __name__ == "__main__":
    sys.exit(main())
