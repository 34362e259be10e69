"""Against the SARSOP toolkit itself, where the environment variable RPSR_SARSOP names its folder.

The folder is a checkout of the toolkit with its programs built in `src/`.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import rpsr
from rpsr.domains import build
from rpsr.io.records import Rows

FOLDER = os.environ.get("RPSR_SARSOP")
pytestmark = pytest.mark.skipif(not FOLDER, reason="RPSR_SARSOP names no SARSOP toolkit")
ROUNDED = 1e-5  # the converter prints six digits


def examples(kind: str, name: str) -> Path:
    path = Path(FOLDER or "") / "examples" / kind / name
    if not path.exists() or not path.stat().st_size:
        pytest.skip(f"the toolkit has no {name}")
    return path


def run(program: str, *words: str, cwd: Path) -> str:
    path = Path(FOLDER or "") / "src" / program
    if not path.exists():
        pytest.skip(f"{program} is not built")
    done = subprocess.run([path, *words], cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout


def assert_same(first: rpsr.POMDP, second: rpsr.POMDP) -> None:
    def dense(rows: Rows) -> np.ndarray:
        full = np.zeros((rows.height, rows.width))
        full[rows.row_of_entry(), rows.indices] = rows.values
        return full

    for name in ("start", "transition", "emission"):
        one, other = dense(getattr(first.record, name)), dense(getattr(second.record, name))
        np.testing.assert_allclose(one, other, atol=ROUNDED)
    scale = max(1.0, float(np.abs(first.R).max()))
    np.testing.assert_allclose(first.R, second.R, atol=ROUNDED * scale)
    assert first.discount == second.discount


@pytest.mark.parametrize("name", ["Tiger", "Hallway", "Hallway2", "TagAvoid"])
def test_its_converter_makes_what_we_read(tmp_path, name):
    shutil.copy(examples("POMDP", f"{name}.pomdp"), tmp_path)
    run("pomdpconvert", f"{name}.pomdp", cwd=tmp_path)
    plain = rpsr.load(tmp_path / f"{name}.pomdp", normalize=True)
    assert_same(plain, rpsr.load(tmp_path / f"{name}.pomdpx", normalize=True))


@pytest.mark.parametrize("name", ["Tiger", "Hallway", "Hallway2"])
def test_its_examples_are_the_same_in_both_formats(name):
    plain = rpsr.load(examples("POMDP", f"{name}.pomdp"), normalize=True)
    assert_same(plain, rpsr.load(examples("POMDPX", f"{name}.pomdpx"), normalize=True))


@pytest.mark.parametrize(
    ("name", "sizes", "edges"),
    [
        ("TagAvoid", (870, 5, 870), 9338),
        ("RockSample_7_8", (12800, 13, 100), 166_400),
        ("RockSample_11_11", (249_856, 16, 244), 3_997_696),  # 122 places times 2^11 rocks
    ],
)
def test_its_factored_examples(name, sizes, edges):
    pomdp = rpsr.load(examples("POMDPX", f"{name}.pomdpx"))
    assert (len(pomdp.states), len(pomdp.actions), len(pomdp.observations)) == sizes
    assert len(pomdp.record.transition.indices) == edges
    assert [v.observed for v in pomdp.state_variables][:2] == [True, False]
    assert pomdp.exact


@pytest.mark.parametrize("name", ["tiger", "4x3", "cheese", "shuttle"])
def test_it_reads_the_models_that_we_write(tmp_path, name):
    rpsr.save(build(name).with_discount("0.9"), tmp_path / "m.pomdpx")
    rpsr.save(build(name).with_discount("0.9"), tmp_path / "m.pomdp")
    first, second = (
        re.findall(r"^ \S+ +\d+ +\d+ +(\S+) +(\S+) ", out, re.M)[-1]
        for out in (
            run("pomdpsol", "--precision", "0.5", f"m{suffix}", cwd=tmp_path)
            for suffix in (".pomdpx", ".pomdp")
        )
    )
    assert np.allclose(np.array(first, float), np.array(second, float), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["Tiger", "RockSample_7_8"])
def test_its_evaluator_takes_our_policies(tmp_path, name):
    model = examples("POMDPX", f"{name}.pomdpx")
    plan = rpsr.solve(rpsr.load(model), planner="sarsop", epsilon=0.1, time_limit=10)
    rpsr.save_policy(plan, tmp_path / "ours.policy")
    words = ("--simLen", "100", "--simNum", "1000", "--policy-file", "ours.policy", str(model))
    out = run("pomdpeval", "--srand", "1", *words, cwd=tmp_path)
    mean, low, high = map(float, re.findall(r"^ \d+ +(\S+) +\((\S+), (\S+)\)", out, re.M)[-1])
    # It looks one step ahead, which may earn more than the bound, and never more than the optimum.
    room = 2 * (high - low)
    assert plan.lower - room <= mean <= plan.upper + room


def test_we_take_its_policies(tmp_path):
    model = examples("POMDPX", "Tiger.pomdpx")
    out = run("pomdpsol", "--output", "theirs.policy", str(model), cwd=tmp_path)
    lower = float(re.findall(r"^ \S+ +\d+ +\d+ +(\S+) ", out, re.M)[-1])
    pomdp = rpsr.load(model)
    stored = rpsr.load_policy(tmp_path / "theirs.policy", pomdp)
    assert float((stored.vectors @ pomdp.start).max()) == pytest.approx(lower, rel=1e-5)
