"""`rpsr learn`, from a log to a policy that runs."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from rpsr.cli.app import main

KEYS = {
    "estimator",
    "episodes",
    "steps",
    "terminated",
    "rank",
    "pairs",
    "singular_values",
    "noise_level",
    "core",
    "heldout",
    "psr_enough",
    "overlap",
    "negative_mass",
    "seconds",
}


@pytest.mark.parametrize("estimator", ["em", "last-k", "spectral", "psr"])
def test_a_log_becomes_a_model_a_policy_and_a_value(estimator, log, tmp_path, capsys):
    model, policy = tmp_path / "model.rpsr", tmp_path / "policy.json"
    words = ["learn", str(log), "-o", str(model), "--discount", "0.95", "--estimator", estimator]
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document) >= KEYS
    assert (document["episodes"], document["steps"]) == (60, 900)
    assert set(document["psr_enough"]) >= {"statistic", "interval", "verdict"}
    assert document["heldout"]["reward_rmse"] > 0
    planner = "reachable" if estimator == "last-k" else "pbvi"
    words = ["solve", str(model), "--planner", planner, "-o", str(policy)]
    assert main([*words, "--json"]) in (0, 3)
    assert json.loads(capsys.readouterr().out)["learned"] is not None
    assert main(words) in (0, 3)
    proven, estimate = "bounds hold for this model, not for the system", "no bound is proven: the "
    said = proven if estimator in ("em", "last-k") else estimate
    assert said in " ".join(capsys.readouterr().out.split())
    words = ["evaluate", "loadunload", "--policy", str(policy), "--episodes", "50", "--json"]
    assert main(words) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    # The optimum is 4.55. A PSR cannot do better than wait at an end; any action with equal chance
    # earns 1.2.
    assert rows[0]["mean"] < 1 if estimator == "psr" else rows[0]["mean"] > 4


def test_the_page_of_diagnostics_is_written(log, tmp_path, capsys):
    page = tmp_path / "page.html"
    words = ["learn", str(log), "-o", str(tmp_path / "m.rpsr"), "--discount", "0.9"]
    assert main([*words, "--estimator", "spectral", "--rank", "5", "--report", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    figures = re.findall('<svg role="img" aria-label="(.*?)"', text)
    assert figures == [
        "Observed frequency of observations against predicted probability",
        "Singular values of the moments, with the level of noise",
    ]
    titles = ["Is a PSR enough?", "The model", "The log", "Held-out episodes", "Rank", "Overlap"]
    assert re.findall("<h2.*?>(.*?)</h2>", text) == titles
    out = capsys.readouterr().out
    assert re.search(r"^rank +5 *$", out, re.MULTILINE)
    (error,) = re.findall(
        r"^rewards +held-out RMSE (\S+) \(of always predicting", out, re.MULTILINE
    )
    assert error in text  # the page and the terminal say the same
    times = Counter(
        name for line in log.read_text().splitlines() for name in json.loads(line)["observations"]
    )
    assert f"loading ({times['loading']}), travel ({times['travel']})" in text
    assert "Rewards are from 0 to 1." in text


def test_a_rank_says_what_it_comes_from(log, say):
    """--rank is the number of states, the number of interactions or the rank itself."""
    words = ["learn", str(log), "-o", "m.rpsr", "--discount", "0.9", "--report", "p.html"]
    for estimator, rank, origin, pairs in (
        ("last-k", "1", "one for each sequence of up to 1 interaction in the log", 1),
        ("last-k", "2", "one for each sequence of up to 2 interactions in the log", 2),
        ("em", "3", "the fitted POMDP has 3 states", None),
    ):
        given = [*words, "--estimator", estimator, "--rank", rank]
        document = json.loads(say(*given, "--json")[1])
        assert document["pairs"] == pairs
        out = say(*given)[1]
        assert re.search(rf"^rank +{document['rank']}: {origin} *$", out, re.MULTILINE)
        assert f">{origin}<" in Path("p.html").read_text()


def test_a_state_for_the_end_is_reported(say):
    """One step of task a time; the end stands beside the states that were asked for."""
    ends = {"actions": [0, 1], "observations": [0, 1], "rewards": [0, 1], "terminated": True}
    Path("log.jsonl").write_text("\n".join([json.dumps(ends)] * 20))
    out = say("learn", "log.jsonl", "-o", "m.rpsr", "--discount", "0.9", "--rank", "2")[1]
    assert re.search(
        r"^rank +\d+: the fitted POMDP has 2 states and one for the end of the task *$",
        out,
        re.MULTILINE,
    )


def test_a_misspelt_name_is_reported(log, say):
    """One of a log of many steps, there and on the page; in a log of few steps it is rare."""
    lines = log.read_text().splitlines(keepends=True) * 14
    for count, warned in ((60, False), (len(lines), True)):
        first = lines[0].replace('"travel"', '"Travel"', 1)
        Path("log.jsonl").write_text("".join([first, *lines[1:count]]))
        words = [
            "--discount",
            "0.9",
            "--estimator",
            "spectral",
            "--rank",
            "2",
            "--report",
            "p.html",
        ]
        code, _, error = say("learn", "log.jsonl", "-o", "m.rpsr", *words)
        slips = [line for line in error.splitlines() if "misspelling" in line]
        assert (code, len(slips)) == (0, int(warned))
        said = "rpsr: observation 'Travel' occurs once; is this a misspelling of 'travel' ("
        assert all(slip.startswith(said) for slip in slips)
        assert ("a misspelling of" in Path("p.html").read_text()) == warned


def test_rewards_far_from_zero_are_shown_to_the_digits_in_which_they_differ(log, say):
    def far(line):
        episode = json.loads(line)
        return json.dumps(episode | {"rewards": [1e9 + reward for reward in episode["rewards"]]})

    Path("log.jsonl").write_text("\n".join(map(far, log.read_text().splitlines())))
    words = ["--discount", "0.9", "--estimator", "last-k", "--plan", "p.json", "--report", "p.html"]
    words += ["--ensemble", "2"]
    document = json.loads(say("learn", "log.jsonl", "-o", "m.rpsr", *words, "--json")[1])
    out = say("learn", "log.jsonl", "-o", "m.rpsr", *words)[1]
    means = {option["mean_value"] for option in document["choice"]["options"]}
    assert len(means) == len({f"{mean:.14g}" for mean in means}) > 1
    page = Path("p.html").read_text()
    for mean in means:
        assert f"{mean:.14g}" in out
        assert f"{mean:.14g}" in page
    assert "Rewards are from 1000000000 to 1000000001." in page


def test_planning_on_a_learned_model_with_and_without_a_horizon(log, say):
    words = ["--discount", "0.9", "--estimator", "last-k", "--rank", "1", "-o", "m.rpsr"]
    assert say("learn", str(log), *words)[0] == 0
    for option, planner in (([], "pbvi"), (["--horizon", "3"], "vi"), (["--planner", "vi"], "vi")):
        code, out, _ = say("solve", "m.rpsr", *option, "--json")
        assert (code, json.loads(out)["planner"]) == (0, planner)
    assert say("solve", "m.rpsr", "--checkpoint", "c", "--epsilon", "0.1")[0] == 0


def test_a_short_log_is_learned_from_and_blindness_said_once(log, tmp_path, capsys):
    short, page = tmp_path / "short.jsonl", tmp_path / "page.html"
    short.write_text("".join(log.read_text().splitlines(keepends=True)[:12]))
    words = ["learn", str(short), "-o", str(tmp_path / "m.rpsr"), "--discount", "0.9", "--json"]
    words += ["--estimator", "discovered", "--behaviour", "blind", "--report", str(page)]
    capsys.readouterr()
    assert main(words) == 0
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert document["psr_enough"] is None
    assert len(document["stability"]) == len(document["core"]) == document["rank"]
    assert said.err.count("assumes that actions were chosen uniformly") == 1
    assert "too short to test" in said.err
    assert "Core intents" in page.read_text()
    assert "ε: the empty test" in page.read_text()
    assert "The log is too short to test" in page.read_text()


def test_a_page_draws_no_plot_without_points(say):
    """Two held-out steps say nothing about frequencies."""
    episode = {"actions": [0, 1], "observations": [0, 1], "rewards": [0, 1]}
    Path("log.jsonl").write_text("\n".join([json.dumps(episode)] * 5))
    words = ["-o", "m.rpsr", "--discount", "0.9", "--estimator", "last-k", "--report", "p.html"]
    assert say("learn", "log.jsonl", *words)[0] == 0
    text = Path("p.html").read_text()
    assert "<svg" not in text
    assert "is not drawn" in text


def test_a_plan_is_chosen_among_models_and_reported(log, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # no cell is wrapped
    model, policy, page = (tmp_path / name for name in ("m.rpsr", "p.json", "page.html"))
    words = ["learn", str(log), "-o", str(model), "--discount", "0.95", "--estimator", "last-k"]
    words += ["--rank", "2", "--plan", str(policy), "--ensemble", "2", "--report", str(page)]
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    choice = document["choice"]
    assert "mean value" in choice["rule"]
    assert len(choice["options"]) == 3
    text = page.read_text(encoding="utf-8")
    promise = f"about {document['promise']['value']:.4g}, discounted, over the whole task"
    verdict = text.index("Is a PSR enough? <strong>")
    assert "assuming that tasks continue after the end of the logged episodes (" in text
    assert "steps only, so not comparable" in text
    assert "by the log alone" not in text
    assert text.index(promise) < verdict < text.index("<nav") < text.index(">The best plan</h2>")
    assert main(["evaluate", "loadunload", "--policy", str(policy), "--episodes", "50"]) == 0
    capsys.readouterr()
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "off-policy" in out
    assert "assuming that tasks continue after the end of the logged episodes (" in " ".join(
        out.split()
    )
    assert "returns, extended beyond the last rows" in out
    assert "best plan" in out
    chosen = next(row for row in document["promises"] if row["chosen"])
    assert chosen["policy"] == "plan"
    assert "p.json: the best plan, made on a model of rank" in " ".join(out.split())
    for option in choice["options"]:  # number, rank, planner's value, mean value, lowest value
        said = (option["dimension"], option["own_value"], option["mean_value"])
        cells = " +".join(re.escape(f"{number:.4g}") for number in (*said, min(option["values"])))
        assert re.search(rf"{cells} .*{'yes' if option['chosen'] else ' '} *$", out, re.MULTILINE)


def test_work_that_could_not_be_kept_is_not_begun(log, tmp_path, capsys):
    words = ["learn", str(log), "-o", str(tmp_path / "m.rpsr"), "--discount", "0.95"]
    assert main([*words, "--ensemble", "2"]) == 1
    assert "--plan" in capsys.readouterr().err
    assert main([*words, "--plan", str(tmp_path / "p.alpha")]) == 1
    assert "expected a name ending in .json: other formats" in capsys.readouterr().err
    for option in ("--plan", "--report"):
        assert main([*words, option, str(tmp_path / "nowhere" / "file.html")]) == 1
        assert "the folder does not exist" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_no_file_is_written_over_another(log, say):
    """Neither over what is read, by whatever name, nor over another result."""
    Path("logs").mkdir()
    for name in ("data", "logs/log.jsonl"):
        Path(name).write_bytes(log.read_bytes())
    words = ["data", "-o", "m.rpsr", "--discount", "0.9", "--estimator", "last-k"]
    for wrong, said in (
        (
            ["--plan", "logs/../data"],
            "logs/../data: is already an input of this command, expected another file",
        ),
        (
            ["--plan", "./m.rpsr"],
            "./m.rpsr: is already an output of this command, expected another file",
        ),
        (["--plan", "logs/log.jsonl"], "logs/log.jsonl: has the suffix of a log"),
        (["--plan", "p.xyz"], "p.xyz: expected the name of a policy file"),
        (["--plan", "p.policy"], "p.policy: expected a name ending in .json"),
        (["--plan", "p.pg.gz"], "p.pg.gz: expected a name ending in .json"),
        (["--plan", "p.html", "--report", "p.html"], "p.html: is already an output"),
        (["--report", "m.rpsr"], "m.rpsr: expected a name ending in .html or .htm"),
        (["--report", "page.pdf"], "page.pdf: expected a name ending in .html or .htm"),
    ):
        code, _, error = say("learn", *words, *wrong)
        assert code == 1
        assert error.startswith(f"rpsr: {said}")
    assert sorted(path.name for path in Path().iterdir()) == ["data", "logs"]
    assert Path("data").read_bytes() == Path("logs/log.jsonl").read_bytes() == log.read_bytes()
    assert say("report", "data", "-o", "data")[2].startswith("rpsr: data: is already an input")


def test_a_log_that_shows_no_alternatives_is_warned_of(tmp_path, capsys):
    episode = {"actions": ["a"] * 20, "observations": ["x", "y"] * 10, "rewards": [0, 1] * 10}
    other = episode | {"actions": ["b"] + ["a"] * 19}
    path, page = tmp_path / "log.jsonl", tmp_path / "page.html"
    path.write_text("".join(json.dumps(row) + "\n" for row in [episode] * 40 + [other] * 2))
    words = ["learn", str(path), "-o", str(tmp_path / "m.rpsr"), "--discount", "0.9"]
    assert main([*words, "--estimator", "last-k", "--report", str(page)]) == 0
    assert "at least one action was never taken" in capsys.readouterr().err
    assert "at least one action was never taken" in page.read_text(encoding="utf-8")
    assert main([*words, "--estimator", "spectral", "--rank", "500"]) == 0
    assert "rank 500 was requested" in capsys.readouterr().err


def test_caution_is_reported_everywhere(log, say):
    Path("short.jsonl").write_text("".join(log.read_text().splitlines(keepends=True)[:5]))
    words = ["short.jsonl", "-o", "m.rpsr", "--discount", "0.9", "--report", "p.html", "--json"]
    code, out, error = say("learn", *words)
    assert code == 0
    caution = json.loads(out)["caution"]
    said = f"{caution['unknown']} of {caution['pairs']} combinations of a state and an action"
    assert caution["unknown"] > 0
    assert said in error
    assert said in Path("p.html").read_text()


def test_a_rare_action_and_what_decided_the_rank_are_reported_everywhere(log, say):
    lines = log.read_text().splitlines()
    first = json.loads(lines[0])
    first["actions"][0], first["rewards"][0] = "jump", 10
    Path("rare.jsonl").write_text("\n".join([json.dumps(first), *lines[1:]]))
    words = ["rare.jsonl", "-o", "m.rpsr", "--discount", "0.9", "--estimator", "spectral"]
    code, out, error = say("learn", *words, "--report", "p.html")
    page = Path("p.html").read_text()
    assert code == 0
    said = "1 of 3 actions (jump) was rarely tried: for planning, their rewards are mixed with a "
    assert said in error
    assert said in page
    text = " ".join(out.split())  # a narrow terminal folds it
    (because,) = re.findall(r"because (\d+ singular values? exceeds? the .*?) held out", text)
    document = json.loads(say("learn", *words, "--json")[1])
    assert document["caution"] == {"unknown": 1, "actions": 3}
    assert f"Rank {document['rank']}: {because}." in page
    standing = sum(value > document["noise_level"] for value in document["singular_values"])
    assert because.startswith(f"{standing} singular value")
    assert document["rank"] in [trial["rank"] for trial in document["trials"]]


def test_discovered_intents_are_printed(log, tmp_path, capsys):
    words = ["learn", str(log), "-o", str(tmp_path / "m.rpsr"), "--discount", "0.9"]
    words += ["--estimator", "discovered", "--rank", "2"]
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert main(words) == 0
    out = capsys.readouterr().out
    assert len(document["core"]) == 2
    assert "ε: the empty test" in " ".join(out.split())
    for intent, share in zip(document["core"], document["stability"], strict=True):
        assert re.search(rf"^ *{re.escape(intent)} +{share:.4g} *$", out, re.MULTILINE)


def test_nothing_is_proven_of_a_model_that_may_predict_less_than_nothing(succeed):
    """A spectral model of few episodes; beside its plan's value stands how it plays out."""
    succeed("simulate", "loadunload", "-o", "log.jsonl", "--episodes", "200", "--steps", "20")
    learn = ("learn", "log.jsonl", "--discount", "0.95", "-o")
    succeed(*learn, "spectral.rpsr", "--estimator", "spectral")
    succeed(*learn, "last.rpsr", "--estimator", "last-k")
    out, err = succeed("solve", "spectral.rpsr", "--json")
    spectral = json.loads(out)
    assert spectral["lower"] is None
    assert spectral["learned"] == "SpectralRPSR"
    assert spectral["simulated"] == pytest.approx(spectral["value"], rel=0.1)
    assert err == ""
    out, err = succeed("solve", "last.rpsr", "--planner", "pbvi", "--json")
    known = json.loads(out)  # a table of contexts is a process: its bounds hold
    assert (known["simulated"], err) == (None, "")
    assert known["lower"] <= known["value"] + 1e-9
    estimate = "no bound is proven: the value is the planner's estimate"
    assert estimate in " ".join(succeed("solve", "spectral.rpsr").out.split())


def test_an_option_that_an_estimator_does_not_have_is_refused(log, say):
    """And nothing is written; `--policy` is a file elsewhere, and nothing here."""
    words = ["learn", str(log), "-o", "m.rpsr", "--discount", "0.9"]
    for estimator in ("em", "last-k"):
        code, out, error = say(*words, "--estimator", estimator, "--behaviour", "blind")
        assert (code, out) == (1, "")
        owners = "spectral, discovered, psr"
        said = f"rpsr: --behaviour does not apply to {estimator}, only to {owners}\n"
        assert error == said
    for wrong in (["--policy", "blind"], ["--behaviour", "known"]):
        assert say(*words, "--estimator", "spectral", *wrong)[0] == 2
    assert not Path("m.rpsr").exists()
    assert say(*words, "--estimator", "spectral", "--rank", "2", "--behaviour", "estimated")[0] == 0


def test_short_episodes_without_a_mark_are_said_once_everywhere(log, say):
    """On standard error, in the JSON document and on the page."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for episode in lines[::3]:
        for column in ("actions", "observations", "rewards"):
            episode[column] = episode[column][:6]
        episode.pop("propensities", None)
    for episode in lines:
        for key in ("terminated", "truncated", "propensities"):
            episode.pop(key, None)
    Path("log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    words = ["learn", "log.jsonl", "-o", "m.rpsr", "--discount", "0.9", "--estimator", "last-k"]
    code, out, err = say(*words, "--json", "--report", "p.html")
    expected = "20 of 60 episodes are shorter than the longest (15 steps)"
    assert (code, err.count(expected)) == (0, 1)
    assert [line for line in json.loads(out)["warnings"] if expected in line]
    assert expected in Path("p.html").read_text()


def test_a_policy_of_another_model_is_reported(log, tmp_path, say, monkeypatch):
    """In the table's caption and on the page: the model file is not what was planned on."""
    monkeypatch.setattr("rpsr.learning.plan_choice.choice.np.argmax", lambda means: 1)
    words = ["learn", str(log), "-o", "m.rpsr", "--discount", "0.9", "--estimator", "last-k"]
    code, out, _ = say(*words, "--plan", "p.json", "--ensemble", "1", "--report", "p.html")
    assert code == 0
    expected = "The best plan was made on another model"
    assert expected in out
    assert expected in Path("p.html").read_text()
