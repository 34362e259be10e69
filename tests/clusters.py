"""Dask schedulers and workers as processes of their own, on the loopback address, for tests."""

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock, Thread

SOURCE = str(Path(__file__).parents[1] / "src")
DEEDS = """
import os, signal, time
from pathlib import Path

def sleep(seconds):
    time.sleep(seconds)
    return "slept"

def double(number):
    return 2 * number

def where(number):
    return os.getpid()

def fail(number):
    raise ValueError(f"no {number}")

class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(one + two)

def fail_oddly(how):
    if how == "end":
        raise EOFError("the reason")
    if how == "back":  # is rebuilt from one argument, and needs two
        raise Odd("the ", "reason")
    error = ValueError("the reason")
    error.cannot_be_pickled = lambda: how
    raise error

def counted(path):
    with open(path, "ab") as stream:
        stream.write(b".")
    return Path(path).stat().st_size

def die_once(path):
    if counted(path) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return Path(path).name

def die(path):
    counted(path)
    if Path(path).name.startswith("deadly"):
        os.kill(os.getpid(), signal.SIGKILL)
    return Path(path).name

def joined(one, other):
    return f"({one} {other})"

def nobody(number):
    return frozenset()

def adders(one, other):
    return one | other | {os.getpid()}

def die_adding_once(one, other):
    if os.getpid() == int(os.environ["SAFE"]):
        raise ValueError("the process that asked had to add")
    if counted(os.environ["ADDITIONS"]) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return one + other

def die_adding_elsewhere(one, other):
    counted(os.environ["ADDITIONS"])
    if os.getpid() != int(os.environ["SAFE"]):
        os.kill(os.getpid(), signal.SIGKILL)
    return one + other
"""


def environment(folder, source=SOURCE):
    """Variables for a process that can import rpsr and the module `deeds` in a folder."""
    module = Path(folder) / "deeds.py"
    if not module.exists():  # a scheduler comes first; later, someone may be reading it
        module.write_text(DEEDS)
    paths = os.pathsep.join([source, str(folder)])
    quiet = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "20s", "OPENBLAS_NUM_THREADS": "1"}
    return os.environ | {"PYTHONPATH": paths} | quiet


def started(words, folder, source=SOURCE):
    with (Path(folder) / f"{words[0]}.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *words],
            env=environment(folder, source),
            cwd=folder,
            stdout=log,
            stderr=log,
        )


@contextmanager
def scheduler(folder):
    """A running scheduler: its process and the file with its address."""
    file = Path(folder) / "scheduler.json"
    file.unlink(missing_ok=True)
    words = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    process = started([*words, "--scheduler-file", str(file)], folder)
    try:
        address(file)
        yield process, file
    finally:
        process.kill()
        process.wait()


@contextmanager
def workers(file, folder, count=1, source=SOURCE):
    """Workers of one thread each; one that is killed is replaced.

    Not by Dask's nannies: a nanny gives up if its worker dies before it has said hello.
    """
    words = ["worker", "--scheduler-file", str(file), "--no-nanny", "--nthreads", "1"]
    words += ["--no-dashboard", "--host", "127.0.0.1", "--memory-limit", "0"]
    words += ["--local-directory", str(folder)]
    processes, lock, ended = set(), Lock(), Event()

    def replace():
        while True:
            with lock:
                if ended.is_set():
                    return
                process = started(words, folder, source)
                processes.add(process)
            process.wait()
            with lock:
                processes.remove(process)

    keepers = [Thread(target=replace) for _ in range(count)]
    for keeper in keepers:
        keeper.start()
    try:
        yield
    finally:
        with lock:
            ended.set()
            for process in processes:
                process.kill()
        for keeper in keepers:
            keeper.join()


def address(file):
    """The address in a scheduler's file, as soon as it is there."""
    while True:
        try:
            return json.loads(Path(file).read_text())["address"]
        except (OSError, ValueError):
            time.sleep(0.05)


def joined(file, count):
    """Wait until a scheduler has this many workers."""
    from distributed import Client

    with Client(scheduler_file=str(file), set_as_default=False) as client:
        client.wait_for_workers(count)
