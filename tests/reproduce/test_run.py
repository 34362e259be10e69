"""A reproduction as files: same bytes, resumable, honest about what it did not use."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.documents import document

from rpsr.cli.app import main
from rpsr.errors import InputError, RpsrError
from rpsr.reproduce import run
from rpsr.reproduce.pieces import Piece, Store, code, dumped
from rpsr.reproduce.run import Settings, pieces, reproduce

CHEAP = [Piece("errors", name) for name in ("line4-2goals", "loadunload", "paint", "parr")]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def cheap(monkeypatch):
    """A reproduction of four small pieces."""
    monkeypatch.setattr(run, "pieces", lambda settings: CHEAP)


def test_the_number_of_processes_changes_no_byte(folders):
    one, two = map(contents, folders)
    assert one.keys() == two.keys()
    assert [name for name in one if one[name] != two[name] and name != "timings.json"] == []
    for name in ("report.html", "report.md", "report.txt", "results.json", "timings.json"):
        assert name in one
    for stem in ("errors", "returns", "verdicts-returns", "verdicts-statements"):
        assert {f"tables/{stem}.{kind}" for kind in ("md", "tex", "csv")} <= one.keys()
    assert {
        "figures/corridor.svg",
        "figures/corridor.png",
        "figures/returns-parr.svg",
    } <= one.keys()


def test_durations_are_in_one_file_only(folders):
    for name, content in contents(folders[0]).items():
        if name.endswith(".json") and name != "timings.json":
            assert b'"seconds"' not in content, name
    timings = json.loads((folders[0] / "timings.json").read_text())
    assert timings["pieces"].keys() == {piece.name for piece in pieces(Settings(quick=True))}


def test_a_second_run_does_nothing_again(folders, capsys, monkeypatch, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(folders[0], out)
    (out / "figures" / "convergence-paint.svg").write_text("of an earlier run, not a quick one")
    (out / "figures" / "mine.svg").write_text("somebody's own")
    before = contents(folders[0]) | {"figures/mine.svg": b"somebody's own"}
    for name in (
        "rpsr.reproduce.run.answer",
        "rpsr.predictive.reward_accuracy.find_core",
        "rpsr.predictive.constructors.find_core",
    ):
        monkeypatch.setattr(name, None)  # nothing is computed while writing
    assert main(["reproduce", "--quick", "--out", str(out), "--json"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    facts = document(shown.out)
    assert (facts["schema"], facts["confirmed"], facts["quick"]) == ("rpsr.reproduce/1", True, True)
    assert len(facts["returns"]) == 48
    assert facts["left_out"]
    after = contents(out)
    del before["timings.json"], after["timings.json"]
    assert after == before


def test_a_report_that_cannot_be_written_is_shown_first(folders, capsys, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(folders[0], out)
    (out / "report.md").unlink()
    (out / "report.md").mkdir()
    assert main(["reproduce", "--quick", "--out", str(out)]) == 1
    shown = capsys.readouterr()
    assert shown.out == (folders[0] / "report.txt").read_text()
    assert shown.err == f"rpsr: {out / 'report.md'}: cannot be written: Is a directory\n"


def test_what_is_printed_says_what_the_paper_claims_before_it_shows_a_table(folders, printed):
    text = (folders[0] / "report.txt").read_text()
    assert printed.startswith(text)
    assert "report.html" in printed.removeprefix(text)
    heads = [
        "The question.",
        "What the paper claims.",
        "A quick look.",
        "What we find.",
        "cells of",
    ]
    places = [text.index(words) for words in heads]
    assert places == sorted(places)
    assert max(map(len, text.splitlines())) <= 110
    page = (folders[0] / "report.html").read_text()
    assert "What the paper claims." in page
    assert "(a quick look)" in page
    assert 'class="stepper"' in page
    assert page.index('class="card good"') < page.index("What the paper claims.")
    assert "45 of 48 agree, 1 barely, and 2 differ" in page
    assert '<span class="badge good">agrees</span>' in page
    assert '<span class="badge bad">differs</span>' in page
    figures = {path.stem for path in (folders[0] / "figures").glob("returns-*.svg")}
    assert page.count('<div class="grid">') == 1
    text = (folders[0] / "report.md").read_text()
    assert all(f"(figures/{name}.svg)" in text for name in figures)


def test_tables_are_read_back_from_csv(folders):
    rows = list(csv.DictReader(io.StringIO((folders[0] / "tables/returns.csv").read_text())))
    assert len(rows) == 12
    assert (rows[1]["domain"], rows[1]["rewards"]) == ("heaven/hell", "PSR")
    # Heaven pays 1 at every eleventh step: by way of the priest, and from the start again.
    heaven = sum(0.95 ** (11 * times - 1) for times in range(1, 10))
    assert float(rows[0]["POMDP-VI"]) == pytest.approx(heaven)


# ---- resuming


def test_what_is_done_is_kept_when_interrupted(cheap, tmp_path):
    finished = []

    def stop_after_two(name):
        finished.append(name)
        if len(finished) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(Settings(), tmp_path, progress=stop_after_two)
    kept = sorted(path.name for path in (tmp_path / "pieces").iterdir())
    assert kept == [f"{piece.name}.json" for piece in CHEAP[:2]]
    assert json.loads((tmp_path / "timings.json").read_text())["pieces"].keys() == set(finished)
    done = []
    again = reproduce(Settings(), tmp_path, progress=done.append)
    assert done[:2] == finished
    assert again.answers.keys() == {piece.name for piece in CHEAP}
    assert again.seconds.keys() == again.answers.keys()


DAMAGES = (b"", b"{", b"[]", b'{"schema": 1}', b"\xff\xfe", b'"text"', b"[" * 100_000)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage[:20].decode("latin-1"))
def test_a_damaged_file_is_done_again_with_a_note(cheap, tmp_path, damage):
    first = reproduce(Settings(), tmp_path)
    (tmp_path / "pieces" / "errors-paint.json").write_bytes(damage)
    notes = []
    assert reproduce(Settings(), tmp_path, note=notes.append).answers == first.answers
    assert len(notes) == 1
    assert "errors-paint.json: damaged" in notes[0]


@pytest.mark.parametrize(
    "value",
    [b"1" + b"0" * 400, b"NaN", b"[" * 100_000, b"null"],
    ids=["beyond floats", "no number", "deep", "nothing"],
)
def test_damaged_timings_are_forgotten(cheap, tmp_path, value):
    reproduce(Settings(), tmp_path)
    (tmp_path / "timings.json").write_bytes(b'{"pieces": {"errors-paint": ' + value + b"}}")
    assert "errors-paint" not in reproduce(Settings(), tmp_path).seconds


def test_a_file_of_another_question_is_done_again_with_a_note(tmp_path):
    store = Store(tmp_path)
    store.keep(Piece("returns", "paint", (("seed", 1),)), {"of": "seed 1"})
    assert store.find(Piece("returns", "paint", (("seed", 1),))) == ({"of": "seed 1"}, "")
    answer, why = store.find(Piece("returns", "paint", (("seed", 2),)))
    assert answer is None
    assert "another version, seed or setting" in why
    assert store.find(Piece("returns", "parr")) == (None, "")


def test_keys_depend_on_everything_an_answer_rests_on(tmp_path, monkeypatch):
    file = tmp_path / "a.pomdp"
    file.write_text("one")
    keys = {
        Piece("corpus", str(file)).key,
        Piece("errors", "paint").key,
        Piece("errors", "parr").key,
    }
    keys.add(Piece("errors", "paint", (("normalize", True),)).key)
    file.write_text("two")
    keys.add(Piece("corpus", str(file)).key)
    file.unlink()
    keys.add(Piece("corpus", str(file)).key)
    monkeypatch.setattr("rpsr.reproduce.pieces.__version__", "another")
    keys.add(Piece("errors", "paint").key)
    monkeypatch.setattr("rpsr.reproduce.pieces.code", lambda: "another")
    keys.add(Piece("errors", "paint").key)
    assert len(keys) == 8


def test_code_is_hashed_but_for_what_only_shows_answers(tmp_path, monkeypatch):
    hashes = []
    monkeypatch.setattr("rpsr.reproduce.pieces._PACKAGE", tmp_path)
    showing = ("story", "page", "tables", "writing", "claims_models", "cells", "verdicts", "run")
    changes = ["a.py", "planning/b.py", "reproduce/c.py", "cli/d.py", "report/e.py"]
    for changed in [*changes, *(f"reproduce/{name}.py" for name in showing)]:
        (tmp_path / changed).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / changed).write_text("new")
        hashes.append(code.__wrapped__())
    assert len(set(hashes[:3])) == 3
    assert set(hashes[2:]) == {hashes[2]}


def test_no_answer_imports_what_is_not_hashed():
    program = """
import sys
from rpsr.reproduce import case_study, convergence, pieces, returns
from rpsr.predictive import survey
names = [name.removeprefix("rpsr.").replace(".", "/") for name in sys.modules if "rpsr." in name]
print([name for name in names if name.startswith(pieces._SHOWING)])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_results_that_are_no_numbers_are_not_written():
    with pytest.raises(InputError, match="not a number"):
        dumped({"value": float("nan")})


# ---- bad input


def test_a_process_that_was_killed_is_said_in_one_line(cheap, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "spread", lambda work, items, executor: iter([(items[0], None)]))
    with pytest.raises(RpsrError, match="was killed; finished pieces are stored"):
        reproduce(Settings(), tmp_path)


@pytest.mark.parametrize("words", [["--corpus", "nowhere"], ["--out", "file"], ["--corpus", "."]])
def test_bad_folders_are_one_line(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("in the way")
    assert main(["reproduce", "--quick", *words]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert words[1] in err
    assert not Path("reproduction").exists()


def test_a_corpus_is_part_of_the_work(tmp_path):
    for name in ("b.POMDP", "a.pomdp", "README.md"):
        (tmp_path / name).write_text("")
    work = [piece for piece in pieces(Settings(corpus=tmp_path)) if piece.kind == "corpus"]
    assert [piece.name for piece in work] == ["corpus-a.pomdp", "corpus-b.POMDP"]


def test_every_file_of_a_corpus_has_a_row(tmp_path):
    """Names that differ in a sign only, two forms of one domain, a link to nothing, a folder."""
    model = "discount: 0.9\nvalues: reward\nstates: 1\nactions: 1\nobservations: 1\n"
    model += "T: 0 identity\nO: 0 identity\nR: * : * : * : * 1\n"
    folder = tmp_path / "files"
    (folder / "folder.pomdp").mkdir(parents=True)
    for name in ("a b.pomdp", "a-b.pomdp", "a_b.pomdp", "c.pomdp", "c.POMDP"):
        (folder / name).write_text(model)
    (folder / "gone.pomdp").symlink_to("nowhere")
    work = [p for p in pieces(Settings(corpus=folder)) if p.kind == "corpus"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "pieces", lambda settings: work)
        reproduction = reproduce(Settings(corpus=folder), tmp_path / "out")
    assert list(reproduction.corpus) == ["a b", "a-b", "a_b", "c", "c.pomdp", "folder", "gone"]
    unread = {name for name, row in reproduction.corpus.items() if row["error"]}
    assert unread == {"folder", "gone"}
    kept = {path.name for path in (tmp_path / "out" / "pieces").iterdir()}
    assert len(kept) == 5  # what went wrong is tried again


# ---- what the README shows


def test_the_page_on_the_paper_shows_what_is_printed(printed):
    page = (Path(__file__).parents[2] / "docs/start/paper.md").read_text(encoding="utf-8")
    (block,) = (part for part in page.split("```") if "$ rpsr reproduce --quick" in part)
    _, command, *lines = block.strip().splitlines()
    assert command == "$ rpsr reproduce --quick"
    rest = printed.splitlines()
    for line in lines:
        if line != "...":  # stands for lines left out
            assert line in rest, line
            rest = rest[rest.index(line) + 1 :]
