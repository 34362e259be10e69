"""Where compiled kernels are kept: wherever there is a place, and never in somebody else's."""

import importlib.util
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import rpsr
from rpsr import kernel_cache

NOBODY = 65534
HOMELESS = "/proc/nonexistent"  # nobody, not even root, can make this folder


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """The choice is made once a process: make it anew."""
    kernel_cache.private_folder.cache_clear()
    kernel_cache._warn_once.cache_clear()
    yield
    kernel_cache.private_folder.cache_clear()
    kernel_cache._warn_once.cache_clear()


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_the_temporary_folder_is_private_and_found_again(temporary):
    folder = kernel_cache.private_folder()
    assert folder is not None
    assert folder.parent == temporary
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    kernel_cache.private_folder.cache_clear()
    assert kernel_cache.private_folder() == folder


def taken(temporary):
    return temporary / f"rpsr-kernels-{os.getuid()}"


def as_a_file(path):
    path.write_text("")


def as_a_link(path):
    (path.parent / "elsewhere").mkdir(mode=0o700)
    path.symlink_to(path.parent / "elsewhere")


def as_an_open_folder(path):
    path.mkdir()
    path.chmod(0o777)


def as_a_strangers_folder(path):
    if os.getuid() != 0:
        pytest.skip("only root can make a folder that is somebody else's")
    path.mkdir(mode=0o700)
    os.chown(path, NOBODY, NOBODY)


@pytest.mark.parametrize("make", [as_a_file, as_a_link, as_an_open_folder, as_a_strangers_folder])
def test_what_others_could_have_written_is_not_trusted(temporary, make):
    make(taken(temporary))
    assert kernel_cache.private_folder() is None


def defined_without_a_cache(folder, monkeypatch):
    """A kernel whose module stands where numba can write neither beside it nor at home."""
    monkeypatch.setenv("HOME", HOMELESS)
    monkeypatch.setenv("XDG_CACHE_HOME", HOMELESS)
    (folder / "__pycache__").write_text("no folder")
    source = folder / "homeless.py"
    source.write_text(
        "from rpsr.kernel_cache import njit\n\n\n"
        "@njit(cache=True)\ndef twice(x):\n    return 2 * x\n\n\n"
        "@njit(cache=True)\ndef thrice(x):\n    return 3 * x\n"
    )
    spec = importlib.util.spec_from_file_location("homeless", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_kernels_are_kept_in_the_temporary_folder(temporary, monkeypatch):
    from numba.core import config

    before = config.CACHE_DIR
    source = temporary / "source"
    source.mkdir()
    module = defined_without_a_cache(source, monkeypatch)
    assert module.twice(3) == 6
    assert list(taken(temporary).rglob("*.nbc"))  # what numba calls a compiled kernel
    assert before == config.CACHE_DIR  # other users of numba are not moved


def test_without_any_place_kernels_work_and_one_warning_says_so(temporary, monkeypatch):
    as_a_file(taken(temporary))
    source = temporary / "source"
    source.mkdir()
    with pytest.warns(UserWarning, match="NUMBA_CACHE_DIR") as said:
        module = defined_without_a_cache(source, monkeypatch)
    assert len(said) == 1
    assert (module.twice(3), module.thrice(3)) == (6, 9)


def as_another_user():
    """Words before a command that run it as a user who can read everything and write little."""
    if sys.platform != "linux" or os.getuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("another user: needs root and setpriv")
    # The interpreter may stand in root's home, so the user keeps the right to read.
    read = "+dac_read_search"
    words = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    words += [f"--inh-caps={read}", f"--ambient-caps={read}"]
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("another user: this system does not let root become one")
    return words


def test_another_user_without_a_home_plans():
    words = as_another_user()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copytree(
            Path(rpsr.__file__).parent,
            folder / "src" / "rpsr",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        (folder / "tmp").mkdir()
        (folder / "tmp").chmod(0o1777)
        environment = {"HOME": "/nonexistent", "PYTHONPATH": str(folder / "src")}
        environment |= {"PATH": os.environ["PATH"], "TMPDIR": str(folder / "tmp")}
        done = subprocess.run(
            [*words, sys.executable, "-m", "rpsr", "accuracy", "tiger"],
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        kept = folder / "tmp" / f"rpsr-kernels-{NOBODY}"
        assert kept.stat().st_uid == NOBODY
        assert list(kept.rglob("*.nbc"))
        assert not list((folder / "src").rglob("__pycache__"))


CALLEE = """from rpsr.kernels import njit

FACTOR = {factor}


@njit(cache=True)
def times(x):
    return {factor} * x
"""
CALLER = """from callee import FACTOR, times
from rpsr.kernels import njit


@njit(cache=True)
def both(x):
    return FACTOR + times(x)
"""


def test_an_edit_reaches_the_kernels_of_other_files(tmp_path, monkeypatch):
    """Constants and callees are compiled into a kernel: its file alone does not say it is stale."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    (tmp_path / "caller.py").write_text(CALLER)

    def run():
        code = (
            "import caller\n"
            "print(caller.both(10), sum(caller.both.dispatcher.stats.cache_hits.values()))"
        )
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return [int(word) for word in done.stdout.split()]

    (tmp_path / "callee.py").write_text(CALLEE.format(factor=2))
    assert run() == [22, 0]
    assert run() == [22, 1]
    (tmp_path / "callee.py").write_text(CALLEE.format(factor=30))
    assert run() == [330, 0]


def test_a_cache_of_a_version_with_other_types_is_compiled_again(tmp_path, monkeypatch):
    """A cached signature refers to its named tuples by name, and one of them may be gone."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    for name in ("Pair", "Couple"):
        (tmp_path / "layout.py").write_text(
            "from typing import NamedTuple\n\nfrom rpsr.kernels import njit\n\n\n"
            f"class {name}(NamedTuple):\n    one: float\n    other: float\n\n\n"
            "@njit(cache=True)\ndef total(pair):\n    return pair.one + pair.other\n"
        )
        code = f"import layout\nprint(layout.total(layout.{name}(1.0, 2.0)))"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.stdout == "3.0\n", done.stderr
