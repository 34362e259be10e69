"""Bytes in, bytes out: what cannot be read is named, and what is written is written whole."""

import gzip
import os
import stat
import sys
import threading
import tracemalloc
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from tests.io.reading import NAMES, REST, read

from rpsr import save
from rpsr.errors import InputError
from rpsr.evaluation import StochasticController, simulate
from rpsr.io import files
from rpsr.io.pomdp.reader import read_pomdp
from rpsr.io.pomdp.writer import format_pomdp, write_pomdp
from rpsr.logs.writers import write_logs
from rpsr.models import POMDP

TEXT = NAMES + REST
MODEL = read(TEXT)
MEGABYTE = 10**6


# ---- reading


def refused_file(path) -> str:
    with pytest.raises(InputError) as refused:
        read_pomdp(path)
    assert refused.value.place == str(path)
    assert "\n" not in str(refused.value)
    return refused.value.message


def test_binary_files(tmp_path):
    path = tmp_path / "f.pomdp"
    path.write_bytes(b"states: 2\n" + bytes(range(256)))
    assert refused_file(path) == "read the byte 0x00, expected text: is this a binary file?"
    path.write_bytes("states: 2".encode("utf-16"))
    assert "is this a binary file?" in refused_file(path)


def test_folders_and_missing_files(tmp_path):
    assert refused_file(tmp_path) == "is a folder, expected a file"
    assert refused_file(tmp_path / "none.pomdp") == "cannot be read: No such file or directory"


@pytest.mark.parametrize("cut", [3, 10, 30, -1])
def test_truncated_gzip(tmp_path, cut):
    path = tmp_path / "f.pomdp.gz"
    path.write_bytes(gzip.compress(TEXT.encode())[:cut])
    said = refused_file(path)
    assert said.startswith("broken gzip: ")
    assert said.endswith("; copy or download it again")


def test_damaged_gzip(tmp_path):
    path, packed = tmp_path / "f.pomdp.gz", bytearray(gzip.compress(TEXT.encode()))
    said: list[str] = []
    for at in range(2, len(packed)):
        damaged = packed.copy()
        damaged[at] ^= 0xFF
        path.write_bytes(damaged)
        try:
            assert read_pomdp(path).digest() == MODEL.digest()  # a byte of a date, say
        except InputError as error:
            said.append(str(error))
    assert len(said) > len(packed) / 2
    assert not any("\n" in error for error in said)


def lines_of(path):
    return list(files.read_lines(path))


def test_lines_are_read_one_by_one(tmp_path, monkeypatch):
    text = b"one\ntwo\n\nno end"
    for name, content in (("f", text), ("f.gz", gzip.compress(text)), ("empty", b"")):
        (tmp_path / name).write_bytes(content)
    assert lines_of(tmp_path / "f") == lines_of(tmp_path / "f.gz") == text.splitlines(True)
    assert lines_of(tmp_path / "empty") == []
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(text)))
    assert lines_of("-") == text.splitlines(True)


def test_lines_that_cannot_be_read_are_refused(tmp_path, monkeypatch):
    cut, bomb = tmp_path / "cut.gz", tmp_path / "bomb.gz"
    cut.write_bytes(gzip.compress(os.urandom(1000))[:-9])
    bomb.write_bytes(gzip.compress(bytes(10 * MEGABYTE)))  # one line without an end
    monkeypatch.setenv("RPSR_READ_LIMIT", str(24 * MEGABYTE))
    for path, said in (
        (tmp_path / "none", "cannot be read"),
        (tmp_path, "is a folder"),
        (cut, "broken gzip"),
        (bomb, "unpacks to more than 1,000,000 bytes"),
    ):
        with pytest.raises(InputError, match=said) as refused:
            lines_of(path)
        assert refused.value.place == str(path)


def test_a_gzip_bomb_is_refused_at_the_limit(tmp_path, monkeypatch):
    monkeypatch.setenv("RPSR_READ_LIMIT", "24MB")  # as it takes to read a megabyte of text
    path = tmp_path / "f.pomdp.gz"
    path.write_bytes(gzip.compress(b" " * 50 * MEGABYTE, 9))
    tracemalloc.start()
    try:
        assert refused_file(path).startswith("unpacks to more than 1,000,000 bytes")
        assert tracemalloc.get_traced_memory()[1] < 10 * MEGABYTE
    finally:
        tracemalloc.stop()


# ---- writing


def test_plain_gzip_and_standard_output(tmp_path, monkeypatch):
    text = format_pomdp(MODEL).encode()
    write_pomdp(MODEL, tmp_path / "m.pomdp")
    assert (tmp_path / "m.pomdp").read_bytes() == text
    for name in ("m.pomdp.gz", "M.POMDP.GZ"):
        write_pomdp(MODEL, tmp_path / name)
        assert gzip.decompress((tmp_path / name).read_bytes()) == text
    assert (tmp_path / "m.pomdp.gz").read_bytes() == (tmp_path / "M.POMDP.GZ").read_bytes()
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(BytesIO()))
    write_pomdp(MODEL, "-")
    assert sys.stdout.buffer.getvalue() == text  # pyright: ignore


@pytest.mark.parametrize(
    "error", [RuntimeError("half-way"), OSError(28, "No space left"), SystemExit()]
)
def test_a_failure_half_way_leaves_the_target_as_it_was(tmp_path, error):
    target = tmp_path / "m.pomdp"
    target.write_text("before")

    def write(stream):
        stream.write(b"half of ")
        raise error

    with pytest.raises(InputError if isinstance(error, OSError) else type(error)):
        files.write_whole(target, write)
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_that_does_not_exist_or_is_in_the_way(tmp_path):
    with pytest.raises(InputError, match=r"cannot be written: No such file or directory"):
        write_pomdp(MODEL, tmp_path / "none" / "m.pomdp")
    (tmp_path / "m.pomdp").mkdir()
    with pytest.raises(InputError, match=r"m\.pomdp: cannot be written: "):
        write_pomdp(MODEL, tmp_path / "m.pomdp")
    assert [path.name for path in tmp_path.iterdir()] == ["m.pomdp"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_to(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(InputError, match="cannot be written: Permission denied"):
            write_pomdp(MODEL, tmp_path / "m.pomdp")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
def test_a_result_is_readable_by_whom_the_umask_lets(tmp_path):
    umask = os.umask(0o027)
    try:
        write_pomdp(MODEL, tmp_path / "m.pomdp")
    finally:
        os.umask(umask)
    assert (tmp_path / "m.pomdp").stat().st_mode & 0o777 == 0o640


def test_writing_leaves_the_umask_alone(tmp_path, monkeypatch):
    """It belongs to all threads: two that read it by setting it can leave it at 0 for good."""

    def set_by(_mask):
        raise AssertionError("the umask was set")

    monkeypatch.setattr(os, "umask", set_by)
    write_pomdp(MODEL, tmp_path / "m.pomdp")
    assert (tmp_path / "m.pomdp").exists()


# ---- what is at the path already

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no devices or pipes as files")


@posix
def test_a_link_is_followed_and_stays(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "m.pomdp", tmp_path / "link.pomdp"
    target.write_text("before")
    link.symlink_to(Path("there") / "m.pomdp")
    write_pomdp(MODEL, link)
    assert link.is_symlink()
    assert target.read_text() == format_pomdp(MODEL)
    assert [path.name for path in target.parent.iterdir()] == ["m.pomdp"]


@posix
def test_a_link_to_nothing_yet_makes_its_target(tmp_path):
    (tmp_path / "link.pomdp").symlink_to("m.pomdp")
    write_pomdp(MODEL, tmp_path / "link.pomdp")
    assert (tmp_path / "link.pomdp").is_symlink()
    assert (tmp_path / "m.pomdp").read_text() == format_pomdp(MODEL)


@posix
def test_a_link_to_itself_is_refused(tmp_path):
    (tmp_path / "m.pomdp").symlink_to("m.pomdp")
    with pytest.raises(InputError, match=r"m\.pomdp: cannot be written: Too many levels"):
        write_pomdp(MODEL, tmp_path / "m.pomdp")
    with pytest.raises(InputError, match=r"m\.pomdp: cannot be written: Too many levels"):
        files.check_writable(tmp_path / "m.pomdp")


@posix
@pytest.mark.parametrize("suffix", [".pomdp", ".rpsr", ".jsonl", ".parquet"])
def test_who_reads_a_pipe_gets_everything(tmp_path, suffix):
    pipe, plain = tmp_path / f"pipe{suffix}", tmp_path / f"plain{suffix}"
    os.mkfifo(pipe)
    pomdp = POMDP(MODEL)
    log = simulate(pomdp, StochasticController.stationary(pomdp), episodes=2, steps=3)

    def write(path):
        if suffix in (".jsonl", ".parquet"):
            write_logs(log, path)
        else:
            save(pomdp, path)

    write(plain)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write(pipe)
    assert os.read(reader, MEGABYTE) == plain.read_bytes()
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@posix
def test_a_pipe_gets_nothing_of_what_fails(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    def write(stream):
        stream.write(b"half of ")
        stream.flush()
        raise RuntimeError

    with pytest.raises(RuntimeError):
        files.write_whole(pipe, write)
    assert os.read(reader, MEGABYTE) == b""
    os.close(reader)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's devices")
def test_a_device_is_written_to_and_stays_one(tmp_path):
    for name in ("null", "full"):
        (tmp_path / name).symlink_to(f"/dev/{name}")
    write_pomdp(MODEL, tmp_path / "null")
    with pytest.raises(InputError, match=r"full: cannot be written: No space left on device"):
        write_pomdp(MODEL, tmp_path / "full")
    for name in ("null", "full"):
        assert stat.S_ISCHR(Path(f"/dev/{name}").stat().st_mode)
        assert (tmp_path / name).is_symlink()


@posix
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path):
    target = tmp_path / "m.pomdp"
    for mode in (0o600, 0o664, 0o755):
        target.touch()
        target.chmod(mode)
        write_pomdp(MODEL, target)
        assert target.stat().st_mode & 0o7777 == mode
    if os.geteuid() == 0:
        os.chown(target, 1234, 4321)
        write_pomdp(MODEL, target)
        assert (target.stat().st_uid, target.stat().st_gid) == (1234, 4321)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a user whom files refuse")
def test_a_file_that_may_not_be_written_to_is_not_replaced(tmp_path):
    target = tmp_path / "m.pomdp"
    target.write_text("before")
    target.chmod(0o444)
    with pytest.raises(InputError, match="cannot be written: Permission denied"):
        write_pomdp(MODEL, target)
    with pytest.raises(InputError, match="cannot be written: Permission denied"):
        files.check_writable(target)
    assert target.read_text() == "before"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are of POSIX")
def test_lines_of_a_pipe_are_read(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"one\ntwo\n",))
    writer.start()
    assert list(files.read_lines(path)) == [b"one\n", b"two\n"]
    writer.join()


def test_what_a_terminal_shows_does_not_steer_it(open_terminal):
    terminal = open_terminal()
    files.write_bytes("-", "states: a\x1b[31m b\u202e\n".encode())
    assert terminal.getvalue() == b"states: a\\u001b[31m b\\u202e\n"
    with pytest.raises(InputError, match="the content is not text"):
        files.write_bytes("-", b"PK\x03\x04\xff\xfe")
