"""Valid files to begin with: our own, of every format, small and rich in syntax."""

from __future__ import annotations

import gzip
import json
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np
from tests.io.drn.files import DOORS as DRN_DOORS
from tests.io.pomdpx.files import DIAGRAMS, ROVER
from tests.io.prism.files import COMMANDS, LABELS
from tests.io.prism.files import DOORS as PRISM_DOORS

from rpsr import POMDP, Solution, certify, solve
from rpsr.io.pomdp.reader import parse_pomdp
from rpsr.io.pomdpx.writer import format_pomdpx
from rpsr.logs import Trajectories
from rpsr.models.linear import LinearModel
from rpsr.models.store import native_bytes
from rpsr.predictive import psr, rpsr

DATA = Path(__file__).parents[1] / "data" / "fuzz"  # inputs that are kept, by reader
MEMBERS = ("native", "npz", "checkpoint", "moments", "learned")  # readers of archives

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


def _policies(name: str) -> Iterator[bytes]:
    from rpsr.planning import extract_controller, save_policy

    lamp = _lamp()
    tree = solve(lamp, "vi", horizon=2)
    other = solve(psr(lamp), "vi", epsilon=0.5)
    for policy in (_plan(), tree, other, extract_controller(_plan())):
        yield from _written(name, lambda path, policy=policy: save_policy(policy, path, lamp))


def _policy() -> Iterator[bytes]:
    from rpsr.planning.files.vector_arrays import as_json
    from rpsr.planning.value.value_function import PartialVectors

    yield from _policies("p.json")
    first = next(_policies("p.json"))
    yield gzip.compress(first, mtime=0)
    document = json.loads(first)
    count = len(document["vector_actions"])
    state = np.arange(count) % 3
    parts = PartialVectors(np.arange(count + 1), state, state - 0.5, -4.0, 3)
    yield json.dumps(document | {"format_version": 2, "vectors": as_json(parts)}).encode()


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

    log = simulate(_lamp(), "uniform", episodes=3, steps=4, seed=0, rewards=True, **options)
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
    yield from _written("c.json.gz", certify(plan).save)
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


def _learning_log() -> Trajectories:
    from rpsr import simulate

    return simulate(_lamp(), "uniform", episodes=60, steps=6, seed=0, rewards=True)


def _learned_models() -> Iterator[LinearModel]:
    from rpsr.learning import LastKTable, SpectralPSR, SpectralRPSR

    options = {"rank": 2, "discount": 0.9}
    for estimator in (
        SpectralRPSR(**options),
        SpectralPSR(**options),
        LastKTable(k=1, discount=0.9),
    ):
        yield estimator.fit(_learning_log()).model_


def _learned() -> Iterator[bytes]:
    yield from map(native_bytes, _learned_models())


def _carried() -> Iterator[bytes]:
    from rpsr.planning import save_policy

    for model in _learned_models():
        plan = solve(model, "pbvi", max_points=5, max_iterations=2)
        yield from _written("p.json", lambda path, plan=plan: save_policy(plan, path))


def _stochastic() -> Iterator[bytes]:
    from rpsr.evaluation import StochasticController
    from rpsr.evaluation.stochastic_files import save_stochastic

    two = StochasticController(
        *(("press", "look"), ("nothing", "bright")),
        np.array([[0.25, 0.75], [1, 0]]),
        np.array([[[0, 1], [1, 1]], [[0, 0], [1, -1]]]),
    )
    for controller in (StochasticController.stationary(_lamp()), two):
        yield from _written("p.json", lambda path, made=controller: save_stochastic(made, path))


def _moments() -> Iterator[bytes]:
    from rpsr.learning import Moments, Survey, WindowPlan

    log = _learning_log()
    survey = Survey.of([log])
    for plan in (
        WindowPlan.of(survey, tests=1, histories=1),
        WindowPlan.of(survey, tests=2, histories=1, behaviour="blind", operators=False),
        WindowPlan.of(survey, tests=1, histories=2, behaviour="blind", anchored=True),
    ):
        yield from _written("moments.npz", Moments.of([log], plan).save)


def _row_groups() -> Iterator[bytes]:
    from pyarrow import parquet

    for whole in _parquet():
        table, buffer = parquet.read_table(BytesIO(whole)), BytesIO()
        parquet.write_table(table, buffer, row_group_size=3)
        yield buffer.getvalue()


def _pieces() -> Iterator[bytes]:
    from rpsr.reproduce.pieces import Piece, Store

    answer = {"errors": [0.25, None, 1e-9], "names": {"lamp": "ä"}, "accurate": True}
    yield from _written("input.json", lambda path: Store(path.parent).keep(Piece("input"), answer))


def _timings() -> Iterator[bytes]:
    yield b'{"pieces": {"errors-lamp": 0.25, "returns": 3, "corpus-a": 1e3}, "seconds": 4.5}'


def _tars() -> Iterator[bytes]:
    """Archives as a server sends them: in the formats of tar, with folders and long names."""
    texts = {"ejs/lamp.POMDP": LAMP, "ejs/one.POMDP": ONE, "ejs/" + "n" * 120 + ".txt": "no"}
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        buffer = BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
            for name, text in texts.items():
                member = tarfile.TarInfo(name)
                member.size = len(text)
                if form != tarfile.USTAR_FORMAT or len(name) < 100:
                    archive.addfile(member, BytesIO(text.encode()))
        yield gzip.compress(buffer.getvalue(), mtime=0)
        yield buffer.getvalue()


_MAKERS: dict[str, Callable[[], Iterator[bytes]]] = {
    "pomdp": _pomdp,
    "pomdpx": _pomdpx,
    "prism": _prism,
    "drn": _drn,
    "native": _native,
    "policy": _policy,
    "npz": lambda: _policies("p.npz"),
    "alpha": _classic("alpha"),
    "pg": _classic("pg"),
    "sarsop": _sarsop,
    "jsonl": _jsonl,
    "csv": _csv,
    "parquet": _parquet,
    "checkpoint": _checkpoint,
    "certificate": _certificate,
    "rows": _rows,
    "learned": _learned,
    "carried": _carried,
    "stochastic": _stochastic,
    "moments": _moments,
    "jsonl-parts": _jsonl,
    "csv-parts": _csv,
    "parquet-parts": _row_groups,
    "pieces": _pieces,
    "timings": _timings,
    "classics": _tars,
}


@cache
def seeds_of(reader: str) -> list[bytes]:
    """Valid files of a reader."""
    return list(_MAKERS[reader]())


def kept_inputs(reader: str) -> list[Path]:
    """Inputs that once failed, and small ones that end in different ways."""
    return sorted(path for path in (DATA / reader).glob("*") if path.is_file())
