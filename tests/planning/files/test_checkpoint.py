"""Checkpoints: what was found is read back, for the same model, by planners that can use it."""

from pathlib import Path

import numpy as np
import pytest
from tests.planning.plans import PARR, solved

from rpsr import InputError, ModelError
from rpsr.domains import build
from rpsr.planning.files.checkpoint import Checkpoint, load_checkpoint, resume, save_checkpoint
from rpsr.planning.planners import solve
from rpsr.planning.reachable.planner import Reachable
from rpsr.planning.solution import Status


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_checkpoint_keeps_what_was_found():
    solution = solved("loadunload", "rpsr")
    save_checkpoint(solution, "c.ckpt")
    again = load_checkpoint("c.ckpt", solution.model)
    assert np.allclose(again.value_function.vectors, solution.vectors, atol=1e-12)
    assert np.array_equal(again.value_function.actions, solution.actions)
    assert np.array_equal(again.value_function.successors, solution.successors)
    assert (again.lower, again.upper) == (solution.lower, solution.upper)
    belief = load_checkpoint("c.ckpt", build("loadunload").belief_model())
    assert belief.value_function.vectors.shape == (26, 10)


def test_a_checkpoint_of_another_model_is_refused():
    save_checkpoint(solved("loadunload"), "c.ckpt")
    for other in (
        PARR,
        build("loadunload").with_discount("0.9").belief_model(),
        solved("loadunload", "psr").model,
    ):
        with pytest.raises(
            InputError, match=r"c\.ckpt: the checkpoint is of another model, .*; choose"
        ):
            load_checkpoint("c.ckpt", other)
    Path("d.ckpt").write_bytes(Path("c.ckpt").read_bytes()[:-30])
    with pytest.raises(InputError, match=r"d\.ckpt: "):
        load_checkpoint("d.ckpt", solved("loadunload").model)
    save_checkpoint(solve(PARR, Reachable(horizon=2)), "h.ckpt")
    with pytest.raises(InputError, match="finite horizon"):
        load_checkpoint("h.ckpt", PARR)


def test_a_planner_goes_on_only_if_it_can():
    save_checkpoint(solved("parr"), "c.ckpt")
    checkpoint = load_checkpoint("c.ckpt", PARR)
    with pytest.raises(ModelError, match="planner reachable cannot continue from a checkpoint"):
        resume(PARR, Reachable(), checkpoint, print)

    class Going(Reachable):
        def resume(self, model, progress, checkpoint):
            assert isinstance(checkpoint, Checkpoint)
            return self.solve(model, progress)

    plan = resume(PARR, Going(), checkpoint, lambda row: None)
    assert plan.value == solved("parr").value


def test_an_empty_checkpoint_is_said_to_be_one(tmp_path):
    (tmp_path / "run.ckpt").write_bytes(b"")
    with pytest.raises(InputError, match=r"run\.ckpt: is empty, expected a checkpoint"):
        load_checkpoint(tmp_path / "run.ckpt", build("tiger").belief_model())
    (tmp_path / "run.ckpt").write_bytes(b"no archive")
    with pytest.raises(InputError, match=r"run\.ckpt: not a readable checkpoint"):
        load_checkpoint(tmp_path / "run.ckpt", build("tiger").belief_model())


def test_what_is_said_of_an_interrupted_run_promises_no_checkpoint():
    assert "checkpoint" not in Status.INTERRUPTED.value  # some planners keep none
