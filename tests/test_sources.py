"""Where models come from and go to: files, standard streams, built-in names."""

import gzip
import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import rpsr
from rpsr import POMDP, InputError, LinearModel, load, load_pomdp, save
from rpsr.domains import build

COIN = """discount: 0.5
states: heads tails
actions: toss
observations: none
T: toss uniform
O: toss uniform
R: toss : heads : * : * 1
"""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# ---- reading


@pytest.mark.parametrize("name", ["coin.pomdp", "coin.POMDP", "coin", "coin.95.pomdp"])
def test_a_text_file_of_any_suffix(name):
    Path(name).write_text(COIN)
    model = load(name)
    assert isinstance(model, POMDP)
    assert model.states == ("heads", "tails")
    assert load(Path(name)) == model


def test_a_gzipped_file():
    Path("coin.pomdp.gz").write_bytes(gzip.compress(COIN.encode()))
    assert load("coin.pomdp.gz").name == "coin"


@pytest.mark.parametrize("name", ["model.rpsr", "model.RPSR"])
def test_a_native_file(name):
    save(build("tiger"), name)
    assert load(name) == build("tiger")


def test_a_native_file_of_a_linear_model():
    save(build("tiger").belief_model(), "belief.rpsr")
    assert isinstance(load("belief.rpsr"), LinearModel)
    with pytest.raises(InputError, match=r"^belief.rpsr: holds a belief model, expected a POMDP"):
        load_pomdp("belief.rpsr")


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(COIN.encode())))
    model = load("-")
    assert model.name == "stdin"
    assert model.discount == 0.5


def test_a_path_wins_over_a_name():
    assert load("tiger") == build("tiger")
    Path("tiger").write_text(COIN)
    assert load("tiger").states == ("heads", "tails")


def test_rows_of_any_sum_only_when_asked():
    Path("odd.pomdp").write_text(COIN.replace("T: toss uniform", "T: toss : * 0.2 0.6"))
    with pytest.raises(InputError, match=r"sums to 0\.8"):
        load("odd.pomdp")
    assert load("odd.pomdp", normalize=True).transition(0).toarray()[0].tolist() == [0.25, 0.75]


@pytest.mark.parametrize("source", ["coin.pomdp", "belief.rpsr", "tiger"])
def test_a_discount_replaces_the_sources_own(source):
    Path("coin.pomdp").write_text(COIN)
    save(build("tiger").belief_model(), "belief.rpsr")
    assert load(source, discount="0.25").discount == 0.25
    assert load(source, discount=0).discount == 0
    with pytest.raises(InputError, match="discount: read 7"):
        load(source, discount=7)


# ---- names


@pytest.mark.parametrize("name", ["tiger", "tiger:accuracy=3/4,discount=0.5", "t-maze:length=4"])
def test_a_built_in_name_with_parameters(name):
    assert load(name) == build(name)
    assert load(name).name == name


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("tigre", "tigre: no such file, and no domain is called 'tigre'; did you mean"),
        ("qqqq", "qqqq: no such file, and no domain is called 'qqqq'; choose from 1d, 4x3"),
        ("missing.pomdp", "missing.pomdp: no such file"),
        ("folder/tiger", "folder/tiger: no such file"),
        (
            "tiger:",
            "tiger: read '', expected PARAMETER=VALUE; the parameters are accuracy, discount",
        ),
        ("tiger:accuracy", "tiger: read 'accuracy', expected PARAMETER=VALUE"),
        ("tiger:nose=1", "tiger: read 'nose=1', expected PARAMETER=VALUE; the parameters are"),
        ("tiger:accuracy=good", "tiger: accuracy: read 'good', expected a number"),
        ("tiger:accuracy=1/0", "tiger: accuracy: read '1/0', expected a number"),
        ("tiger:accuracy=1e999999999", "tiger: accuracy: read '1e999999999', expected a number"),
        ("tiger:accuracy=3/2", "tiger: accuracy is 3/2, but must lie between 0 and 1"),
        ("tiger:accuracy=1,accuracy=1", "tiger: read accuracy twice, expected it once"),
        ("t-maze:length=5/2", "t-maze: length is 5/2, but must be an integer"),
        ("tag:slips=maybe", "tag: slips: read 'maybe', expected true or false"),
        (
            "rock-sample:rocks=3",
            "rock-sample: read 'rocks=3', expected PARAMETER=VALUE; the parameters are n, k",
        ),
        ("rock-sample:start=3", "rock-sample: start is '3', but must be a cell such as x0y2"),
        ("rock-sample:start=x4y0", "rock-sample: start is 'x4y0', which is outside the grid"),
        ("parr:right=1e399", "parr: "),
        ("n" * 300, "cannot be read: File name too long"),
        ("nul\0.pomdp", "no such file"),
    ],
)
def test_what_is_neither_is_answered_with_what_there_is(source, message):
    with pytest.raises(InputError) as caught:
        load(source)
    assert message in str(caught.value)


def test_a_folder_is_no_model():
    Path("tiger.d").mkdir()
    with pytest.raises(InputError, match=r"tiger.d: is a folder, expected a file"):
        load("tiger.d")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0,
    reason="root may read any file",
)
def test_a_file_that_may_not_be_read():
    Path("secret.pomdp").write_text(COIN)
    Path("secret.pomdp").chmod(0)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        load("secret.pomdp")


# ---- writing


@pytest.mark.parametrize("target", ["m.pomdp", "m.POMDP", "m.0.95.pomdp", "m.pomdp.gz", "m.rpsr"])
def test_what_is_written_reads_back(target):
    assert save(build("4x3"), target) == ()
    assert load(target) == build("4x3")


def test_gzip_is_gzip():
    save(build("tiger"), "m.pomdp.gz")
    assert gzip.decompress(Path("m.pomdp.gz").read_bytes()).startswith(b"discount")


def test_standard_output(capfdbinary):
    save(build("tiger"), "-")
    Path("back.pomdp").write_bytes(capfdbinary.readouterr().out)
    assert load("back.pomdp") == build("tiger")


@pytest.mark.parametrize("target", ["m.txt", "m", "m.gz", "m.rpsr.gz", "pomdp"])
def test_a_target_must_say_its_form(target):
    with pytest.raises(InputError, match=r"expected a name ending in \.pomdp"):
        save(build("tiger"), target)
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("target", ["m.pomdp", "-"])
def test_a_linear_model_has_no_text_form(target):
    with pytest.raises(InputError, match=r"a belief model cannot be a .pomdp file; use"):
        save(build("tiger").belief_model(), target)


def test_a_reward_that_is_no_decimal_is_mentioned():
    (note,) = save(build("parr:right=1/3"), "m.pomdp")
    assert "without a finite decimal" in note
    assert save(build("parr:right=1/3"), "m.rpsr") == ()


# ---- the package's own names


def test_every_public_name_is_there_and_no_other():
    for name in rpsr.__all__:
        assert getattr(rpsr, name) is not None
    assert sorted(rpsr.__all__) == dir(rpsr)
    with pytest.raises(AttributeError, match="module 'rpsr' has no attribute 'tigers'"):
        _ = rpsr.tigers


def test_an_empty_source_is_called_one():
    with pytest.raises(InputError, match="source: read an empty string, expected a file's path"):
        load("")


@pytest.mark.parametrize("name", ["a.pomdp", "a.pomdpx"])
@pytest.mark.parametrize("text", ["", " \n\n"])
def test_an_empty_file_is_said_to_be_empty(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=r"is empty, expected a model"):
        load(tmp_path / name)
