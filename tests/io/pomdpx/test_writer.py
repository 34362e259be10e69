"""POMDPX files that rpsr writes read back as the same model; what they cannot hold is said."""

import gzip
from dataclasses import replace
from fractions import Fraction

import pytest
from tests.conftest import corpus_files
from tests.io.pomdpx import files
from tests.io.pomdpx.enumeration import Model
from tests.io.pomdpx.test_reader import assert_means

import rpsr
from rpsr.domains import NAMES, build
from rpsr.errors import InputError
from rpsr.io.pomdpx.reader import parse_pomdpx
from rpsr.io.pomdpx.writer import format_pomdpx, write_pomdpx


def again(record):
    return parse_pomdpx(format_pomdpx(record).encode(), place="f", name="f")


def check_that_it_reads_back(record):
    """As it was, or it is refused for what the format lacks."""
    lacks = "observations depend on the state before" if record.emission_by_edge else "no discount"
    if record.emission_by_edge or record.discount is None:
        with pytest.raises(InputError, match=lacks):
            format_pomdpx(record)
        return
    marked = replace(record, resets=record.resets & False)  # plain rows in this format
    assert again(record).digest() == marked.digest()


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("rock-sample", "tag")])
def test_a_built_in_domain_reads_back(name):
    check_that_it_reads_back(build(name).record)


@pytest.mark.parametrize("seed", range(30))
def test_what_was_factored_reads_back_flat(seed):
    record = parse_pomdpx(files.random_file(seed).encode(), place="f", name="f")
    assert again(record).digest() == record.digest()


def test_the_text_means_what_it_says():
    text = format_pomdpx(build("tiger").record)
    assert_means(build("tiger").record, Model(text.partition("\n")[2]))


@pytest.mark.parametrize("path", [p for p in corpus_files() if p.stat().st_size < 3000], ids=str)
def test_the_corpus_reads_back(path):
    check_that_it_reads_back(rpsr.load(path, normalize=True).record)


def test_losses_are_said(tmp_path):
    tiger = build("tiger").record
    assert write_pomdpx(tiger, tmp_path / "t.pomdpx") == ()
    thirds = replace(tiger, discount=Fraction(1, 3))
    (note,) = write_pomdpx(thirds, tmp_path / "t.pomdpx")
    assert note == "the discount 1/3 was written as its nearest float"
    rover = parse_pomdpx(files.ROVER.encode(), place="f", name="f")
    (note,) = write_pomdpx(rover, tmp_path / "t.pomdpx")
    assert note == (
        "2 state variables (fully observed: rover) were written as one variable, not fully observed"
    )
    marked = replace(tiger, resets=tiger.resets | True)
    assert write_pomdpx(marked, tmp_path / "t.pomdpx") == (
        "resets were written as ordinary rows of transitions: 6",
    )


def test_a_model_without_a_discount_is_refused(tmp_path):
    with pytest.raises(InputError, match="has no discount, which POMDPX requires"):
        write_pomdpx(replace(build("tiger").record, discount=None), tmp_path / "t.pomdpx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["two words", "*", "-", "", "a\x00b", "\ud800"])
def test_a_name_that_the_format_cannot_hold(name):
    record = build("tiger").record
    with pytest.raises(InputError, match="states: "):
        format_pomdpx(replace(record, states=(name, "other")))


def test_names_are_escaped():
    record = replace(build("tiger").record, states=("a<b", "x&y"))
    assert again(record).states == ("a<b", "x&y")


def test_through_the_front_door(tmp_path):
    tiger = build("tiger")
    for name in ("t.pomdpx", "t.POMDPX.gz"):
        assert rpsr.save(tiger, tmp_path / name) == ()
        assert rpsr.load(tmp_path / name) == tiger
    assert (tmp_path / "t.POMDPX.gz").read_bytes()[:2] == gzip.compress(b"")[:2]
    with pytest.raises(InputError, match=r"a psr model cannot be a \.pomdpx file"):
        rpsr.save(rpsr.psr(tiger), tmp_path / "t.pomdpx")


def test_variables_survive_a_native_file(tmp_path):
    (tmp_path / "rover.pomdpx").write_text(files.ROVER)
    rover = rpsr.load(tmp_path / "rover.pomdpx")
    rpsr.save(rover, tmp_path / "rover.rpsr")
    assert rpsr.load(tmp_path / "rover.rpsr").state_variables == rover.state_variables
    assert [v.observed for v in rover.state_variables] == [True, False]
