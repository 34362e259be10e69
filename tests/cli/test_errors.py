"""Exit codes, and errors in one line."""

import pytest

from rpsr import InputError, RpsrError, save
from rpsr.cli import app, info
from rpsr.cli.app import main
from rpsr.cli.shared.output import print_json, show
from rpsr.domains import build


@pytest.fixture
def fails(capsys):
    """Run a command that must fail; its exit code and its one line on standard error."""

    def run(*words):
        code = main(list(words))
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("rpsr: ")
        assert err.count("\n") == 1
        assert "Traceback" not in err
        return code, err.removeprefix("rpsr: ").strip()

    return run


# ---- 1: wrong input


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["info", "tigre"], "tigre: no such file, and no domain is called 'tigre'; did"),
        (["info", "missing.pomdp"], "missing.pomdp: no such file"),
        (["info", "tiger:accuracy=2"], "tiger: accuracy is 2, but must lie between 0 and 1"),
        (["info", "tiger", "--discount", "2"], "discount: read 2, expected a number in [0, 1]"),
        (["info", "tiger", "--discount", "-1"], "discount: read -1, expected a number in [0, 1]"),
        (["info", "tiger", "--discount", "1e-999999999"], "discount: read 1e-999999999, expected"),
        (["info", "a" * 300, "--json"], "cannot be read: File name too long"),
        (["convert", "tiger", "tiger.txt"], "tiger.txt: expected a name ending in .pomdp"),
        (["convert", "tiger", "no/where.rpsr"], "no/where.rpsr: the folder does not exist"),
        (
            ["convert", "tiger", "t.pomdp", "--model", "belief"],
            "a belief model cannot be a .pomdp file",
        ),
        (["domains", "export", "tigre", "-o", "t.pomdp"], "no domain is called 'tigre'"),
        (["domains", "export", "tiger", "-o", "t.txt"], "t.txt: expected a name ending in .pomdp"),
    ],
)
def test_an_input_at_fault(fails, words, message):
    code, line = fails(*words)
    assert code == 1
    assert message in line


def test_a_broken_file_is_named_with_line_and_column(fails, tmp_path):
    text = "states: 2\nactions: go\nobservations: 1\nT: go : * 0.5 0.6\nO: go uniform\n"
    (tmp_path / "bad.pomdp").write_text(text)
    code, line = fails("info", "bad.pomdp")
    assert code == 1
    assert line.startswith("bad.pomdp:4:")


def test_a_model_of_one_kind_is_not_silently_written_as_another(fails):
    save(build("tiger").belief_model(), "belief.rpsr")
    code, line = fails("convert", "belief.rpsr", "t.rpsr", "--model", "pomdp")
    assert code == 1
    assert line == "belief.rpsr: holds a belief model, expected a POMDP to make a pomdp model"


# ---- 2: usage


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["infoo"], 'Unknown command "infoo"'),
        (["info"], "'rpsr info' needs SOURCE"),
        (["info", "tiger", "--nonsense"], "--nonsense"),
        (["info", "tiger", "4x3"], "unexpected argument '4x3': 'rpsr info' takes only SOURCE"),
        (["convert", "tiger"], "'rpsr convert' needs TARGET"),
        (["convert", "tiger", "t.rpsr", "--model", "mdp"], "mdp"),
        (["domains", "export", "tiger"], "--output"),
        (["info", "tiger", "--discount"], "requires an argument"),
    ],
)
def test_usage(fails, words, message):
    code, line = fails(*words)
    assert code == 2
    assert message in line
    verb = "" if words[0] == "infoo" else " " + " ".join(words[: 1 + (words[0] == "domains")])
    assert line.endswith(f"('rpsr{verb} --help' lists the options)")


@pytest.mark.parametrize(
    "words",
    [
        ["solve", "tiger", "--checkpoint"],
        ["accuracy", "tiger", "-o"],
        ["reproduce", "--quick", "--out"],
        ["domains", "fetch", "--folder"],
        ["learn", "log.jsonl", "--discount", "0.9", "-o"],
        ["learn", "log.jsonl", "--discount", "0.9", "-o", "m.rpsr", "--plan"],
        ["learn", "log.jsonl", "--discount", "0.9", "-o", "m.rpsr", "--report"],
    ],
)
def test_what_is_kept_under_a_name_is_not_written_to_standard_output(fails, words, tmp_path):
    code, line = fails(*words, "-")
    assert code == 2
    assert "read -, expected the name of a file" in line
    assert list(tmp_path.iterdir()) == []


# ---- 130 and everything else


def raising(error):
    def load(*_words, **_options):
        raise error

    return load


def test_an_interrupt_is_130(fails, monkeypatch):
    monkeypatch.setattr("rpsr.sources.load", raising(KeyboardInterrupt()))
    assert fails("info", "tiger") == (130, "interrupted")


def test_an_error_of_several_lines_is_told_in_one(fails, monkeypatch):
    monkeypatch.setattr("rpsr.sources.load", raising(InputError("first\n  second", place="f")))
    assert fails("info", "tiger") == (1, "f: first second")


def test_a_file_system_that_will_not_is_told_with_its_own_words(fails, monkeypatch):
    monkeypatch.setattr("rpsr.sources.load", raising(OSError(28, "No space left", "disk")))
    assert fails("info", "tiger") == (1, "disk: No space left")


@pytest.mark.parametrize("error", [ZeroDivisionError("oh"), MemoryError("oh")])
def test_what_nobody_foresaw_is_told_in_one_line_too(fails, monkeypatch, error):
    monkeypatch.setattr("rpsr.sources.load", raising(error))
    code, line = fails("info", "tiger")
    assert code == 1
    assert line == f"unexpected {type(error).__name__}: oh (--debug shows the traceback)"


@pytest.mark.parametrize("error", [RpsrError("x"), ZeroDivisionError("x"), KeyboardInterrupt("x")])
@pytest.mark.parametrize("words", [["--debug", "info", "tiger"], ["info", "tiger", "--debug"]])
def test_debug_raises(monkeypatch, error, words):
    monkeypatch.setattr("rpsr.sources.load", raising(error))
    with pytest.raises(type(error), match="x"):
        main(words)


# ---- what is shown


def test_no_number_is_null_not_nan(capsys):
    nan, inf = float("nan"), float("inf")
    print_json("test", "s", {"a": nan, "b": [1.5, -inf], "c": {"d": (None, True, 3)}})
    out = capsys.readouterr().out
    assert '"a": null' in out
    assert "NaN" not in out
    assert "Infinity" not in out


def test_values_are_shown_as_people_read_them():
    shown = [show(value) for value in (None, True, False, 0.1 + 0.2, 3, "x")]
    assert shown == ["", "yes", "no", "0.3", "3", "x"]


def test_verbs_are_those_of_the_application():
    assert {"info", "convert", "domains"} <= set(app.app)
    assert info.info.__doc__
