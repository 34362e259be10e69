"""The verbs: what they print, what they write, and the JSON contract."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.cli.documents import document
from tests.models.builders import Sizes, random_arrays, random_exact

from rpsr import POMDP, __version__, load, save
from rpsr.cli.app import main
from rpsr.domains import NAMES, build

INFO_KEYS = {
    "schema",
    "version",
    "source",
    "name",
    "states",
    "actions",
    "observations",
    "discount",
    "nonzeros",
    "reward_range",
    "warnings",
}


# ---- info


def test_info_tells_people_what_a_model_is(succeed):
    out, err = succeed("info", "tiger")
    assert "states" in out
    assert "-100 to 10" in out
    assert "names of states         tiger-left, tiger-right" in out
    assert err == ""


def test_help_shows_defaults_of_values_and_not_of_flags(succeed):
    out = succeed("solve", "--help").out + succeed("learn", "--help").out
    assert "[default: em]" in out
    assert "False" not in out
    assert "()" not in out


def test_info_as_json_has_every_key_and_nothing_else_is_printed(succeed):
    out, err = succeed("info", "tiger", "--json")
    facts = document(out)
    assert facts.keys() >= INFO_KEYS
    assert facts["source"] == facts["name"] == "tiger"
    assert facts["version"] == __version__
    assert facts["schema"] == "rpsr.info/1"
    assert (facts["states"], facts["actions"], facts["observations"]) == (2, 3, 2)
    assert facts["nonzeros"] == {"transition": 10, "observation": 12}
    assert facts["reward_range"] == [-100, 10]
    assert facts["discount"] == 0.95
    assert facts["exact"] is True
    assert facts["warnings"] == []
    assert err == ""


def test_what_a_source_does_not_have_is_null(succeed):
    save(build("tiger").with_discount(None), "tiger.rpsr")
    assert document(succeed("info", "tiger.rpsr", "--json").out)["discount"] is None
    save(build("tiger").belief_model(), "belief.rpsr")
    facts = document(succeed("info", "belief.rpsr", "--json").out)
    assert facts.keys() >= INFO_KEYS
    assert facts["states"] is None
    assert facts["reward_range"] is None
    assert (facts["model"], facts["dimension"], facts["domain"]) == ("belief", 2, "simplex")


def test_info_of_models_of_other_sorts(succeed):
    save(random_exact(0, Sizes(2, 3, 2), by_edge=True), "edges.rpsr")
    facts = document(succeed("info", "edges.rpsr", "--json").out)
    assert facts["observations_depend_on"] == "(s, a, s')"
    save(POMDP.from_arrays(*random_arrays(0, Sizes(2, 3, 2))), "floats.rpsr")
    assert document(succeed("info", "floats.rpsr", "--json").out)["exact"] is False
    assert re.search(r"^exact +no *$", succeed("info", "floats.rpsr").out, re.MULTILINE)
    save(build("tiger").belief_model(), "belief.rpsr")
    assert re.search(r"^dimension +2 *$", succeed("info", "belief.rpsr").out, re.MULTILINE)


def test_warnings_are_in_the_document_or_on_standard_error(succeed):
    T, O, R = random_arrays(0, Sizes(2, 3, 2))
    save(POMDP.from_arrays(T * (1 + 1e-6), O, R), "off.rpsr")
    (warning,) = document(succeed("info", "off.rpsr", "--json").out)["warnings"]
    assert "6 rows were rescaled" in warning
    out, err = succeed("info", "off.rpsr")
    assert "rescaled" not in out
    assert err == f"rpsr: off.rpsr: {warning}\n"


def test_a_discount_may_be_given(succeed):
    for words in (["--discount", "0.5"], ["--discount=1/2"]):
        assert document(succeed("info", "tiger", "--json", *words).out)["discount"] == 0.5


def test_names_of_any_script_are_plain_json(succeed):
    save(build("tiger").with_name("老虎"), "tiger.rpsr")
    out = succeed("info", "tiger.rpsr", "--json").out
    assert out.isascii()
    assert document(out)["name"] == "老虎"


# ---- convert


@pytest.mark.parametrize("target", ["t.pomdp", "t.pomdp.gz", "t.rpsr"])
def test_convert_keeps_the_model(succeed, target):
    out, err = succeed("convert", "tiger", target)
    assert (out, err) == ("", f"rpsr: wrote {target}\n")
    assert load(target) == build("tiger")


def test_what_was_written_is_said_to_people_only(say):
    """By every verb that writes, unless a program reads along or the file is standard output."""
    logs = ("simulate", "tiger", "-o", "log.jsonl", "--episodes", "50", "--steps", "5")
    assert say(*logs)[2] == "rpsr: wrote log.jsonl\n"
    learn = ("learn", "log.jsonl", "-o", "m.rpsr", "--discount", "0.9", "--estimator", "last-k")
    learn += ("--plan", "p.json", "--report", "page.html")
    for words, files in (
        (learn, ("m.rpsr", "p.json", "page.html")),
        (("solve", "tiger", "-o", "t.alpha", "--checkpoint", "t.ckpt"), ("t.alpha", "t.ckpt")),
        (("accuracy", "tiger", "-o", "rows.jsonl"), ("rows.jsonl",)),
    ):
        code, _, err = say(*words)
        assert code == 0
        assert [line for line in err.splitlines() if "wrote" in line] == [
            f"rpsr: wrote {file}" for file in files
        ]
        assert "wrote" not in say(*words, "--json")[2]
    assert say("domains", "export", "tiger", "-o", "t.pomdp")[2] == "rpsr: wrote t.pomdp\n"


def test_convert_to_standard_output_is_the_file(capfdbinary):
    assert main(["convert", "tiger", "there.pomdp"]) == 0
    assert main(["convert", "tiger", "-"]) == 0
    assert capfdbinary.readouterr().out == Path("there.pomdp").read_bytes()


def test_convert_to_the_belief_model(succeed):
    succeed("convert", "tiger", "belief.rpsr", "--model", "belief")
    model = load("belief.rpsr")
    assert model.kind == "belief"
    succeed("convert", "belief.rpsr", "again.rpsr", "--discount", "0.5")
    assert load("again.rpsr").discount == 0.5
    assert np.array_equal(load("again.rpsr").rewards, model.rewards)


def test_convert_says_what_the_target_cannot_hold(succeed):
    err = succeed("convert", "parr:right=1/3", "t.pomdp").err
    assert err.startswith("rpsr: t.pomdp: ")
    assert "without a finite decimal" in err


# ---- domains


def test_domains_list_names_them_all(succeed):
    out, err = succeed("domains", "list")
    for name in NAMES:
        assert name in out
    assert err == ""


def test_domains_list_as_json(succeed):
    facts = document(succeed("domains", "list", "--json").out)
    assert [row["name"] for row in facts["rows"]] == list(NAMES)
    assert facts["source"] is None
    tiger = next(row for row in facts["rows"] if row["name"] == "tiger")
    sizes = {key: tiger[key] for key in ("states", "actions", "observations", "discount")}
    assert sizes == {"states": 2, "actions": 3, "observations": 2, "discount": 0.95}
    assert all(row["story"] for row in facts["rows"])


@pytest.mark.parametrize("option", ["-o", "--output"])
def test_domains_export(succeed, option):
    succeed("domains", "export", "t-maze:length=4", option, "m.pomdp", "--discount", "0.5")
    assert load("m.pomdp") == build("t-maze:length=4").with_discount("0.5")


def test_domains_export_to_standard_output(capfdbinary):
    assert main(["domains", "export", "tiger", "-o", "-"]) == 0
    Path("m.pomdp").write_bytes(capfdbinary.readouterr().out)
    assert load("m.pomdp") == build("tiger")


@pytest.mark.parametrize("verb", ["solve", "evaluate", "simulate", "convert"])
def test_help_names_every_format_of_policies(verb, say):
    code, out, _ = say(verb, "--help")
    assert code == 0
    assert all(suffix in out for suffix in (".json", ".alpha", ".pg", ".policy"))


def test_a_mean_that_cannot_be_computed_is_a_dash_with_its_reason(say, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # no cell is wrapped
    words = ["evaluate", "tiger", "--online", "0.001", "--episodes", "3", "--steps", "2"]
    code, out, _ = say(*words, "--model", "pomdp")
    assert code == 0
    assert out.splitlines()[-1] == (
        "No exact mean (-): the policy is not a finite table of actions."
    )
    row = next(line for line in out.splitlines() if "online" in line)
    assert row.split()[7] == "-"
    (row,) = json.loads(say(*words, "--model", "pomdp", "--json")[1])["rows"]
    assert row["exact"] is None
    assert "No exact mean" not in say("evaluate", "tiger", "--episodes", "3")[1]
