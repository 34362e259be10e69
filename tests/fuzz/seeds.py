"""Valid files to begin with: our own, of every format, small and rich in syntax."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from tests.io.drn.files import DOORS as DRN_DOORS
from tests.io.pomdpx.files import DIAGRAMS, ROVER
from tests.io.prism.files import COMMANDS, LABELS
from tests.io.prism.files import DOORS as PRISM_DOORS

from rpsr import POMDP, Solution, certify, solve
from rpsr.io.pomdp.reader import parse_pomdp
from rpsr.io.pomdpx.writer import format_pomdpx
from rpsr.models.store import native_bytes
from rpsr.predictive import psr, rpsr

DATA = Path(__file__).parents[1] / "data" / "fuzz"  # inputs of earlier failures, by reader
MEMBERS = ("native", "checkpoint")  # readers of archives

LAMP = """\
discount: 0.9
values: reward
states: dark light broken
actions: press look
observations: nothing bright
start: 0.75 0.25 0
T: press
0.1 0.8 0.1
0.8 0.1 0.1
0 0 1
T: look identity
O: press uniform
O: look
1 0
.125 .875
1 0
R: press : * : * : * -1
R: look : light : * : bright 2.5
"""
COSTS = """\
# every other piece of syntax
discount: 1e-1
values: cost
states: 3
actions: 2
observations: 2
start include: 0 2
T: * : * : * 0.0
T: 0 : 0 : 1 1.0
T: 0 : 1 : 2 1.0
T: 0 : 2 : 0 1
T: 1 identity
T: 1 : 2 uniform
T: 1 : 1 reset
O: * : * 0.5 0.5
O: 1 : 2 : 0 0.25
O: 1 : 2 : 1 0.75
R: 0 : 1
1 2
3 -4
5.5e0 +6
R: 1 : 2 : 0 7 8
R: 1 : * : * : * - 3
"""
ONE = "discount: 0\nvalues: reward\nstates: 1\nactions: 1\nobservations: 1\nT: 0 1\nO: 0 1\n"


@cache
def _lamp() -> POMDP:
    return POMDP(parse_pomdp(LAMP.encode(), place="lamp", name="lamp"))


@cache
def _plan() -> Solution:
    return solve(_lamp(), "vi", epsilon=0.5)


def _pomdp() -> Iterator[bytes]:
    for text in (LAMP, COSTS, ONE):
        yield text.encode()
    yield gzip.compress(LAMP.encode(), mtime=0)


def _pomdpx() -> Iterator[bytes]:
    yield ROVER.encode("latin-1")
    yield DIAGRAMS.encode("latin-1")
    yield format_pomdpx(_lamp().record).encode()


def _prism() -> Iterator[bytes]:
    yield PRISM_DOORS.encode()
    yield (COMMANDS + LABELS).encode()


def _drn() -> Iterator[bytes]:
    yield DRN_DOORS.encode()
    yield from _written("lamp.drn", lambda path: _save_model(path))


def _native() -> Iterator[bytes]:
    lamp = _lamp()
    yield native_bytes(lamp)
    yield native_bytes(psr(lamp))
    yield native_bytes(rpsr(lamp))
    yield native_bytes(lamp.belief_model())


def _written(name: str, write: Callable[[Path], object]) -> Iterator[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder, name))
        yield Path(folder, name).read_bytes()


def _save_model(path: Path) -> None:
    from rpsr.sources import save

    save(_lamp(), path)


def _policy() -> Iterator[bytes]:
    from rpsr.planning import extract_controller, save_policy

    lamp = _lamp()
    tree = solve(lamp, "vi", horizon=2)
    other = solve(psr(lamp), "vi", epsilon=0.5)
    for policy in (_plan(), tree, other, extract_controller(_plan())):
        yield from _written("p.json", lambda path, policy=policy: save_policy(policy, path, lamp))


def _classic(suffix: str) -> Callable[[], Iterator[bytes]]:
    def seeds() -> Iterator[bytes]:
        from rpsr.planning import save_policy

        yield from _written(f"p.{suffix}", lambda path: save_policy(_plan(), path))

    return seeds


def _sarsop() -> Iterator[bytes]:
    (text,) = _classic("policy")()
    yield text
    sparse = b'<SparseVector action="0" obsValue="0"><Entry>1 2.5</Entry></SparseVector>\n'
    yield text.replace(b"<Vector", sparse + b"<Vector", 1)


def _log(suffix: str, **options: bool) -> Iterator[bytes]:
    from rpsr import simulate
    from rpsr.logs import write_logs

    log = simulate(_lamp(), "uniform", episodes=3, steps=4, seed=0, **options)
    yield from _written(f"log{suffix}", lambda path: write_logs(log, path))


def _jsonl() -> Iterator[bytes]:
    yield from _log(".jsonl")
    yield from _log(".jsonl", states=True, propensities=True)
    yield from _log(".jsonl.gz")
    yield b'{"actions": [0, 1], "observations": [1, 0], "rewards": [1, 0.5], "terminal": true}\n'


def _csv() -> Iterator[bytes]:
    yield from _log(".csv")
    yield from _log(".csv", states=True, propensities=True)
    yield b'episode,step,action,observation,reward\n1,0,"a, b",x,1\n1,1,c,"y ""z""",-2.5\n'


def _parquet() -> Iterator[bytes]:
    yield from _log(".parquet")
    yield from _log(".parquet", states=True, propensities=True)


def _checkpoint() -> Iterator[bytes]:
    from rpsr.planning.files.checkpoint import save_checkpoint

    plan = solve(_lamp(), "sarsop", epsilon=0.1)
    yield from _written("c.ckpt", lambda path: save_checkpoint(plan, path))


def _certificate() -> Iterator[bytes]:
    from rpsr.planning import certify_controller, extract_controller
    from rpsr.predictive import save_rank_certificate

    lamp = _lamp()
    plan = solve(lamp, "sarsop", epsilon=0.1, keep_points=True)
    yield from _written("c.json", certify(plan).save)
    yield from _written("c.json", certify_controller(extract_controller(_plan()), lamp).save)
    yield from _written("c.json", lambda path: save_rank_certificate(lamp, path))


def _rows() -> Iterator[bytes]:
    from rpsr.predictive.survey import Row

    row = dict.fromkeys(Row.__annotations__) | {"domain": "lamp", "source": "a", "seconds": 0.5}
    row |= {"states": 3, "psr_rank": 2, "accurate": True, "d_inf": 0.25, "stamp": "s"}
    rows = [row, row | {"source": "b", "error": "no such file", "d_inf": None}]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    yield lines.encode()
    manifest = {"shard": "1/2", "key": ["source"], "timings": ["seconds"], "asked": "1"}
    yield (json.dumps(manifest | {"items": [["a"], ["b"], ["c"]]}) + "\n" + lines).encode()


_MAKERS: dict[str, Callable[[], Iterator[bytes]]] = {
    "pomdp": _pomdp,
    "pomdpx": _pomdpx,
    "prism": _prism,
    "drn": _drn,
    "native": _native,
    "policy": _policy,
    "alpha": _classic("alpha"),
    "pg": _classic("pg"),
    "sarsop": _sarsop,
    "jsonl": _jsonl,
    "csv": _csv,
    "parquet": _parquet,
    "checkpoint": _checkpoint,
    "certificate": _certificate,
    "rows": _rows,
}


@cache
def seeds_of(reader: str) -> list[bytes]:
    """Valid files of a reader."""
    return list(_MAKERS[reader]())


def kept_inputs(reader: str) -> list[Path]:
    """Inputs that once failed."""
    return sorted(path for path in (DATA / reader).glob("*") if path.is_file())
