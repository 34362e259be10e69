"""`rpsr solve --certificate` and `rpsr verify`."""

import gzip
import json
import re
from fractions import Fraction

import pytest

from rpsr import load_pomdp, solve
from rpsr.cli.shared.certificates import exact_text
from rpsr.planning import certify_controller, extract_controller


@pytest.fixture
def certificate(say):
    code, _, err = say("solve", "tiger", "--planner", "sarsop", "--certificate", "tiger.json")
    assert code == 0
    assert "the certificate proves: lower bound 19.37" in err
    return "tiger.json"


def test_a_certificate_is_written_and_verified(say, certificate):
    code, out, err = say("verify", "tiger", certificate, "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "")
    assert (facts["schema"], facts["certificate"]) == ("rpsr.verify/1", "verified")
    assert 19.3 < facts["lower"] <= facts["upper"] < 19.4
    assert facts["vectors"] > 0
    assert facts["points"] > 2
    assert facts["bytes"] > 1000
    code, out, _ = say("verify", "tiger", certificate)
    assert code == 0
    assert "verified" in out


def test_json_says_what_the_certificate_proves(say):
    words = ("cheese", "--goal", "state:goal", "--planner", "sarsop")
    code, out, err = say("solve", *words, "--certificate", "c.json", "--json")
    made = json.loads(out)["certificate"]
    proven = json.loads(say("verify", *words[:3], "c.json", "--json")[1])
    assert (code, err, set(made)) == (0, "", {"file", "lower", "upper", "bytes", "seconds"})
    assert made["file"] == "c.json"
    assert made["seconds"] > 0
    assert {key: proven[key] for key in ("lower", "upper", "bytes")}.items() <= made.items()
    assert "certificate" not in json.loads(say("solve", *words, "--json")[1])
    _, _, err = say("solve", *words, "--certificate", "c.json")
    assert re.search(rf"\({made['bytes']:,} bytes, made in \S+ s\)\n", err)


def test_a_certificate_that_cannot_be_written_is_null_in_json(say, monkeypatch):
    from rpsr import ModelError
    from rpsr.planning import certifying

    def fails(*_):
        raise ModelError("no certificate: for a test")

    monkeypatch.setattr(certifying, "certify", fails)
    words = ("tiger", "--planner", "sarsop", "--certificate", "c.json", "--json")
    code, out, err = say("solve", *words)
    document = json.loads(out)
    assert (code, document["certificate"]) == (1, None)
    assert document["lower"] > 19
    assert err == "rpsr: no certificate: for a test\n"


def test_a_compressed_certificate_is_read(say):
    words = ("--planner", "vi", "--certificate", "c.json.gz", "--json")
    assert say("solve", "tiger", *words)[0] == 0
    with gzip.open("c.json.gz") as file:
        assert file.readline().startswith(b'{"schema":"rpsr.certificate/2"')
    assert say("verify", "tiger", "c.json.gz")[0] == 0


def test_a_plan_on_the_r_psr_and_on_a_smaller_model_has_one(say):
    for option in (("--model", "rpsr"), ("--compress",)):
        words = ("--planner", "sarsop", "--certificate", "c.json", *option)
        assert say("solve", "parr", *words)[0] == 0
        assert say("verify", "parr", "c.json")[0] == 0


def test_the_objective_and_the_discount_are_part_of_the_model(say):
    words = ("cheese", "--goal", "state:goal")
    assert say("solve", *words, "--certificate", "c.json")[0] == 0
    assert say("verify", *words, "c.json")[0] == 0
    code, out, err = say("verify", "cheese", "c.json")
    assert (code, out) == (1, "")
    assert "the certificate is for another model" in err
    code, _, err = say("verify", "cheese", "c.json", "--goal", "state:goal", "--discount", "0.5")
    assert code == 1


def test_the_number_of_steps_is_part_of_the_model(say):
    words = ("cheese", "--goal", "state:goal")
    assert say("solve", *words, "--certificate", "c.json")[0] == 0
    assert say("solve", *words, "--within", "3", "--certificate", "c3.json")[0] == 0
    assert say("verify", *words, "--within", "3", "c3.json")[0] == 0
    for stated in (("--within", "3", "c.json"), ("--within", "4", "c3.json"), ("c3.json",)):
        code, out, err = say("verify", *words, *stated)
        assert (code, out) == (1, "")
        assert "the certificate is for another model" in err


@pytest.mark.parametrize("planner", ["auto", "vi"])
def test_within_is_proven_by_planners_of_horizons_too(say, planner):
    words = ("cheese", "--goal", "state:goal", "--within", "3")
    assert say("solve", *words, "--planner", planner, "--certificate", "c.json")[0] == 0
    _, out, _ = say("verify", *words, "c.json", "--json")
    facts = json.loads(out)
    assert facts["lower"] <= 0.2 + 1e-12
    assert facts["lower"] == pytest.approx(facts["upper"], abs=1e-9)


def test_a_horizon_is_certified_and_stated_again(say):
    words = ("tiger", "--discount", "1")
    assert say("solve", *words, "--horizon", "4", "--certificate", "c.json")[0] == 0
    _, out, _ = say("verify", *words, "c.json", "--horizon", "4", "--json")
    facts = json.loads(out)
    assert facts["lower"] <= 2.42125 <= facts["upper"]
    assert facts["lower"] == pytest.approx(facts["upper"], abs=1e-9)
    for stated in ((), ("--horizon", "3")):
        code, out, err = say("verify", *words, "c.json", *stated)
        assert (code, out) == (1, "")
        assert "the certificate is for another model, 'tiger' over 4 steps" in err
    code, _, err = say("verify", "tiger", "c.json", "--horizon", "4", "--within", "4")
    assert code == 1


# Each step costs 1/2, and the goal is reached after 2 steps on average.
COSTS = """
discount: 1
values: cost
states: way goal
actions: go
observations: here
start: 1 0
T: go
0.5 0.5
0 1
O: *
uniform
R: go : way : * : * 0.5
"""


def test_costs_are_proven_as_costs(say):
    with open("costs.pomdp", "w") as file:
        file.write(COSTS)
    words = ("costs.pomdp", "--goal", "goal", "--minimise", "cost")
    code, _, err = say("solve", *words, "--certificate", "c.json")
    assert code == 0
    assert "the certificate proves: lower bound 0.99999" in err
    code, out, _ = say("verify", *words, "c.json", "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["lower"] <= 1 <= facts["upper"]
    assert facts["lower"] == pytest.approx(facts["upper"], abs=1e-6)
    code, out, _ = say("verify", *words, "c.json")
    assert "upper        1.00000" in out


def test_a_certificate_that_is_looser_than_the_plan_is_announced(say, monkeypatch):
    from rpsr.planning import certifying, planner_by_name

    def stopped(name, **options):
        return planner_by_name(name, **options, max_iterations=0)

    words = ("solve", "tiger", "--planner", "vi", "--certificate", "c.json")
    assert "looser than the plan's" not in say(*words)[2]
    monkeypatch.setattr(certifying, "planner_by_name", stopped)
    assert "certificate's bounds are looser than the plan's" in say(*words)[2]


def test_bounds_are_rounded_outwards(say, certificate):
    with open(certificate) as file:
        header, *lines = map(json.loads, file)
    header["lower"], header["upper"] = "58/3", "583/30"  # 19.33.. and 19.433..
    with open("wide.json", "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in (header, *lines))
    _, out, _ = say("verify", "tiger", "wide.json", "--json")
    facts = json.loads(out)
    assert Fraction(facts["lower"]) <= Fraction(58, 3) < Fraction(583, 30)
    assert Fraction(facts["upper"]) >= Fraction(583, 30)
    _, out, _ = say("verify", "tiger", "wide.json")
    shown = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert shown["lower"].strip() == "19.3333333333333"
    assert shown["upper"].strip() == "19.4333333333334"


@pytest.mark.parametrize(
    ("source", "change", "said"),
    [
        ("parr", lambda text: text, "the certificate is for another model, 'tiger'"),
        ("tiger", lambda text: text[: len(text) // 2], "damaged or cut off"),
        ("tiger", lambda text: text[: text.rindex('{"point"')], "lines of kind point, expected"),
        ("tiger", lambda text: "", "is not a certificate"),
        ("tiger", lambda text: text.replace('"vector":[', '"vector":[7,', 1), "vector 0"),
    ],
)
def test_wrong_certificates_are_one_line(say, certificate, source, change, said):
    with open(certificate) as file:
        text = file.read()
    with open("wrong.json", "w") as file:
        file.write(change(text))
    code, out, err = say("verify", source, "wrong.json")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert "wrong.json" in err
    assert said in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--model", "psr"), "a plan on a psr model cannot have one"),
        (("-o", "c.json"), "is already an output"),
    ],
)
def test_what_has_no_certificate_is_refused_before_planning(say, words, said):
    code, _, err = say("solve", "tiger", *words, "--certificate", "c.json")
    assert code == 1
    assert said in err


def test_a_missing_certificate_is_named(say):
    code, _, err = say("verify", "tiger", "none.json")
    assert code == 1
    assert "none.json: cannot be read" in err


def test_ranks_and_accuracy_are_certified(say):
    assert say("accuracy", "loadunload", "--certificate", "a.json")[0] == 0
    code, out, _ = say("verify", "loadunload", "a.json", "--json")
    facts = json.loads(out)
    assert code == 0
    assert (facts["psr_rank"], facts["rpsr_rank"], facts["accurate"]) == (5, 9, False)
    assert (facts["lower"], facts["vectors"]) == (None, None)
    code, _, err = say("core", "tiger", "--model", "rpsr", "--certificate", "c.json")
    assert (code, err) == (0, "rpsr: wrote c.json\n")
    code, out, _ = say("verify", "tiger", "c.json", "--json")
    facts = json.loads(out)
    assert (facts["psr_rank"], facts["rpsr_rank"], facts["accurate"]) == (None, 2, None)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("core", "tiger", "--float"), "needs exact arithmetic; leave out --float"),
        (("core", "tiger", "--model", "ra-psr"), "needs --model psr or rpsr, not ra-psr"),
        (("accuracy", "tiger", "parr"), "read 2 sources, expected one"),
        (("accuracy", "tiger", "--float"), "needs exact arithmetic; leave out --float"),
    ],
)
def test_ranks_without_a_certificate_say_why(say, words, said):
    code, _, err = say(*words, "--certificate", "c.json")
    assert code == 1
    assert said in err


def test_the_value_of_a_controller_is_shown_exactly(say, tmp_path):
    pomdp = load_pomdp("loadunload")
    plan = solve(pomdp, "reachable")
    made = certify_controller(extract_controller(plan), pomdp)
    made.save(tmp_path / "controller.json")
    code, out, _ = say("verify", "loadunload", "controller.json")
    assert code == 0
    assert f"controller_value  {exact_text(made.value)}\n" in out


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(5, 4), "5/4 = 1.25"),
        (Fraction(-1, 3), "-1/3, about -0.333333333333333"),
        (Fraction(7), "7"),
        (Fraction(1, 3**199), "1.12945858487971e-95"),
    ],
)
def test_a_short_fraction_is_shown_and_a_long_one_is_a_decimal(value, text):
    assert exact_text(value) == text


def test_a_native_r_psr_is_refused_before_planning(say):
    assert say("convert", "tiger", "m.rpsr", "--model", "rpsr")[0] == 0
    code, out, err = say("solve", "m.rpsr", "--certificate", "c.json")
    assert (code, out) == (1, "")
    assert err == (
        "rpsr: m.rpsr: --certificate: needs the POMDP, and the file holds its R-PSR; give the "
        "POMDP with --model rpsr\n"
    )
