"""Models, logs and policies are told apart before they are read."""

import gzip
from pathlib import Path

import pytest

from rpsr import InputError, load, load_policy, save, save_policy, solve
from rpsr.domains import build
from rpsr.io.file_kinds import expect_kind, kind_of
from rpsr.logs import stream_logs
from rpsr.logs.stream import LOG_SUFFIXES
from rpsr.planning.files.policies import FORMS

EPISODE = '{"actions": ["a"], "observations": ["x"], "rewards": [1]}\n'


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.pomdp", "model"),
        ("a.POMDPX.gz", "model"),
        ("a.rpsr", "model"),
        ("a.jsonl", "log"),
        ("a.csv.gz", "log"),
        ("a.pq", "log"),
        ("a.alpha", "policy"),
        ("a.pg.gz", "policy"),
        ("a.policy", "policy"),
        ("a.json", None),  # a policy of rpsr or a log: the content decides
        ("a.txt", None),
        ("-", None),
    ],
)
def test_a_name_says_what_a_file_holds(name, kind):
    assert kind_of(name) == kind


def test_every_suffix_that_a_reader_takes_is_known():
    assert {kind_of("a" + suffix) for suffix in LOG_SUFFIXES} == {"log"}
    assert {kind_of("a." + form) for form in FORMS} == {"policy"}


@pytest.mark.parametrize("name", ["plan.json", "plan", "plan.json.gz"])
def test_a_native_policy_is_known_by_its_content(name):
    save_policy(solve(build("tiger"), horizon=1), name)
    assert kind_of(name) == "policy"
    Path(name).write_bytes(gzip.compress(EPISODE.encode()))
    assert kind_of(name) is None


def test_what_is_expected_passes_and_the_rest_is_named():
    expect_kind("a.csv", "log")
    expect_kind("a.txt", "log")
    with pytest.raises(InputError, match=r"^a\.csv: is a log, expected a model; .* 'rpsr learn'$"):
        expect_kind("a.csv", "model")


def test_readers_name_a_file_of_another_kind():
    tiger = build("tiger")
    save(tiger, "t.pomdp")
    save_policy(solve(tiger, horizon=1), "t.json")
    Path("t.jsonl").write_text(EPISODE)
    with pytest.raises(InputError, match=r"^t\.json: is a policy, expected a model$"):
        load("t.json")
    with pytest.raises(InputError, match=r"^t\.jsonl: is a log, expected a model; learn"):
        load("t.jsonl")
    with pytest.raises(InputError, match=r"^t\.json: is a policy, expected a log$"):
        stream_logs("t.json")
    with pytest.raises(InputError, match=r"^t\.pomdp: is a model, expected a log$"):
        stream_logs("t.pomdp")
    with pytest.raises(InputError, match=r"^t\.pomdp: is a model, expected a policy$"):
        load_policy("t.pomdp", tiger)


def test_json_lines_may_have_any_suffix():
    Path("log.json").write_text(EPISODE)
    (log,) = stream_logs("log.json")
    assert log.action_names == ("a",)
