"""Reaching a goal without a discount: bounds over time, beside published results and Storm.

    python benchmarks/undiscounted.py --models DIR [NAME ...] [--seconds S] [--storm PYTHON]

DIR: the folder `examples/models` of the repository aria-systems-group/HSVI-RP, whose results
(published: UAI 2024, up to two hours each) stand beside ours, and the best bounds of all its tools.
Ours run on one core with compiled kernels; seconds are processor seconds of planning, without
reading the file, since other work on the machine would count otherwise. Limits are on the clock.

The grids were solved by that tool with another slip probability than their files have, 0.3 and 0.5
instead of 0.1: here the numbers of the file are replaced, which reproduces its bounds. grid-4 and
rocks-12, which have no explicit file, are in `generated_goals`. All other instances are taken as
they are. Every pair of answers is checked: no lower bound may exceed another tool's upper bound.
line4-2goals, a classic problem with discount 1, is a sum of rewards and has no published bounds.

--storm: a Python with stormpy, whose belief exploration gets the same time on the same model,
written by `rpsr.save` as DRN: half of it for unfolding (below), the rest for discretizations of
rising resolution (above). Its numbers are those of floats without a margin.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from generated_goals import grid_4, rocks_12

import rpsr
from rpsr import kernels
from rpsr.compile_limit import compiled_seconds

GENERATED = {"grid_4": grid_4, "rocks_12": rocks_12}  # instances without an explicit file
EPSILON = 1e-3
REPEATED = 10.0  # seconds: a shorter run that compiled kernels is repeated without compiling
AGREE = 2e-6  # published numbers are given to six digits


@dataclass(frozen=True)
class Instance:
    """A file, the sets of the property, what was published, and a slip to use instead of 0.1.

    file: its path, a name in `GENERATED`, or a built-in domain. goal: None for a sum of rewards.
    published: the bounds and seconds of HSVI-RP. others: the highest lower and the lowest upper
    bound that the other tools (Storm, PAYNT, SAYNT, PRISM) have in its `original_results`, after up
    to two hours. seconds: our limit.
    """

    file: str
    goal: str | None
    avoid: str | None = None
    published: tuple[float, float, float] | None = None
    others: tuple[float, float] = (0.0, 1.0)
    slip: str | None = None
    seconds: float = 60.0

    @property
    def best(self) -> tuple[float, float]:
        """The best bounds of all tools together."""
        low, high, _ = self.published or (0.0, 1.0, 0.0)
        return max(low, self.others[0]), min(high, self.others[1])


INSTANCES = {
    "grid-4": Instance(
        "grid_4", "goal", "bad", (0.928473, 0.928643, 0.00204), (0.928571428, 0.985737)
    ),
    "rocks-12": Instance("rocks_12", "goal", None, (0.75, 0.75, 2.757), (0.624851, 0.75)),
    "nrp-8": Instance("nrp8/nrp8.pomdp", "unfair", None, (0.125, 0.125, 0.00144), (0.125, 0.125)),
    "crypt-4": Instance(
        "crypt4/crypt4.prism", "goal", None, (0.333333, 0.333333, 15.64), (0.333333, 0.333333)
    ),
    "grid-10": Instance(
        "grid-10/gridavoid_explicit10.prism",
        "goal",
        "bad",
        (0.772798, 0.773810, 8.169),
        (0.772629, 0.999998),
        slip="0.3",
    ),
    "grid-20": Instance(
        "grid-20/gridavoid_explicit20.prism",
        "goal",
        "bad",
        (0.782481, 0.782820, 33.29),
        (0.666734, 1.0),
        slip="0.5",
    ),
    "refuel-06": Instance(
        "refuel06/refuel06_explicit.prism",
        "goal",
        "!notbad",
        (0.672060, 0.672190, 1.375),
        (0.672190, 0.686696),
    ),
    "refuel-08": Instance(
        "refuel08/refuel08_explicit.prism",
        "goal",
        "!notbad",
        (0.445853, 0.446314, 19.96),
        (0.445853, 0.508648),
    ),
    "maze": Instance("maze-tasks-reach/explicit.templ", "goal"),
    "maze-fail": Instance("maze-tasks-reach-fail/explicit.templ", "goal"),
    "simple-way100": Instance("simple-way100/explicit.templ", "goal"),
    "line4-2goals": Instance("line4-2goals", None),
    "drone-4-1": Instance(
        "drone41/drone41_explicit.prism",
        "goal",
        "!notbad",
        (0.887832, 0.956345, 7438.0),
        (0.889709, 0.942347),
        seconds=300,
    ),
    "drone-4-2": Instance(
        "drone42/drone42_explicit.prism",
        "goal",
        "!notbad",
        (0.964500, 0.976408, 7224.0),
        (0.970642, 0.974584),
        seconds=300,
    ),
    "refuel-20": Instance(
        "refuel20/refuel20_explicit.prism",
        "goal",
        "!notbad",
        (0.328261, 0.999662, 7363.0),
        (0.204210, 0.999998),
        seconds=300,
    ),
}
STORM = """
import json, sys, time
import stormpy, stormpy.io, stormpy.pomdp
path, formula, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
options = stormpy.io.DirectEncodingParserOptions()
options.build_choice_labeling = True
model = stormpy.build_model_from_drn(path, options=options)
formula = stormpy.parse_property(formula)
began = time.perf_counter()
unfold = stormpy.pomdp.verify_with_belief_unfolding
lower = unfold(model, formula, max_exploration_time=max(int(seconds / 2), 1), cut_zero_gap=True)
upper, took, resolution = 1.0, 0.0, 1
while time.perf_counter() - began + 8 * took < seconds:
    now = time.perf_counter()
    found = stormpy.pomdp.verify_with_belief_discretization(model, formula, resolution)
    upper, took = min(upper, found.value), time.perf_counter() - now
    resolution += 1
    if upper - lower.value <= 1e-3:
        break
print(json.dumps([lower.value, upper, time.perf_counter() - began]))
"""


def load(instance: Instance, folder: Path, scratch: Path):
    """The POMDP of an instance, with its slip."""
    if instance.file in GENERATED:
        return GENERATED[instance.file]()
    if instance.goal is None:
        return rpsr.load(instance.file).with_discount(1)
    path = folder / instance.file
    if instance.slip is not None:
        moves = f"{1 - float(instance.slip):g}"
        text = (
            path.read_text().replace("0.9 :", f"{moves} :").replace("0.1 :", f"{instance.slip} :")
        )
        path = scratch / path.name
        path.write_text(text)
    return rpsr.load(path)


def ours(pomdp, instance: Instance, seconds: float):
    """Bounds, and processor seconds of planning."""
    objective = (
        rpsr.total_reward()
        if instance.goal is None
        else rpsr.reach(instance.goal, avoiding=instance.avoid)
    )
    compiled = -1.0
    while True:
        task = objective.task(pomdp)
        before, compiled = compiled, compiled_seconds()
        began = time.process_time()
        plan = rpsr.solve(task, "sarsop", epsilon=EPSILON, time_limit=seconds)
        took = time.process_time() - began
        if compiled_seconds() == compiled or before >= 0 or took > REPEATED:
            return plan.lower, plan.upper, took


def storm(python: str, pomdp, instance: Instance, seconds: float, scratch: Path):
    """The same of Storm's belief exploration, or why there is no answer."""
    if instance.goal is None:
        return "not asked"
    rpsr.save(pomdp, scratch / "model.drn")
    before = {None: "true", "bad": '!"bad"', "!notbad": '"notbad"'}[instance.avoid]
    formula = f'Pmax=? [ {before} U "{instance.goal}" ]'
    words = [python, "-c", STORM, str(scratch / "model.drn"), formula, f"{seconds:g}"]
    try:
        run = subprocess.run(words, capture_output=True, text=True, timeout=2 * seconds + 60)
    except subprocess.TimeoutExpired:
        return "no answer in twice the time"
    lines = run.stdout.strip().splitlines()
    if run.returncode or not lines:
        return (run.stderr.strip().splitlines() or ["no answer"])[-1][:60]
    return tuple(json.loads(lines[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(INSTANCES)}")
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--seconds", type=float, help="for each instance, instead of its own")
    parser.add_argument("--storm", metavar="PYTHON", help="a Python that has stormpy")
    given = parser.parse_args()
    for name in set(given.names) - set(INSTANCES):
        parser.error(f"{name}: expected one of {', '.join(INSTANCES)}")
    kernels.PATIENCE = 0.0
    goal = rpsr.reach("good", avoiding="bad")
    rpsr.solve(rpsr.load("4x3"), "sarsop", objective=goal, epsilon=1e-3)  # loads kernels
    heads = f"{'instance':14} {'states':>6} {'ours':>20} {'s':>7} {'HSVI-RP':>20} {'s':>7}"
    heads += f" {'best of all':>20}"
    print(heads + (f" {'Storm':>20} {'s':>7}" if given.storm else "") + "  faster by")
    for name in given.names or INSTANCES:
        instance = INSTANCES[name]
        with tempfile.TemporaryDirectory() as folder:
            pomdp = load(instance, given.models, Path(folder))
            seconds = given.seconds or instance.seconds
            lower, upper, took = ours(pomdp, instance, seconds)
            line = f"{name:14} {len(pomdp.states):6} {shown(lower, upper)} {took:7.3f}"
            answers = {"published": instance.best}
            if instance.published is None:
                line += " ".rjust(50)
            else:
                low, high, published = instance.published
                line += f" {shown(low, high)} {published:7.4g} {shown(*instance.best)}"
            if given.storm:
                other = storm(given.storm, pomdp, instance, seconds, Path(folder))
                if isinstance(other, tuple):
                    answers["Storm"] = other[:2]
                    line += f" {shown(*other[:2])} {other[2]:7.2f}"
                else:
                    line += f" {other:>28}"
        line += f"  {judged(instance, upper - lower, took)}"
        for tool, (least, most) in answers.items():
            if lower > most + AGREE or upper < least - AGREE:
                line += f"  CONTRADICTS {tool}"
        print(line, flush=True)


def judged(instance: Instance, gap: float, took: float) -> str:
    """How many times faster, where the published gap is closed; elsewhere the gaps."""
    if instance.published is None:
        return f"gap {gap:.2g}"
    low, high, published = instance.published
    if high - low <= 1.1e-3:
        return f"{published / took:.2g}" if gap <= EPSILON else f"NOT CLOSED: gap {gap:.2g}"
    best = instance.best[1] - instance.best[0]
    return f"gap {gap:.3g}, published {high - low:.3g}, best of all {best:.3g}"


def shown(lower: float, upper: float) -> str:
    return f"[{lower:.6f}, {upper:.6f}]".rjust(20)


if __name__ == "__main__":
    main()
