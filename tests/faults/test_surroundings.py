"""A full disk, a folder that cannot be written, a closed pipe, and others at work beside."""

import os
import signal
import sys
import threading
import traceback
from functools import cache

import pytest

from rpsr import load, solve
from rpsr.cli.app import main
from rpsr.io.files import write_bytes

forks = pytest.mark.skipif(sys.platform != "linux", reason="needs fork, and Linux's limits")


def in_a_copy(work):
    """Run a function in a copy of this process; its exit code and what it wrote to stderr."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 99
        try:
            os.close(read)
            os.dup2(write, 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - the process ends with it
            sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
            code = work()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(write)
    with open(read, "rb") as stream:
        said = stream.read().decode()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


TARGETS = {
    "convert.pomdp": ["convert", "hallway", "OUT.pomdp"],
    "convert.rpsr": ["convert", "hallway", "OUT.rpsr"],
    "simulate.parquet": ["simulate", "tiger", "-o", "OUT.parquet", "--episodes", "99"],
    "solve.json": ["solve", "hallway", "--planner", "qmdp", "-o", "OUT.json"],
    "accuracy.jsonl": ["accuracy", "tiger", "-o", "OUT.jsonl"],
}


@forks
@pytest.mark.parametrize("name", TARGETS)
def test_a_full_disk_is_one_line_and_leaves_nothing(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def work():
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))  # as if the disk were full
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        return main(TARGETS[name])

    code, said = in_a_copy(work)
    assert code == 1
    assert "OUT." in said.splitlines()[-1]
    assert "Traceback" not in said
    assert "unexpected" not in said
    whole = [path for path in tmp_path.iterdir() if path.stat().st_size]
    assert [p.name for p in whole] == (["OUT.jsonl"] if name == "accuracy.jsonl" else [])


@forks
@pytest.mark.parametrize("name", TARGETS)
def test_a_folder_that_nobody_can_write_is_one_line(name, capsys):
    arguments = [word.replace("OUT", "/proc/out") for word in TARGETS[name]]
    assert main(arguments) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("rpsr: /proc/out.")


@forks
@pytest.mark.parametrize(
    "arguments",
    [
        ["info", "tiger"],
        ["info", "tiger", "--json"],
        ["domains", "list"],
        ["solve", "tiger", "--planner", "qmdp", "-o", "-"],
        ["convert", "tiger", "-"],
    ],
)
def test_a_reader_that_has_gone_is_no_error(arguments):
    def work():
        read, write = os.pipe()
        os.close(read)
        os.dup2(write, 1)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - the process ends with it
        code = main(arguments)
        sys.stdout.flush()  # as the interpreter does when it ends
        return code

    assert in_a_copy(work) == (0, "")


@forks
def test_of_two_writers_one_wins_and_the_file_is_always_whole(tmp_path):
    target = tmp_path / "out.bin"
    contents = [bytes([65 + k]) * 100_000 for k in range(2)]
    children = []
    for content in contents:
        child = os.fork()
        if child == 0:
            for _ in range(60):
                write_bytes(target, content)
            os._exit(0)
        children.append(child)
    looks, left = 0, set(children)
    while left:
        if target.exists():
            assert target.read_bytes() in contents
            looks += 1
        left -= {child for child in left if os.waitpid(child, os.WNOHANG)[0]}
    assert looks > 0
    assert target.read_bytes() in contents
    assert [path.name for path in tmp_path.iterdir()] == ["out.bin"]


KERNEL = """
from rpsr.kernel_cache import njit

@njit(cache=True)
def twice(x):
    return 2 * x
"""


@forks
def test_two_first_runs_share_an_empty_cache_of_kernels(tmp_path, monkeypatch):
    (tmp_path / "kernel_of_two_runs.py").write_text(KERNEL)
    monkeypatch.syspath_prepend(tmp_path)
    read, write = os.pipe()  # both wait for its end, so that they begin together
    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            code = 99
            try:
                os.close(write)
                os.read(read, 1)
                from kernel_of_two_runs import twice

                code = 0 if twice(21) == 42 and twice(0.5) == 1.0 else 1
            finally:
                os._exit(code)
        children.append(child)
    os.close(read)
    os.close(write)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0]

    def third():
        from kernel_of_two_runs import twice

        found = twice(21)
        return 0 if found == 42 and sum(twice.stats.cache_hits.values()) == 1 else 1

    assert in_a_copy(third)[0] == 0


# Planners whose course depends on no clock.
PLANS = (
    ("tiger", "sarsop", {"epsilon": 1e-2}),
    ("tiger", "vi", {"epsilon": 1}),
    ("shuttle", "hsvi", {"max_iterations": 5}),
    ("shuttle", "perseus", {"max_points": 10, "max_iterations": 5, "seed": 3}),
    ("tiger", "vi", {"horizon": 3}),
)


@cache
def model(name):
    return load(name)


def planned(task):
    name, planner, options = task
    found = solve(model(name), planner, **options)
    return found.lower, found.upper, found.vectors.tobytes(), found.actions.tobytes()


def test_threads_plan_as_one_thread_does():
    found = [None] * (2 * len(PLANS))
    together = threading.Barrier(len(found))

    def work(i):
        together.wait()
        found[i] = planned(PLANS[i % len(PLANS)])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(found))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == 2 * [planned(task) for task in PLANS]
