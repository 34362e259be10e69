"""`sarsop` for a minute beside the published bounds of an hour, on problems that stay open.

SARSOP with tighter informed bounds (TIB and ETIB; M. Krale and others, AAMAS 2025) was published
with its bounds after an hour. The narrower pair is compared with ours after --seconds of processor
time on one core, kernels warm. Two bounds contradict each other if a lower one exceeds an upper one
by more than half a unit of the last digit that was published.

A problem is refused unless its fast-informed bound at the start agrees with the published one.

    python benchmarks/published_bounds.py --corpus DIR [--seconds 60] [NAME ...]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import processor_time  # noqa: F401
from arguments import arguments

from rpsr.domains.rocks import rock_sample
from rpsr.models import POMDP
from rpsr.models.as_model import as_linear
from rpsr.planning.anytime.planners import SARSOP
from rpsr.planning.corners.cheap_bounds import fast_informed_values, upper_at_start
from rpsr.planning.corners.corner_model import corner_process
from rpsr.sources import load_pomdp

AGREE = 1e-3  # of the value: the published sweeps stopped up to 4e-4 from their fixed point


class Published(NamedTuple):
    """A file of the corpus, and its published bounds: after an hour, and fast-informed."""

    file: str
    lower: str
    upper: str
    informed: float

    @property
    def rounding(self) -> float:
        """Half a unit of the last digit."""
        return 0.5 * 10.0 ** -len(self.upper.partition(".")[2])


ROCK_SAMPLE = "RockSample(7,8)"
PUBLISHED = {
    "hallway": Published("hallway.POMDP", "0.9970", "1.1491", 1.28989),
    "hallway2": Published("hallway2.POMDP", "0.3608", "0.8487", 0.98214),
    "tiger-grid": Published("tiger-grid.POMDP", "2.2865", "2.4606", 2.73257),
    "pentagon": Published("pentagon.POMDP", "0.3509", "0.3794", 0.383846),
    "fourth": Published("fourth.POMDP.gz", "0.0609", "0.0855", 0.0867149),
    "aloha.30": Published("aloha.30.POMDP.gz", "387.86", "391.70", 393.599),
    ROCK_SAMPLE: Published("", "21.92", "25.06", 28.51417),
}
ROCKS = [(0, 1), (1, 5), (2, 2), (2, 3), (3, 6), (5, 0), (5, 3), (6, 2)]  # of RockSample.jl


def problem(name: str, corpus: Path) -> POMDP:
    """The published problem, with discount .95."""
    if name == ROCK_SAMPLE:  # not the map of its authors
        return rock_sample(n=7, k=8, rocks=ROCKS, start=(0, 0))
    return load_pomdp(str(corpus / PUBLISHED[name].file), discount="0.95")


def main() -> None:
    """Print a row per problem, and how many are narrower."""
    parser = arguments(__doc__, "--corpus", required=("--corpus",))
    parser.add_argument("names", nargs="*", help=f"of {', '.join(PUBLISHED)}; by default all")
    parser.add_argument("--seconds", type=float, default=60.0, help="of processor time, for each")
    options = parser.parse_args()
    for name in set(options.names) - PUBLISHED.keys():
        parser.error(f"{name}: expected one of {', '.join(PUBLISHED)}")
    first = "fast-informed bound | published"
    print(f"| problem (discount .95) | {first} | `sarsop` | gap | published | gap | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    names, narrower, contradictions = options.names or list(PUBLISHED), 0, 0
    for name in names:
        known = PUBLISHED[name]
        lower, upper = float(known.lower), float(known.upper)
        model = as_linear(problem(name, options.corpus))
        process = corner_process(model)
        informed = upper_at_start(process, fast_informed_values(process))
        if abs(informed - known.informed) > AGREE * known.informed:
            sys.exit(
                f"{name}: the fast-informed bound is {informed:.6g}, the published one "
                f"{known.informed:.6g}: the problems differ"
            )
        SARSOP(time_limit=2.0).solve(model, lambda row: None)  # compiles
        plan = SARSOP(time_limit=options.seconds).solve(model, lambda row: None)
        mine, theirs = plan.upper - plan.lower, upper - lower
        narrower += mine < theirs
        off = known.rounding
        contradictions += plan.lower > upper + off or lower > plan.upper + off
        print(
            f"| {name} | {informed:.6g} | {known.informed:.6g} "
            f"| [{plan.lower:.4f}, {plan.upper:.4f}] | {mine:.3g} "
            f"| [{known.lower}, {known.upper}] | {theirs:.3g} | {mine / theirs:.2f} |",
            flush=True,
        )
    print(f"\n{narrower} of {len(names)} narrower, {contradictions} contradictions")


if __name__ == "__main__":
    main()
