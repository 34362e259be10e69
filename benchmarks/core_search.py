"""Core searches beside the paper's authors' code, and how their time grows with the states.

    python benchmarks/core_search.py [SOURCES...] [--rl-rpsr PATH] [--repeats N]
    python benchmarks/core_search.py --growth

The same breadth-first searches, for the PSR and the R-PSR, on one core, taking turns: `rpsr` in
exact arithmetic (with its certificate), `rpsr` in floats, and, given the path of a checkout of
rl-rpsr (which needs gym and yaml installed), the authors' searchers on the same matrices. The best
of N repeats counts for us; the authors' code runs once. Ranks are shown because they differ.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core for everyone

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from arguments import arguments

from rpsr import POMDP
from rpsr.domains import build
from rpsr.predictive.rank.certify import certified_core
from rpsr.predictive.rank.estimate import float_members
from rpsr.predictive.rank.search import breadth_first
from rpsr.sources import load_pomdp

BUILT_IN = ("heavenhell", "tiger-grid", "hallway", "hallway2", "iff")
FROM_CORPUS = ("4x5x2.95.POMDP",)
GROWTH = [f"loadunload:cells={n}" for n in (5, 10, 20, 40, 80, 160, 320)]
GROWTH += [f"rock-sample:n={n},k={k}" for n, k in ((3, 2), (4, 4), (5, 5))]


def timed(job: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    best, result = float("inf"), None
    for _ in range(repeats):
        began = time.perf_counter()
        result = job()
        best = min(best, time.perf_counter() - began)
    return best, result


def authors_search(path: Path) -> Callable[[POMDP, bool], int]:
    """The authors' breadth-first searchers, on a model of the shape they expect."""
    sys.path.insert(0, str(path))
    # Its loader of files is not used here, so the package behind that need not exist.
    loader = ModuleType("gym_pomdps")
    loader.POMDP = object  # pyright: ignore
    sys.modules.setdefault("gym_pomdps", loader)
    from rl_rpsr import psr, rpsr  # pyright: ignore
    from rl_rpsr.util import SearchType  # pyright: ignore

    def search(pomdp: POMDP, rewards: bool) -> int:
        sizes = (len(pomdp.states), len(pomdp.actions), len(pomdp.observations))
        model = SimpleNamespaceModel(
            G=np.array([[process.toarray().T for process in row] for row in pomdp.D]),
            R=np.array(pomdp.R),
            state_space=SimpleNamespace(n=sizes[0]),
            action_space=SimpleNamespace(n=sizes[1]),
            observation_space=SimpleNamespace(n=sizes[2]),
        )
        searcher = (rpsr if rewards else psr).searcher_factory(SearchType.BFS)
        return len(searcher.search(model))

    return search


class SimpleNamespaceModel(SimpleNamespace):
    """A namespace that can be a key of the authors' caches."""

    __hash__ = object.__hash__


def compare(sources: list[str], authors: Callable[[POMDP, bool], int] | None, repeats: int) -> None:
    head = f"{'domain':16} {'S':>5} {'model':6} {'rank':>5} {'exact s':>9} {'float s':>9}"
    print(head + (f" {'authors s':>10} {'rank':>5}  ratios" if authors else ""))
    for source in sources:
        pomdp = load_pomdp(source, normalize=True)
        for rewards in (False, True):
            exact, core = timed(partial(certified_core, pomdp, rewards=rewards), repeats)
            floats, _ = timed(
                partial(float_members, pomdp, rewards=rewards, search=breadth_first), repeats
            )
            kind = "R-PSR" if rewards else "PSR"
            line = f"{Path(source).name:16} {len(pomdp.states):5} {kind:6} {core.rank:5}"
            line += f" {exact:9.4f} {floats:9.4f}"
            if authors is not None:
                try:
                    theirs, rank = timed(partial(authors, pomdp, rewards), 1)
                    line += f" {theirs:10.3f} {rank:5}  exact {theirs / exact:.0f} times faster,"
                    line += f" float {theirs / floats:.0f}"
                except Exception as error:
                    line += f"  authors' code fails: {type(error).__name__}"
            print(line, flush=True)


def growth(repeats: int) -> None:
    print(f"{'domain':22} {'S':>6} {'PSR':>5} {'s':>9} {'R-PSR':>6} {'s':>9}")
    for source in GROWTH:
        pomdp = build(source)
        (first, psr), (second, rpsr) = (
            timed(partial(certified_core, pomdp, rewards=rewards), repeats)
            for rewards in (False, True)
        )
        sizes = f"{source:22} {len(pomdp.states):6} {psr.rank:5}"
        print(f"{sizes} {first:9.4f} {rpsr.rank:6} {second:9.4f}", flush=True)


def main() -> None:
    parser = arguments(__doc__, "--rl-rpsr")
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--growth", action="store_true")
    options = parser.parse_args()
    certified_core(build("tiger"), rewards=True)  # compiles the kernels
    if options.growth:
        growth(options.repeats)
        return
    sources = options.sources or list(BUILT_IN)
    corpus = os.environ.get("RPSR_CORPUS")
    if not options.sources and corpus:
        sources += [str(Path(corpus) / name) for name in FROM_CORPUS]
    authors = None if options.rl_rpsr is None else authors_search(options.rl_rpsr)
    compare(sources, authors, options.repeats)


if __name__ == "__main__":
    main()
