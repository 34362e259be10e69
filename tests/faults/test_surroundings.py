"""A full disk, a folder that cannot be written, a closed pipe, and others at work beside."""

import os
import signal
import sys
import threading
import traceback
import warnings
from functools import cache

import numba
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


LEARN = ["learn", "LOG", "--estimator", "spectral", "--discount", "0.9"]
TARGETS = {
    "convert.pomdp": ["convert", "hallway", "OUT.pomdp"],
    "convert.rpsr": ["convert", "hallway", "OUT.rpsr"],
    "simulate.parquet": ["simulate", "tiger", "-o", "OUT.parquet", "--episodes", "99"],
    "solve.json": ["solve", "hallway", "--planner", "qmdp", "-o", "OUT.json"],
    "accuracy.jsonl": ["accuracy", "tiger", "-o", "OUT.jsonl"],
    "report.html": ["report", "tiger", "-o", "OUT.html", "--time-limit", "1"],
    "checkpoint": ["solve", "tiger", "--planner", "sarsop", "--checkpoint", "OUT.ckpt"],
    "certificate": ["solve", "tiger", "--planner", "sarsop", "--certificate", "OUT.json"],
    "learn.rpsr": [*LEARN, "-o", "OUT.rpsr"],
}


def arguments_of(name, log, out="OUT"):
    """The words of a target, with the files that LOG and OUT stand for."""
    words = [str(log) if word == "LOG" else word for word in TARGETS[name]]
    return [word.replace("OUT", out) for word in words]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    assert main(["simulate", "tiger", "-o", str(path), "--episodes", "30", "--steps", "20"]) == 0
    words = [str(path) if word == "LOG" else word for word in LEARN]
    assert main([*words, "-o", str(path.with_suffix(".rpsr"))]) == 0  # compiles kernels
    return path


@forks
@pytest.mark.parametrize("name", TARGETS)
def test_a_full_disk_is_one_line_and_leaves_nothing(name, log, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def work():
        import resource

        # Kernels that no earlier test has compiled stay in memory (see `test_kernel_cache`).
        warnings.filterwarnings("ignore", "compiled kernels cannot be saved")
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))  # as if the disk were full
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        return main(arguments_of(name, log))

    code, said = in_a_copy(work)
    assert code == 1
    assert "OUT." in said.splitlines()[-1]
    assert "Traceback" not in said
    assert "unexpected" not in said
    whole = [path for path in tmp_path.iterdir() if path.stat().st_size]
    assert [p.name for p in whole] == (["OUT.jsonl"] if name == "accuracy.jsonl" else [])


@forks
@pytest.mark.parametrize("name", TARGETS)
def test_a_folder_that_nobody_can_write_is_one_line(name, log, capsys):
    capsys.readouterr()
    assert main(arguments_of(name, log, out="/proc/out")) == 1
    *notes, line = capsys.readouterr().err.splitlines()
    assert line.startswith("rpsr: /proc/out.")
    notes = [note for note in notes if "compiling kernels" not in note]  # the first run only
    assert notes == (
        ["rpsr: the log is too short to test whether a PSR is enough"] * ("LOG" in TARGETS[name])
    )


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
def test_the_work_is_done_though_nobody_reads_what_it_notes(tmp_path, monkeypatch):
    """A note comes before the file, so a verb that ends at its first note writes none."""
    monkeypatch.chdir(tmp_path)

    def solved(notes, target):
        def work():
            os.dup2(notes, 2)
            sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
            return main(["solve", "loadunload", "--planner", "reachable", "--certificate", target])

        return in_a_copy(work)

    read, write = os.pipe()
    os.close(read)
    full = os.open("/dev/full", os.O_WRONLY)
    assert solved(write, "pipe.json") == (0, "")
    assert solved(full, "full.json") == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full.json", "pipe.json"]
    os.close(write)
    os.close(full)


@forks
def test_closed_streams_are_no_error_of_ours(tmp_path):
    """As after `<&-`, `>&-` and `2>&-`: Python has None in their place."""

    def without(name, arguments):
        def work():
            setattr(sys, name, None)
            return main(arguments)

        return in_a_copy(work)

    assert without("stdin", ["info", "-"]) == (1, "rpsr: <stdin>: standard input is closed\n")
    assert without("stdout", ["info", "tiger"]) == (0, "")

    def errors_are_not_output():
        sys.stdout = open(tmp_path / "out", "w")  # noqa: SIM115 - the process ends with it
        sys.stderr = None
        code = main(["info", "nowhere.pomdp"])
        sys.stdout.flush()
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
        return code

    assert in_a_copy(errors_are_not_output) == (1, "")
    assert (tmp_path / "out").read_text() == ""


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

        doubled = twice(21)
        return 0 if doubled == 42 and sum(twice.stats.cache_hits.values()) == 1 else 1

    assert in_a_copy(third)[0] == 0


@forks
def test_kernels_that_a_full_disk_cannot_keep_are_in_memory_with_one_note(tmp_path, monkeypatch):
    source = KERNEL + KERNEL.replace("twice", "double")
    (tmp_path / "kernel_without_room.py").write_text(source.replace("2", "3"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(numba.core.config, "CACHE_DIR", str(tmp_path / "kept"))

    def before():
        from kernel_without_room import twice

        return twice(14)

    assert in_a_copy(before) == (42, "")
    (tmp_path / "kernel_without_room.py").write_text(source)  # what is kept is stale from now on

    def work():
        import resource

        from kernel_without_room import double, twice

        # As if the disk were full: small indices are saved, and machine code is not.
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            answer = twice(11) + double(10)
        (note,) = notes
        assert "compiled kernels cannot be saved (File too large)" in str(note.message)
        return answer

    assert in_a_copy(work) == (42, "")

    def with_room():
        from kernel_without_room import double, twice

        return twice(11) + double(10)

    assert in_a_copy(with_room) == (42, "")


# Planners whose course depends on no clock.
PLANS = (
    ("tiger", "sarsop", {"epsilon": 1e-2}),
    ("tiger", "vi", {"epsilon": 1}),
    ("shuttle", "hsvi", {"max_iterations": 5}),
    ("shuttle", "perseus", {"max_points": 10, "max_iterations": 5, "seed": 3}),
    ("tiger", "vi", {"horizon": 3}),
    ("tiger", "enumeration", {"horizon": 2}),
    ("tiger", "policy-iteration", {"epsilon": 1}),
    ("tiger", "pbvi", {"max_iterations": 3}),
    ("tiger", "qmdp", {}),
    ("tiger", "fib", {}),
    ("tiger", "q-learning", {"max_iterations": 200, "seed": 3}),
    ("loadunload", "reachable", {}),
    ("loadunload", "auto", {}),
)


@cache
def model(name):
    return load(name)


def planned(task):
    name, planner, options = task
    plan = solve(model(name), planner, **options)
    return plan.lower, plan.upper, plan.vectors.tobytes(), plan.actions.tobytes()


def test_threads_plan_as_one_thread_does():
    answers = [None] * (2 * len(PLANS))
    together = threading.Barrier(len(answers))

    def work(i):
        together.wait()
        answers[i] = planned(PLANS[i % len(PLANS)])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(answers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == 2 * [planned(task) for task in PLANS]
