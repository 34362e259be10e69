"""One entry point per reader of files.

A reader gets the path of a file, reads it, and uses what it read as every caller would. It may end
in an `RpsrError`; anything else is a defect. It returns a short description of the value, by which
the run knows that an input led to something new.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import isfinite
from pathlib import Path
from unittest.mock import patch
from zlib import crc32

from tests.fuzz.seeds import LAMP, MEMBERS, seeds_of

from rpsr import POMDP, LinearModel, accuracy, load, psr, rpsr, simulate, solve, verify
from rpsr.evaluation.policy_files import open_policy
from rpsr.evaluation.stochastic_files import stochastic_file
from rpsr.io.classics.checksums import Classic, unpack
from rpsr.io.pomdp.reader import parse_pomdp
from rpsr.learning import Moments
from rpsr.logs import Trajectories, read_logs, stream_logs
from rpsr.models.as_model import as_linear
from rpsr.planning.as_policy import as_policy
from rpsr.planning.files.checkpoint import load_checkpoint
from rpsr.predictive.survey import QUESTION, Row
from rpsr.reproduce.pieces import Piece, Store
from rpsr.reproduce.run import earlier_seconds
from rpsr.row_file import RowFile
from rpsr.shards import merged

SMALL = 1000  # probabilities of a model that is used, not only read


@cache
def lamp() -> POMDP:
    """The model that policies, checkpoints and certificates are read for."""
    return POMDP(parse_pomdp(LAMP.encode(), place="lamp", name="lamp"))


def _model(path: Path) -> str:
    """Half of the files are read with `--normalize`."""
    model = load(path, normalize=bool(crc32(path.read_bytes()) & 1))
    if isinstance(model, POMDP):
        sizes = len(model.states), len(model.actions), len(model.observations)
        size = model.record.transition.values.size + model.record.emission.values.size
    else:
        sizes = (model.dimension, len(model.actions), len(model.observations))
        size = model.dimension**2 * len(model.actions) * len(model.observations)
    if size <= SMALL:
        _use(model)
    return f"{type(model).__name__} {sizes} {str(model)[:20]}"


def _use(model: POMDP | LinearModel) -> None:
    if isinstance(model, POMDP):
        assert model.R.shape == (len(model.states), len(model.actions))
        _ = (model.outcomes, model.digest, model.D)
    linear = as_linear(model)
    linear.operators.left(linear.start[None, :], 0, 0)


def _policy(path: Path) -> str:
    stored = open_policy(path, lamp())
    policy = as_policy(stored, lamp())
    policy.reset()
    return f"{type(stored).__name__} {policy.act()}"


def _log(path: Path) -> str:
    log = read_logs(path)
    return (
        f"{len(log.action_names)} {len(log.observation_names)} {log.episodes} {log.rewards is None}"
    )


def _checkpoint(path: Path) -> str:
    return f"{load_checkpoint(path, as_linear(lamp())).value_function.vectors.shape}"


@cache
def _truth() -> tuple[float, float, int, int, bool]:
    """An interval that contains the lamp's optimal value, its ranks, and its accuracy."""
    plan, measured = solve(lamp(), "vi", epsilon=1e-9), accuracy(lamp())
    assert plan.upper is not None
    return plan.lower, plan.upper, len(psr(lamp()).core), len(rpsr(lamp()).core), measured.accurate


def _certificate(path: Path) -> str:
    """What is proven must be true."""
    proof, (low, high, psr_rank, rpsr_rank, accurate) = verify(lamp(), path), _truth()
    assert proof.lower is None or proof.lower <= high
    assert proof.upper is None or proof.upper >= low
    assert proof.controller_value is None or proof.controller_value <= high
    assert proof.psr_rank in (None, psr_rank)
    assert proof.rpsr_rank in (None, rpsr_rank)
    assert proof.accurate in (None, accurate)
    return f"{proof.lower is None} {proof.upper is None} {proof.psr_rank} {proof.controller_value}"


def _rows(path: Path) -> str:
    """A file of rows is merged, and a survey continues it."""
    whole = merged([path])
    whole.content(), whole.notes()
    kept = RowFile(path, QUESTION, fields=tuple(Row.__annotations__)).rows()
    return f"{len(whole.rows)} {len(whole.missing)} {len(kept)}"


def _moments(path: Path) -> str:
    """What is read is added to, if it was made for logs of the lamp."""
    moments = Moments.load(path)
    moments.add(_log_of_lamp())
    total = moments + moments
    return f"{total.nodes.shape} {total.stats.shape} {moments.plan.depth} {moments.plan.behaviour}"


@cache
def _log_of_lamp() -> Trajectories:
    return simulate(lamp(), "uniform", episodes=5, steps=4, seed=1, rewards=True)


def _parts(path: Path) -> str:
    """The parts of a log have the steps of the whole."""
    with patch("rpsr.logs.stream.PARTITION", 5):
        stream = stream_logs(path)
        parts = stream.partitions()
        steps = [sum(chunk.steps for chunk in part) for part in parts]
    assert sum(steps) == sum(chunk.steps for chunk in stream)
    return f"{len(parts)} {stream.names}"


def _stochastic(path: Path) -> str:
    drawn = stochastic_file(path, as_linear(lamp()))
    return "no stochastic controller" if drawn is None else f"{drawn.title()} {drawn.first}"


def _piece(path: Path) -> str:
    """The answer to a question that has the file's name."""
    answer, why_not = Store(path.parent).find(Piece(path.stem))
    return f"{why_not.removeprefix(str(path))} {None if answer is None else len(answer)}"


def _timings(path: Path) -> str:
    seconds = earlier_seconds(path)
    assert all(map(isfinite, seconds.values()))
    return f"{len(seconds)}"


def _classics(path: Path) -> str:
    """Half of the files are read as archives, half as one text."""
    wire = path.read_bytes()
    place = "ejs.tar.gz" if crc32(wire) & 1 else "lamp.POMDP.gz"
    texts = unpack(wire, place, CLASSICS, 2**16)
    return f"{sorted(texts)} {place}"


CLASSICS = tuple(Classic(name, f"{name}.POMDP", "", 500) for name in ("lamp", "one"))


@dataclass(frozen=True)
class Reader:
    """A reader by name. suffix: of its files. members: files are archives of arrays."""

    name: str
    suffix: str
    read: Callable[[Path], str]

    @property
    def seeds(self) -> list[bytes]:
        """Files that are valid."""
        return seeds_of(self.name)

    @property
    def archive(self) -> bool:
        """Whether files are archives with a header and arrays."""
        return self.name in MEMBERS


READERS = {
    reader.name: reader
    for reader in (
        Reader("pomdp", ".pomdp", _model),
        Reader("pomdpx", ".pomdpx", _model),
        Reader("prism", ".prism", _model),
        Reader("drn", ".drn", _model),
        Reader("native", ".rpsr", _model),
        Reader("policy", ".json", _policy),
        Reader("npz", ".npz", _policy),
        Reader("alpha", ".alpha", _policy),
        Reader("pg", ".pg", _policy),
        Reader("sarsop", ".policy", _policy),
        Reader("jsonl", ".jsonl", _log),
        Reader("csv", ".csv", _log),
        Reader("parquet", ".parquet", _log),
        Reader("checkpoint", ".ckpt", _checkpoint),
        Reader("certificate", ".json", _certificate),
        Reader("rows", ".jsonl", _rows),
        Reader("learned", ".rpsr", _model),
        Reader("carried", ".json", _policy),
        Reader("stochastic", ".json", _stochastic),
        Reader("moments", ".npz", _moments),
        Reader("jsonl-parts", ".jsonl", _parts),
        Reader("csv-parts", ".csv", _parts),
        Reader("parquet-parts", ".parquet", _parts),
        Reader("pieces", ".json", _piece),
        Reader("timings", ".json", _timings),
        Reader("classics", ".tar.gz", _classics),
    )
}
