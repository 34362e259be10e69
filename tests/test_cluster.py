"""Dask's schedulers and workers, real ones: the same bytes, whatever is killed in the middle."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests import clusters

from rpsr.cli.app import main
from rpsr.cluster import identity
from rpsr.errors import RpsrError, SchedulerLost
from rpsr.parallel import AGAIN, spread, workers
from rpsr.predictive.survey import survey
from rpsr.tree_sums import summed

pytest.importorskip("distributed")
# What Dask itself leaves open when a scheduler or a worker is killed.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.xdist_group("cluster"),
]
SOURCES = ["tiger", "paint", "1d", "missing.pomdp"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the module `deeds`, which workers import."""
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "deeds.py").write_text(clusters.DEEDS)
    sys.path.insert(0, str(folder))
    sys.modules.pop("deeds", None)
    yield folder
    sys.path.remove(str(folder))
    sys.modules.pop("deeds", None)


@pytest.fixture(scope="module")
def deeds(folder):
    import deeds

    return deeds


@pytest.fixture(scope="module")
def running(folder):
    """The file of a scheduler with two workers, each a process of its own."""
    with clusters.scheduler(folder) as (_, file), clusters.workers(file, folder, 2):
        yield file


def without_time(row):
    return row | {"seconds": None}


def test_a_local_cluster_says_what_this_process_says():
    from distributed import Client, LocalCluster

    asked = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(processes=True, **asked) as cluster, Client(cluster) as client:
        rows = list(survey(SOURCES, executor=client.get_executor()))
    assert sorted(map(without_time, rows), key=str) == sorted(
        map(without_time, survey(SOURCES)), key=str
    )


def test_an_item_that_kills_its_worker_once_is_run_again(running, deeds, tmp_path):
    items = [str(tmp_path / name) for name in ("one", "two", "three")]
    with workers(scheduler_file=running) as executor:
        assert dict(spread(deeds.die_once, items, executor)) == {i: Path(i).name for i in items}
    assert all(Path(item).stat().st_size >= 2 for item in items)


def test_an_item_that_always_kills_is_lost_and_no_other(running, deeds, tmp_path):
    items = [str(tmp_path / name) for name in ("a", "deadly", "b", "c", "d")]
    with workers(scheduler=clusters.address(running)) as executor:
        results = dict(spread(deeds.die, items, executor))
    assert [results[item] for item in items] == ["a", None, "b", "c", "d"]
    assert Path(items[1]).stat().st_size >= 1 + AGAIN


def test_an_exception_of_the_work_is_raised_here(running, deeds):
    with workers(scheduler_file=running) as executor, pytest.raises(ValueError, match="no 1"):
        list(spread(deeds.fail, [1], executor))


def test_workers_add_in_the_same_tree_as_this_process(running, deeds):
    said = []
    with workers(scheduler_file=running) as executor:
        total = summed(deeds.double, range(70), executor, deeds.joined, said.append, "item")
        adders = summed(deeds.nobody, range(70), executor, deeds.adders, None, "")
        one = summed(deeds.double, [4], executor, deeds.joined, None, "")
    assert total == summed(deeds.double, range(70), None, deeds.joined, None, "")
    assert said == [f"item {number} of 70" for number in range(1, 71)]
    assert adders
    assert os.getpid() not in adders
    assert one == 8


def test_what_fails_in_a_sum_is_raised_here(running, deeds, tmp_path):
    items = [str(tmp_path / name) for name in ("a", "deadly", "b", "c", "d")]
    with workers(scheduler_file=running) as executor:
        with pytest.raises(ValueError, match="no 1"):
            summed(deeds.fail, [1] * 5, executor, deeds.joined, None, "item")
        with pytest.raises(TypeError, match="unsupported operand"):
            summed(deeds.double, range(5), executor, deeds.adders, None, "item")
        with pytest.raises(RpsrError, match="item 2 of 5: the processes that ran it were killed"):
            summed(deeds.die, items, executor, deeds.joined, None, "item")


@pytest.mark.parametrize("deed", ["die_adding_once", "die_adding_elsewhere"])
def test_workers_that_are_killed_while_they_add(deeds, folder, tmp_path, monkeypatch, deed):
    """Others add again what they held; if additions kill them all, this process adds."""
    tally = tmp_path / "additions"
    monkeypatch.setenv("ADDITIONS", str(tally))
    monkeypatch.setenv("SAFE", str(os.getpid()))
    with (
        clusters.scheduler(tmp_path) as (_, file),
        clusters.workers(file, tmp_path, 2),
        workers(scheduler_file=file) as executor,
    ):
        total = summed(deeds.double, range(40), executor, getattr(deeds, deed), None, "item")
    assert total == 39 * 40
    assert tally.stat().st_size > 39


def test_moments_and_expected_counts_of_many_partitions_are_the_same_bytes(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    from distributed import Client, LocalCluster
    from tests.learning.em.test_partitioned_log import sums_of_partitions

    asked = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    here = sums_of_partitions(tmp_path, monkeypatch, None)
    with workers(2) as executor:
        assert sums_of_partitions(tmp_path, monkeypatch, executor) == here
    with LocalCluster(processes=True, **asked) as cluster, Client(cluster) as client:
        assert sums_of_partitions(tmp_path, monkeypatch, client.get_executor()) == here


def test_the_command_line_says_the_same_rows_on_workers(running, tmp_path, monkeypatch, capsys):
    """Relative paths begin where the command runs, not where a worker does."""
    monkeypatch.chdir(tmp_path)
    assert main(["domains", "export", "tiger", "-o", "here.pomdp"]) == 0
    Path("broken.pomdp").write_text("states: 2\nnonsense\n")
    capsys.readouterr()
    sources = ["accuracy", "here.pomdp", "broken.pomdp", "paint", "--json"]
    shown = []
    for words in ([], ["--jobs", "2"], ["--scheduler-file", str(running)]):
        assert main([*sources, *words]) == 1  # one file is broken
        rows = json.loads(capsys.readouterr().out)["rows"]
        shown.append(list(map(without_time, rows)))
    assert shown[0] == shown[1] == shown[2]
    assert shown[0][1]["error"].startswith("broken.pomdp:1:9")


def test_a_scheduler_that_disappears_is_one_line_and_keeps_whole_rows(
    folder, deeds, tmp_path, monkeypatch, capsys
):
    with clusters.scheduler(tmp_path) as (process, file), clusters.workers(file, tmp_path):
        with workers(scheduler_file=file) as executor:
            results = spread(deeds.sleep, [0, 600, 601], executor)
            assert next(results) == (0, "slept")
            process.kill()
            with pytest.raises(SchedulerLost, match="scheduler ended before"):
                list(results)
        monkeypatch.chdir(tmp_path)
        assert main(["accuracy", "tiger", "-o", "rows.jsonl", "--scheduler-file", str(file)]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert "no Dask scheduler can be reached there" in err
        assert not Path("rows.jsonl").exists()


WAITING = """
import sys
import deeds
from rpsr.errors import SchedulerLost
from rpsr.parallel import spread, workers

def double(number):
    return 2 * number

work = deeds.sleep if sys.argv[2] == "wait" else double
try:
    with workers(scheduler_file=sys.argv[1]) as executor:
        for _, found in spread(work, [0, 600], executor):
            print(found, flush=True)
except Exception as error:
    print(type(error).__name__, error, flush=True)
"""


def test_a_process_that_lost_its_scheduler_writes_nothing_else(tmp_path):
    script = tmp_path / "waiting.py"
    script.write_text(WAITING)
    with clusters.scheduler(tmp_path) as (process, file), clusters.workers(file, tmp_path):
        asked = {"env": clusters.environment(tmp_path), "text": True, "stderr": subprocess.PIPE}
        words = [sys.executable, str(script), str(file)]
        refused = subprocess.run([*words, "own"], **asked, stdout=subprocess.PIPE, check=True)
        assert "write it in a module that all workers can import" in refused.stdout
        with subprocess.Popen([*words, "wait"], **asked, stdout=subprocess.PIPE) as waiting:
            assert waiting.stdout.readline() == "slept\n"
            process.kill()
            out, err = waiting.communicate()
    assert (out, err) == (
        "SchedulerLost the Dask scheduler ended before the work did; finished work is kept\n",
        "",
    )


def another_version(folder):
    """The folder of a copy of the sources with another version number."""
    other, ignored = folder / "other", shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(clusters.SOURCE) / "rpsr", other / "rpsr", ignore=ignored)
    (other / "rpsr" / "_version.py").write_text('__version__ = "0.0.1"\n')
    return str(other)


def test_a_worker_of_another_version_is_refused(tmp_path, capsys):
    with (
        clusters.scheduler(tmp_path) as (_, file),
        clusters.workers(file, tmp_path, source=another_version(tmp_path)),
    ):
        clusters.joined(file, 1)
        with pytest.raises(RpsrError, match=r"runs rpsr 0\.0\.1"), workers(scheduler_file=file):
            pass
        assert main(["accuracy", "tiger", "--scheduler-file", str(file)]) == 1
        assert f"expected {identity()}: install the same" in capsys.readouterr().err


def test_a_worker_that_joins_later_is_refused_by_its_first_item(tmp_path, deeds):
    with (
        clusters.scheduler(tmp_path) as (_, file),
        workers(scheduler_file=file) as executor,
        clusters.workers(file, tmp_path, source=another_version(tmp_path)),
    ):
        with pytest.raises(RpsrError, match=r"runs rpsr 0\.0\.1"):
            list(spread(deeds.double, [1], executor))
        with pytest.raises(RpsrError, match=r"runs rpsr 0\.0\.1"):
            summed(deeds.double, [1, 2], executor, deeds.joined, None, "item")


def test_a_scheduler_that_disappears_from_a_sum_is_said(tmp_path, deeds):
    with (
        clusters.scheduler(tmp_path) as (process, file),
        clusters.workers(file, tmp_path),
        workers(scheduler_file=file) as executor,
        pytest.raises(SchedulerLost, match="scheduler ended before"),
    ):
        summed(deeds.sleep, [0, 600], executor, deeds.joined, lambda _: process.kill(), "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--scheduler-file", "nothing.json"], "no such scheduler file"),
        (["--scheduler", "nonsense://x"], "no Dask scheduler can be reached"),
        (["--scheduler", "tcp://127.0.0.1:1", "--jobs", "2"], "give one of"),
    ],
)
def test_wrong_schedulers_are_one_line(words, message, capsys):
    assert main(["accuracy", "tiger", *words]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err
