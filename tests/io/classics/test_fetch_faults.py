"""What a download refuses: other bytes, other servers, other names, always in one line."""

from __future__ import annotations

import gzip
import socket
import threading
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.io.classics.mirror import TABLE, TEXTS, contents, tar_of

from rpsr.errors import InputError
from rpsr.io.classics import download
from rpsr.io.classics.checksums import unpack
from rpsr.io.classics.fetch import fetch

pytestmark = pytest.mark.usefixtures("own_settings")


def test_a_wrong_checksum_names_file_and_digests_and_keeps_nothing(server, get, tmp_path):
    wrong = TEXTS["one"].replace(b"\n", b"\r\n")
    server.files["one.POMDP"] = wrong
    with pytest.raises(InputError) as info:
        get("one")
    message = str(info.value)
    assert message == (
        f"{server.address}/one.POMDP: one.POMDP has SHA-256 {sha256(wrong).hexdigest()}, "
        f"expected {sha256(TEXTS['one']).hexdigest()}"
    )
    assert contents(tmp_path / "in") == {}


def test_a_file_at_fault_does_not_keep_the_others_away(server, get, tmp_path):
    server.files["one.POMDP"] = b"other"
    server.files["set.tar.gz"] = tar_of({"set-1.POMDP": b"other", "set-2.POMDP": TEXTS["set-2"]})
    with pytest.raises(
        InputError, match=r"one\.POMDP has SHA-256 .* \(other files that failed: 1\)"
    ):
        get()
    assert set(contents(tmp_path / "in")) == {"two.95.POMDP", "packed.POMDP", "set-2.POMDP"}


def test_what_is_not_there_is_named(server, get):
    del server.files["one.POMDP"]
    with pytest.raises(InputError, match=r"/examples/one\.POMDP: the server answers HTTP 404$"):
        get("one")
    del server.files["set.tar.gz"]
    with pytest.raises(
        InputError, match=r"set\.tar\.gz: the server answers HTTP 404 \(other files"
    ):
        get("set-1", "set-2")
    server.files["set.tar.gz"] = tar_of({"other.POMDP": b""})
    with pytest.raises(InputError, match=r"set\.tar\.gz: the archive has no file set-1\.POMDP"):
        get("set-1")


@pytest.mark.parametrize("status", [500, 503, 302, 301, 401])
def test_a_server_at_fault_ends_the_run(server, get, status):
    server.status = status
    with pytest.raises(InputError, match=f"HTTP {status}$"):
        get()
    assert len(server.asked) == 1


@pytest.mark.parametrize("target", ["ftp://127.0.0.1/x", "file:///etc/hostname", "data:,x"])
def test_a_redirection_stays_on_the_web(server, get, target):
    server.status = 302
    server.headers = {"Location": target}
    with pytest.raises(InputError):
        get("one")


def test_nobody_listens(tmp_path):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    with pytest.raises(InputError, match=r"one\.POMDP: cannot be reached: .*refused") as info:
        fetch(mirror=f"http://127.0.0.1:{port}/", folder=tmp_path, table=TABLE)
    assert "\n" not in str(info.value)
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("answer", [b"", b"\x1b[2J nonsense\r\n\r\n"], ids=["silence", "noise"])
def test_nobody_answers_properly(monkeypatch, tmp_path, answer):
    monkeypatch.setattr(download, "TIMEOUT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        mirror = f"http://127.0.0.1:{listener.getsockname()[1]}"

        def reply() -> None:
            with listener.accept()[0] as connection:
                connection.sendall(answer)
                connection.recv(4096)
                done.wait(5)

        done = threading.Event()
        thread = threading.Thread(target=reply)
        thread.start()
        try:
            with pytest.raises(InputError, match=r"no answer for 0\.1 s|is not valid HTTP") as info:
                fetch(mirror=mirror, folder=tmp_path, table=TABLE)
        finally:
            done.set()
            thread.join()
    assert str(info.value).isprintable()


@pytest.mark.parametrize(
    "mirror",
    [
        "ftp://127.0.0.1/",
        "some/folder",
        "http://a\nb/",
        "http://a b/",
        "http://[::1/",
        "http://127.0.0.1:x/",
        "http://127.0.0.1:99999/",
        "http://",
        "http:///x",
        "file://elsewhere.invalid/x",
        "file:///\u00e9/x",
        "http://127.0.0.1:1/\u00e9",
        "http://" + "a" * 99 + ".invalid",
    ],
)
def test_an_impossible_mirror_is_refused_in_one_line(tmp_path, mirror):
    with pytest.raises(InputError) as info:
        fetch(["one"], mirror=mirror, folder=tmp_path, table=TABLE)
    assert str(info.value).isprintable()


def test_an_unknown_name_lists_near_ones(get):
    with pytest.raises(InputError, match=r"is called 'two'; did you mean two\.95$"):
        get("one", "two")
    with pytest.raises(InputError, match=r"'SET-1.pomdp'; did you mean set-1, set-2$"):
        get("SET-1.pomdp")
    with pytest.raises(InputError, match=r"'zzz'; expected one of one, two\.95, packed"):
        get("zzz")
    with pytest.raises(InputError, match=r"'tiger'; did you mean .*tiger\.95"):
        fetch(["tiger"])
    with pytest.raises(InputError, match=r"no classic problem is called '\.\./one'"):
        get("../one")


def test_a_folder_that_cannot_be(get, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="cannot be written"):
        get("one", folder=tmp_path / "file" / "under")
    (tmp_path / "in" / "one.POMDP.part").mkdir(parents=True)
    with pytest.raises(InputError, match="cannot be written"):
        get("one")


@pytest.mark.parametrize(
    ("file", "body", "message"),
    [
        ("one.POMDP", b"x" * 99_999, "larger than"),
        ("packed.POMDP.gz", gzip.compress(b"x" * 9_999_999), "unpacks to more"),
        ("packed.POMDP.gz", gzip.compress(TEXTS["packed"])[:-9], "cannot be unpacked"),
        ("packed.POMDP.gz", gzip.compress(b"", mtime=0)[:10] + b"nonsense", "cannot be unpacked"),
        ("set.tar.gz", gzip.compress(b"no archive", mtime=0), "cannot be unpacked"),
        (
            "set.tar.gz",
            tar_of({"set-1.POMDP": b"x" * 20_000}),
            r"the archive has no file set-1\.POMDP",
        ),
    ],
    # Bytes as ids would differ from process to process: archives hold the time they were made.
    ids=["too large", "unpacks too large", "cut", "nonsense", "no archive", "too large inside"],
)
@pytest.mark.parametrize("length", ["announced", "silent"])
def test_what_cannot_be_the_file_is_refused(server, get, tmp_path, file, body, message, length):
    server.files[file] = body
    server.headers = {} if length == "announced" else {"Content-Length": ""}
    name = next(classic.name for classic in TABLE if classic.address == file)
    with pytest.raises(InputError, match=message):
        get(name, checksums="report")
    assert contents(tmp_path / "in") == {}


@given(st.binary(max_size=1500), st.integers(0, 1536), st.booleans())
def test_no_archive_makes_it_stumble(noise, position, packed):
    whole = bytearray(gzip.decompress(tar_of({"set-1.POMDP": b"abc"})))
    whole[position : position + len(noise)] = noise
    wire = gzip.compress(bytes(whole)) if packed else bytes(whole)
    try:
        texts = unpack(wire, "set.tar.gz", TABLE, 2**15)
    except InputError:
        return
    assert set(texts) <= {classic.file for classic in TABLE}
