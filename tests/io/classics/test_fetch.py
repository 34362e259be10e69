"""The download of the classic repository, against servers on this machine and made-up files."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest
from tests.io.classics.mirror import TABLE, TEXTS, Handler, contents

from rpsr.errors import InputError
from rpsr.io.classics import download
from rpsr.io.classics.fetch import CLASSICS, NOT_CHECKED, PUBLIC, Classic, cache_folder, fetch

pytestmark = pytest.mark.usefixtures("own_settings")


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
        InputError, match=f"closed; the first {half} bytes are kept, and the next run"
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
    with pytest.raises(
        InputError, match=r"no answer for 0\.1 seconds; the first \d+ bytes are kept"
    ):
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


def test_report_keeps_the_file_and_warns(server, get):
    server.files["one.POMDP"] = TEXTS["one"].replace(b"\n", b"\r\n")
    messages: list[str] = []
    path = get("one", "set-1", checksums="report", warn=messages.append)[0]
    assert path.read_bytes() == server.files["one.POMDP"]
    assert len(messages) == 1
    assert "one.POMDP has SHA-256" in messages[0]
    assert messages[0].endswith("; the file was kept")
    with pytest.warns(UserWarning, match="; the file was kept"):
        get("one", checksums="report")
    with pytest.raises(InputError, match="expected"):
        get("one")


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


def test_the_table_is_sound():
    assert len(CLASSICS) == len({classic.name for classic in CLASSICS}) == 65
    for classic in CLASSICS:
        assert classic.file == f"{classic.name}.POMDP" == Path(classic.file).name
        assert classic.packed in (None, f"{classic.file}.gz", "ejs.tar.gz", "cheng-examples.tar.gz")
        assert len(bytes.fromhex(classic.sha256)) == 32
        assert classic.size > 0
    assert "was not tested" in NOT_CHECKED
    assert PUBLIC in NOT_CHECKED


def test_the_corpus_is_a_mirror_but_for_five_corrected_files(corpus, tmp_path):
    messages: list[str] = []
    paths = fetch(mirror=corpus.as_uri(), folder=tmp_path, checksums="report", warn=messages.append)
    assert sum(path.stat().st_size for path in paths) > 15_000_000
    assert [text.split()[1] for text in messages] == [f"ejs{k}.POMDP" for k in (2, 4, 5, 6, 7)]
    for k in (2, 4, 5, 6, 7):
        text = (tmp_path / f"ejs{k}.POMDP").read_bytes().replace(b": reward\n", b": rewards\n")
        (tmp_path / f"ejs{k}.POMDP").write_bytes(text)
    assert fetch(mirror="http://127.0.0.1:1/", folder=tmp_path) == paths
