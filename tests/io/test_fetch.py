"""The download of the classic repository, against servers on this machine and made-up files."""

from __future__ import annotations

import gzip
import io
import os
import socket
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rpsr.io.fetch as module
from rpsr.errors import InputError
from rpsr.io import download
from rpsr.io.checksums import unpack
from rpsr.io.fetch import CLASSICS, NOT_CHECKED, PUBLIC, Classic, cache_folder, fetch

TEXTS = {
    "one": b"discount: 0.5\n" * 40,
    "two.95": b"values: reward\n" * 4000,
    "packed": b"states: 3\n" * 9000,
    "set-1": b"T: * identity\n",
    "set-2": b"O: * uniform\n" * 7,
}
PACKED = {"packed": "packed.POMDP.gz", "set-1": "set.tar.gz", "set-2": "set.tar.gz"}


def entry(name: str, text: bytes) -> Classic:
    digest = sha256(text).hexdigest()
    return Classic(name, f"{name}.POMDP", digest, len(text), PACKED.get(name))


TABLE = tuple(entry(name, text) for name, text in TEXTS.items())


def tar_of(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, text in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return stream.getvalue()


def site() -> dict[str, bytes]:
    """What the public server holds: two plain files, a gzipped one, an archive of two."""
    return {
        "one.POMDP": TEXTS["one"],
        "two.95.POMDP": TEXTS["two.95"],
        "packed.POMDP.gz": gzip.compress(TEXTS["packed"]),
        "set.tar.gz": tar_of(
            {
                "README": b"?",
                "ejs/set-1.POMDP": TEXTS["set-1"],
                "../../set-2.POMDP": TEXTS["set-2"],
            }
        ),
    }


class Server(ThreadingHTTPServer):
    """Serves `files`; `cuts` says after how many bytes the next answers break off."""

    daemon_threads = True

    def __init__(self) -> None:
        self.files = site()
        self.ranges = True
        self.cuts: list[int] = []
        self.stall: threading.Event | None = None  # a cut answer waits for it before it closes
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.asked: list[tuple[str, str | None]] = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/examples"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server = self.server
        name = self.path.removeprefix("/examples/")
        asked = self.headers["Range"]
        server.asked.append((name, asked))
        body = server.files.get(name)
        if server.status or body is None:
            self.send_response(server.status or 404)
            self.send_header("Content-Length", "0")
            for key, value in server.headers.items():
                self.send_header(key, value)
            self.end_headers()
            return
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        if asked and server.ranges and start >= len(body):
            self.send_error(416)
            return
        if asked and server.ranges:
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            body = body[start:]
        else:
            self.send_response(200)
        headers = {"Content-Length": str(len(body)), **server.headers}
        for key, value in headers.items():
            if value:
                self.send_header(key, value)
        self.end_headers()
        cut = server.cuts.pop(0) if server.cuts else len(body)
        self.wfile.write(body[:cut])
        if server.stall and cut < len(body):
            self.wfile.flush()
            server.stall.wait(5)

    def log_message(self, *args: object) -> None:
        """Silent."""


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No proxy, mirror or cache of whoever runs the tests; the public server is never asked."""
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("RPSR_MIRROR", raising=False)
    monkeypatch.setenv("RPSR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "PUBLIC", "http://127.0.0.1:1/")


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def get(server: Server, tmp_path: Path) -> Callable[..., list[Path]]:
    """`fetch` from the loopback server into a folder of the test."""

    def call(*names: str, **options: object) -> list[Path]:
        given = {"mirror": server.address, "folder": tmp_path / "in", "table": TABLE, **options}
        return fetch(names or None, **given)  # pyright: ignore[reportArgumentType]

    return call


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_downloads_everything_whatever_it_is_packed_in(server, get, tmp_path):
    paths = get()
    assert [path.name for path in paths] == [classic.file for classic in TABLE]
    assert contents(tmp_path / "in") == {f"{name}.POMDP": text for name, text in TEXTS.items()}
    assert len(server.asked) == 4, "the archive is asked for once"


def test_files_come_in_the_order_asked_by_name_or_file(get, tmp_path):
    paths = get("two.95.POMDP", "set-2", "two.95")
    assert [path.name for path in paths] == ["two.95.POMDP", "set-2.POMDP", "two.95.POMDP"]
    assert set(contents(tmp_path / "in")) == {"two.95.POMDP", "set-2.POMDP"}
    assert fetch("two.95", folder=tmp_path / "in", table=TABLE) == paths[:1]
    assert fetch([], table=TABLE) == []


def test_verified_files_are_skipped_and_damaged_ones_fetched_again(server, get):
    get()
    server.asked.clear()
    get()
    assert server.asked == []
    path = get("one")[0]
    path.write_bytes(b"damaged")
    assert get("one")[0].read_bytes() == TEXTS["one"]
    assert server.asked == [("one.POMDP", None)]


def test_progress_ends_at_the_full_size(get):
    seen: dict[str, list[int]] = {}
    get(progress=lambda classic, received: seen.setdefault(classic.name, []).append(received))
    assert {name: steps[-1] for name, steps in seen.items()} == {
        n: len(t) for n, t in TEXTS.items()
    }
    assert seen["two.95"] == sorted(seen["two.95"])
    assert len(seen["two.95"]) > 2
    skipped: list[tuple[str, int]] = []
    get("one", progress=lambda classic, received: skipped.append((classic.name, received)))
    assert skipped == [("one", len(TEXTS["one"]))]


def test_a_cut_connection_is_continued_at_once(server, get):
    server.cuts = [20_000, 10_000]
    assert get("two.95")[0].read_bytes() == TEXTS["two.95"]
    assert server.asked == [
        ("two.95.POMDP", None),
        ("two.95.POMDP", "bytes=20000-"),
        ("two.95.POMDP", "bytes=30000-"),
    ]


def test_a_cut_download_is_continued_by_the_next_run(server, get, tmp_path):
    half = len(server.files["packed.POMDP.gz"]) // 2
    server.cuts = [half, 0]
    with pytest.raises(
        InputError, match=f"closed; {half} bytes are kept, and the next run"
    ) as info:
        get("packed")
    assert "\n" not in str(info.value)
    assert contents(tmp_path / "in") == {
        "packed.POMDP.gz.part": server.files["packed.POMDP.gz"][:half]
    }
    server.asked.clear()
    assert get("packed")[0].read_bytes() == TEXTS["packed"]
    assert server.asked == [("packed.POMDP.gz", f"bytes={half}-")]
    assert set(contents(tmp_path / "in")) == {"packed.POMDP"}


def test_a_connection_that_keeps_breaking_ends_in_an_error(server, get):
    server.cuts = [100] * 99
    with pytest.raises(InputError, match="500 bytes are kept"):
        get("two.95")
    assert len(server.asked) == download.TRIES


def test_a_connection_that_stalls_is_continued(server, get, monkeypatch):
    monkeypatch.setattr(download, "TIMEOUT", 0.1)
    server.cuts = [40_000, 0]
    server.stall = threading.Event()
    with pytest.raises(InputError, match=r"no answer for 0\.1 seconds; \d+ bytes are kept"):
        get("two.95")
    server.stall.set()
    assert get("two.95")[0].read_bytes() == TEXTS["two.95"]
    assert all(asked for _, asked in server.asked[1:])


def test_a_server_without_ranges_starts_over(server, get):
    server.ranges = False
    server.cuts = [20_000]
    assert get("two.95")[0].read_bytes() == TEXTS["two.95"]
    assert server.asked == [("two.95.POMDP", None), ("two.95.POMDP", "bytes=20000-")]


@pytest.mark.parametrize(
    "part",
    [TEXTS["two.95"], TEXTS["two.95"] * 2, b"of another mirror" * 9],
    ids=["whole", "too long", "foreign"],
)
def test_a_part_that_does_not_fit_is_replaced(server, get, tmp_path, part):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "two.95.POMDP.part").write_bytes(part)
    assert get("two.95")[0].read_bytes() == TEXTS["two.95"]
    assert set(contents(tmp_path / "in")) == {"two.95.POMDP"}


def test_an_answer_for_another_range_is_not_appended(server, get, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.POMDP.part").write_bytes(TEXTS["one"][:10])
    original = Handler.send_header

    def lying(self: Handler, key: str, value: str) -> None:
        original(self, key, "bytes 0-9/560" if key == "Content-Range" else value)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Handler, "send_header", lying)
        assert get("one")[0].read_bytes() == TEXTS["one"]
    assert [asked for _, asked in server.asked] == ["bytes=10-", None]


@pytest.mark.parametrize("length", ["", "nonsense", "9" * 5000], ids=["none", "word", "huge"])
def test_the_announced_length_is_only_a_hint(server, get, length):
    server.headers = {"Content-Length": length}
    assert get("one")[0].read_bytes() == TEXTS["one"]


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
    with pytest.raises(InputError, match=r"one\.POMDP has SHA-256 .* \(and 1 more files are at"):
        get()
    assert set(contents(tmp_path / "in")) == {"two.95.POMDP", "packed.POMDP", "set-2.POMDP"}


def test_report_keeps_the_file_and_warns(server, get):
    server.files["one.POMDP"] = TEXTS["one"].replace(b"\n", b"\r\n")
    told: list[str] = []
    path = get("one", "set-1", checksums="report", warn=told.append)[0]
    assert path.read_bytes() == server.files["one.POMDP"]
    assert len(told) == 1
    assert "one.POMDP has SHA-256" in told[0]
    assert told[0].endswith("kept all the same")
    with pytest.warns(UserWarning, match="kept all the same"):
        get("one", checksums="report")
    with pytest.raises(InputError, match="expected"):
        get("one")


def test_what_is_not_there_is_named(server, get):
    del server.files["one.POMDP"]
    with pytest.raises(InputError, match=r"/examples/one\.POMDP: the server answers HTTP 404$"):
        get("one")
    del server.files["set.tar.gz"]
    with pytest.raises(InputError, match=r"set\.tar\.gz: the server answers HTTP 404 \(and 1 more"):
        get("set-1", "set-2")
    server.files["set.tar.gz"] = tar_of({"other.POMDP": b""})
    with pytest.raises(InputError, match=r"set\.tar\.gz: holds no set-1\.POMDP"):
        get("set-1")


def test_plain_files_stand_in_for_packed_ones(server, get, tmp_path):
    server.files = {classic.file: TEXTS[classic.name] for classic in TABLE}
    get()
    assert contents(tmp_path / "in") == server.files


def test_the_cache_of_another_is_a_mirror(get, tmp_path):
    source = get()[0].parent
    paths = fetch(mirror=source.as_uri(), folder=tmp_path / "copy", table=TABLE)
    assert contents(paths[0].parent) == contents(source)
    (source / "one.POMDP").unlink()
    with pytest.raises(InputError, match=r"one\.POMDP: cannot be reached"):
        fetch(["one"], mirror=source.as_uri(), folder=tmp_path / "third", table=TABLE)


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
            with pytest.raises(InputError, match=r"no answer for 0\.1 s|not a sound") as info:
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


def test_mirror_and_cache_by_variable(server, monkeypatch, tmp_path):
    monkeypatch.setenv("RPSR_MIRROR", server.address)
    path = fetch(["one"], table=TABLE)[0]
    assert path == tmp_path / "cache" / "classic" / "one.POMDP"
    assert path.read_bytes() == TEXTS["one"]
    with pytest.raises(InputError, match=r"127\.0\.0\.1:1/"):
        fetch(["two.95"], mirror="http://127.0.0.1:1", table=TABLE)


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.delenv("RPSR_CACHE")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "rpsr"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative: to be ignored")
    assert cache_folder() == tmp_path / ".cache" / "rpsr"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_folder() == tmp_path / "Library" / "Caches" / "rpsr"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_folder() == tmp_path / "local" / "rpsr"

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(InputError, match="set RPSR_CACHE"):
        cache_folder()


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


def test_an_interrupted_download_leaves_only_a_part(get, tmp_path):
    def interrupt(classic: Classic, received: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        get("two.95", progress=interrupt)
    assert list(contents(tmp_path / "in")) == ["two.95.POMDP.part"]
    assert get("two.95")[0].read_bytes() == TEXTS["two.95"]


def test_an_interrupted_write_leaves_only_a_part(get, monkeypatch, tmp_path):
    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(InputError, match="No space left"):
            get("packed")
    assert list(contents(tmp_path / "in")) == ["packed.POMDP.gz.part"]
    assert get("packed")[0].read_bytes() == TEXTS["packed"]


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
        ("set.tar.gz", tar_of({"set-1.POMDP": b"x" * 20_000}), r"holds no set-1\.POMDP"),
    ],
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


def test_the_table_is_sound():
    assert len(CLASSICS) == len({classic.name for classic in CLASSICS}) == 65
    for classic in CLASSICS:
        assert classic.file == f"{classic.name}.POMDP" == Path(classic.file).name
        assert classic.packed in (None, f"{classic.file}.gz", "ejs.tar.gz", "cheng-examples.tar.gz")
        assert len(bytes.fromhex(classic.sha256)) == 32
        assert classic.size > 0
    assert "not checked" in NOT_CHECKED
    assert PUBLIC in NOT_CHECKED


def test_the_corpus_is_a_mirror_but_for_five_corrected_files(corpus, tmp_path):
    told: list[str] = []
    paths = fetch(mirror=corpus.as_uri(), folder=tmp_path, checksums="report", warn=told.append)
    assert sum(path.stat().st_size for path in paths) > 15_000_000
    assert [message.split()[1] for message in told] == [f"ejs{k}.POMDP" for k in (2, 4, 5, 6, 7)]
    for k in (2, 4, 5, 6, 7):
        text = (tmp_path / f"ejs{k}.POMDP").read_bytes().replace(b": reward\n", b": rewards\n")
        (tmp_path / f"ejs{k}.POMDP").write_bytes(text)
    assert fetch(mirror="http://127.0.0.1:1/", folder=tmp_path) == paths
