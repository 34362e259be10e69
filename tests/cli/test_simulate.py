"""`rpsr simulate` and `rpsr evaluate`: what they print, write and return."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.documents import document

from rpsr import save
from rpsr.domains import build
from rpsr.evaluation import StochasticController, exact_return, returns, simulate
from rpsr.predictive import rpsr

KEYS = {"policy", "model", "mean", "std", "stderr", "exact", "episodes", "steps", "cut_off"}


def episodes_of(path):
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


# ---- simulate


def test_episodes_are_those_of_the_library(succeed):
    out, err = succeed("simulate", "tiger", "-o", "log.jsonl", "--episodes", "300", "--seed", "4")
    assert (out, err) == ("", "rpsr: wrote log.jsonl\n")
    pomdp = build("tiger")
    log = simulate(
        pomdp,
        StochasticController.stationary(pomdp),
        episodes=300,
        steps=100,
        seed=4,
        rewards=True,
    )
    episodes = episodes_of("log.jsonl")
    assert len(episodes) == 300
    assert episodes[0].keys() == {"actions", "observations", "rewards", "terminated"}
    names = [pomdp.actions[a] for a in log.actions.tolist()]
    assert [a for episode in episodes for a in episode["actions"]] == names
    assert [r for episode in episodes for r in episode["rewards"]] == log.rewards.tolist()


def test_columns_and_workers(succeed):
    words = ("simulate", "tiger", "--episodes", "600", "--steps", "3")
    extra = ("--states", "--propensities", "--no-rewards")
    succeed(*words, *extra, "-o", "one.jsonl")
    succeed(*words, *extra, "-o", "two.jsonl", "--workers", "2")
    assert Path("one.jsonl").read_bytes() == Path("two.jsonl").read_bytes()
    first = episodes_of("one.jsonl")[0]
    assert first.keys() == {"actions", "observations", "propensities", "states", "terminated"}
    assert first["propensities"] == [1 / 3] * 3


def test_a_policy_file_is_followed(succeed):
    succeed("solve", "loadunload", "--planner", "reachable", "--model", "psr", "-o", "p.json")
    succeed("simulate", "loadunload", "--policy", "p.json", "-o", "log.jsonl", "--episodes", "20")
    for episode in episodes_of("log.jsonl"):
        # The PSR's way: to an end, and there it stays.
        assert len(set(episode["actions"][10:])) == 1


def test_a_native_model_is_simulated(say, succeed):
    save(rpsr(build("tiger")), "m.rpsr")
    succeed("simulate", "m.rpsr", "-o", "log.jsonl", "--episodes", "5", "--steps", "4")
    assert [len(episode["actions"]) for episode in episodes_of("log.jsonl")] == [4] * 5
    code, _, err = say("simulate", "m.rpsr", "-o", "log2.jsonl", "--states")
    assert (code, err) == (1, "rpsr: a rpsr model has no hidden states to record\n")
    assert not Path("log2.jsonl").exists()


def test_standard_output_holds_episodes_only(capfdbinary):
    from rpsr.cli.app import main

    assert main(["simulate", "tiger", "-o", "-", "--episodes", "2", "--steps", "3"]) == 0
    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert [len(json.loads(line)["rewards"]) for line in lines] == [3, 3]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["simulate", "tiger"], 2, "output"),
        (["simulate", "tiger", "-o", "x.xls"], 1, "x.xls: expected a name ending in .jsonl"),
        (["simulate", "tiger", "-o", "x.jsonl", "--episodes", "0"], 2, "1"),
        (["simulate", "tiger", "-o", "x.jsonl", "--seed", "-1"], 2, "0"),
        (["simulate", "nothing", "-o", "x.jsonl"], 1, "nothing"),
        (["simulate", "tiger", "-o", "x.jsonl", "--policy", "no.json"], 1, "no.json: cannot be"),
        (["evaluate", "tiger", "--steps", "0"], 2, "1"),
        (["evaluate", "tiger", "--online", "0"], 2, "above 0"),
        (["evaluate", "tiger", "--discount", "1", "--online", "1"], 1, "discount 1"),
        (["evaluate", "tiger", "--policy", "no.pg"], 1, "no.pg: cannot be read"),
    ],
)
def test_mistakes(say, words, code, message):
    given, out, err = say(*words)
    assert (given, out) == (code, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert not list(Path().iterdir())


def test_a_policy_for_other_names(say, succeed):
    succeed("solve", "parr", "--planner", "reachable", "-o", "p.json")
    for verb in (["simulate", "tiger", "-o", "x.jsonl"], ["evaluate", "tiger"]):
        code, _, err = say(*verb, "--policy", "p.json")
        assert code == 1
        assert "p.json: the policy was made for other actions" in err


@pytest.mark.skipif(os.name == "nt", reason="Windows has no POSIX signals")
def test_ctrl_c_writes_nothing():
    words = ["simulate", "tiger", "-o", "log.jsonl", "--episodes", "100000"]
    program = f"""
import os, signal, sys
from contextlib import contextmanager
import rpsr.cli.simulate
from rpsr.cli.app import main

@contextmanager
def interrupting(what):
    yield lambda done, total: os.kill(os.getpid(), signal.SIGINT)

rpsr.cli.simulate.measured_progress = interrupting
sys.exit(main({words!r}))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "rpsr: interrupted\n")
    assert not list(Path().iterdir())


def test_progress_is_drawn_on_a_terminal_only(say, monkeypatch):
    words = ("simulate", "tiger", "-o", "log.jsonl", "--episodes", "600", "--steps", "2")
    assert say(*words)[1:] == ("", "rpsr: wrote log.jsonl\n")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    code, out, err = say(*words)
    assert (code, out) == (0, "")
    assert "simulating episodes" in err


# ---- evaluate


def test_rows_for_every_model(succeed):
    words = ("evaluate", "loadunload", "--episodes", "200", "--steps", "50", "--seed", "2")
    out, err = succeed(*words, "--json")
    facts = document(out)
    assert err.splitlines() == [
        "rpsr: uniform: rewards of later steps, which would change the return by at most 1.54, "
        "are not counted: episodes have 50 steps; --steps sets their number"
    ]
    assert (facts["schema"], facts["source"]) == ("rpsr.evaluate/1", "loadunload")
    assert (facts["seed"], facts["discount"], facts["name"]) == (2, 0.95, "loadunload")
    rows = facts["rows"]
    assert [row["model"] for row in rows] == ["pomdp", "psr", "rpsr"]
    assert all(row.keys() == KEYS for row in rows)
    pomdp = build("loadunload")
    policy = StochasticController.stationary(pomdp)
    log = simulate(pomdp, policy, episodes=200, steps=50, seed=2, ends=False)
    assert rows[0]["mean"] == pytest.approx(returns(log, pomdp).mean(), abs=1e-12)
    assert rows[0]["exact"] == pytest.approx(exact_return(pomdp, policy, steps=50), abs=1e-12)
    assert (rows[0]["policy"], rows[0]["episodes"], rows[0]["steps"]) == ("uniform", 200, 50)
    table, _ = succeed(*words)
    assert "Returns discounted by 0.95" in table


def test_what_is_cut_off_is_little_or_said(succeed):
    """At discount 0.99 a hundred steps leave out a third of what is earned."""
    out, _ = succeed("solve", "heavenhell", "--planner", "reachable", "-o", "p.json", "--json")
    value = document(out)["value"]
    words = ("evaluate", "heavenhell", "--policy", "p.json", "--episodes", "200", "--json")
    out, err = succeed(*words)
    row = document(out)["rows"][0]
    assert err == ""
    assert row["cut_off"] <= 1e-4  # of 100, the most there could be: these returns are all alike
    assert abs(row["mean"] - value) <= 5 * row["stderr"] + row["cut_off"]
    assert abs(row["exact"] - value) <= row["cut_off"] + 1e-9
    out, err = succeed(*words, "--steps", "100")
    row = document(out)["rows"][0]
    assert row["cut_off"] == pytest.approx(0.99**100 / 0.01, rel=1e-9)  # the largest reward is 1
    assert "p.json: rewards of later steps, which would change the return by at most 36.6" in err


def test_policies_in_every_form(succeed):
    values = {}
    for name in ("p.json", "p.alpha", "p.pg"):
        words = ("--planner", "reachable", "--model", "rpsr", "-o", name)
        succeed("solve", "parr", *words)
        words = ("--episodes", "5", "--steps", "100", "--json")
        out, _ = succeed("evaluate", "parr", "--policy", name, *words)
        rows = document(out)["rows"]
        assert {row["policy"] for row in rows} == {name}
        values[name] = rows[0]["exact"]
    two_every_five_steps = sum(2 * 0.95 ** (step - 1) for step in range(5, 101, 5))
    assert values["p.json"] == pytest.approx(two_every_five_steps, abs=1e-9)
    assert values["p.alpha"] == pytest.approx(values["p.json"], abs=1e-9)
    assert values["p.pg"] == pytest.approx(values["p.json"], abs=1e-9)


def test_policies_stand_side_by_side(succeed):
    for model in ("psr", "rpsr"):
        succeed("solve", "loadunload", "--model", model, "-o", f"{model}.json")
    both = ("--policy", "psr.json", "--policy", "rpsr.json")
    words = ("evaluate", "loadunload", "--episodes", "20", "--json")
    rows = document(succeed(*words, *both)[0])["rows"]
    alone = [document(succeed(*words, *both[i : i + 2])[0])["rows"] for i in (0, 2)]
    assert rows == [*alone[0], *alone[1]]


def test_planning_online_stands_beside_other_policies(succeed):
    words = ("evaluate", "tiger", "--model", "pomdp", "--episodes", "2", "--steps", "2", "--json")
    succeed("solve", "tiger", "-o", "p.json")
    alone = document(succeed(*words, "--online", "0.01")[0])["rows"]
    assert [(row["policy"], row["exact"]) for row in alone] == [("online 0.01 s", None)]
    both = document(succeed(*words, "--online", "0.01", "--policy", "p.json")[0])["rows"]
    assert both[-1]["policy"] == "online 0.01 s"
    assert both[0]["policy"] == "p.json"


def test_one_episode_has_no_spread(succeed):
    out, _ = succeed("evaluate", "tiger", "--episodes", "1", "--json")
    assert {row["std"] for row in document(out)["rows"]} == {None}


def test_a_native_model_values_itself(succeed):
    save(rpsr(build("tiger")), "m.rpsr")
    out, _ = succeed("evaluate", "m.rpsr", "--episodes", "20", "--steps", "5", "--json")
    assert [row["model"] for row in document(out)["rows"]] == ["rpsr"]


def test_a_source_without_discount_says_so(succeed):
    pomdp = build("tiger").with_discount(None)
    save(pomdp, "m.rpsr")
    table, _ = succeed("evaluate", "m.rpsr", "--episodes", "20", "--steps", "5")
    assert "Returns undiscounted" in table


def test_only_the_models_that_are_asked_for_are_built(succeed, say, monkeypatch):
    monkeypatch.setattr("rpsr.evaluation.estimates.psr", None)
    words = ("evaluate", "loadunload", "--episodes", "20", "--json", "--model", "rpsr")
    out, _ = succeed(*words, "--model", "pomdp")
    rows = document(out)["rows"]
    assert [row["model"] for row in rows] == ["rpsr", "pomdp"]
    assert rows[0]["exact"] == pytest.approx(rows[1]["exact"], abs=1e-12)
    save(rpsr(build("tiger")), "m.rpsr")
    code, out, err = say("evaluate", "m.rpsr", "--model", "pomdp")
    assert (code, out) == (1, "")
    assert err == (
        "rpsr: m.rpsr: --model needs a POMDP, and the file holds a rpsr model: leave out --model\n"
    )


@pytest.mark.skipif(os.name == "nt", reason="Windows has no POSIX signals")
@pytest.mark.parametrize(("sent", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("json", [True, False])
def test_a_signal_shows_the_rows_so_far(sent, expected, json, say, monkeypatch):
    """It comes while the PSR is built; the POMDP's row is known by then."""
    words = ["evaluate", "loadunload", "--episodes", "20", "--steps", "300"]
    whole = document(say(*words, "--json")[1])["rows"]
    monkeypatch.setattr("rpsr.evaluation.estimates.psr", lambda _: os.kill(os.getpid(), sent))
    code, out, err = say(*words, *(["--json"] * json))
    assert (code, err) == (expected, "rpsr: interrupted\n")
    if json:
        assert document(out)["rows"] == whole[:1]
    else:
        assert "pomdp" in out
        assert f"{whole[0]['mean']:.4g}" in out


def test_a_signal_before_the_first_row_shows_nothing(say, monkeypatch):
    """Without --steps, their number depends on all models."""
    monkeypatch.setattr(
        "rpsr.evaluation.estimates.psr", lambda _: os.kill(os.getpid(), signal.SIGINT)
    )
    assert say("evaluate", "loadunload", "--json") == (130, "", "rpsr: interrupted\n")


def test_rows_and_the_building_of_models_are_shown_on_a_terminal(say, monkeypatch):
    said = []

    @contextmanager
    def line(what):
        yield said.append

    monkeypatch.setattr("rpsr.cli.evaluate.live_line", line)
    words = ("evaluate", "loadunload", "--episodes", "20", "--steps", "300")
    code, _, err = say(*words)
    assert code == 0
    assert said == [
        "simulated 20 of 20 episodes",
        *(f"building the {model}" for model in ("belief model", "PSR", "R-PSR")),
    ]
    rows = [line for line in err.splitlines() if "mean return" in line]
    assert [row.split(":")[1] for row in rows] == [
        f" estimate of 'uniform' by '{model}'" for model in ("pomdp", "psr", "rpsr")
    ]


# ---- files of vectors are followed as they are written


@pytest.fixture
def rows_of(succeed):
    def rows(*words):
        out, _ = succeed("evaluate", *words, "--episodes", "20", "--steps", "500", "--json")
        return {row["policy"]: row for row in document(out)["rows"] if row["model"] == "pomdp"}

    return rows


def test_the_actions_of_an_alpha_file_count(rows_of):
    # One vector, three actions: at every belief the vector is the best, so its action is taken.
    always = {}
    for action in range(3):
        Path(f"{action}.alpha").write_text(f"{action}\n0.0 0.0\n\n")
        Path(f"{action}.pg").write_text(f"0 {action}  0 0\n")
        rows = rows_of("tiger", "--policy", f"{action}.alpha", "--policy", f"{action}.pg")
        always[action] = rows[f"{action}.alpha"]["exact"]
        assert always[action] == pytest.approx(rows[f"{action}.pg"]["exact"], abs=1e-9)
        # Looking ahead to a value of nothing: listen until opening a door pays more.
        assert len(rows) == 3
        ahead = rows[f"{action}.alpha, looking ahead"]["exact"]
        assert ahead == pytest.approx(19.3713683747, abs=1e-9)
    assert always[0] == pytest.approx(-20, abs=1e-6)
    assert always[1] == always[2] == pytest.approx(-45 * 20, abs=1e-6)


def test_looking_ahead_is_an_option_that_comes_first(rows_of, succeed):
    Path("1.alpha").write_text("1\n0.0 0.0\n\n")
    rows = rows_of("tiger", "--policy", "1.alpha", "--look-ahead")
    assert list(rows) == ["1.alpha, looking ahead", "1.alpha"]
    succeed("simulate", "tiger", "-o", "a.jsonl", "--policy", "1.alpha", "--episodes", "3")
    succeed(
        "simulate", "tiger", "-o", "b.jsonl", "--policy", "1.alpha", "--episodes", "3",
        "--look-ahead",
    )  # fmt: skip
    for file, action in (("a.jsonl", "open-left"), ("b.jsonl", "listen")):
        assert {episode["actions"][0] for episode in episodes_of(file)} == {action}


def test_what_has_no_vectors_cannot_look_ahead(say):
    Path("1.pg").write_text("0 1  0 0\n")
    code, out, err = say("evaluate", "tiger", "--policy", "1.pg", "--look-ahead")
    assert (code, out) == (1, "")
    assert "1.pg: has no alpha vectors, which --look-ahead needs" in err


def test_optimal_vectors_earn_the_same_both_ways(rows_of, succeed):
    succeed("solve", "tiger", "-o", "p.alpha")
    assert list(rows_of("tiger", "--policy", "p.alpha")) == ["p.alpha"]
