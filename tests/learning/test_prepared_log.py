"""A prepared log is read, counted and cut once, whoever asks."""

import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.learning.worlds import coin_log, simulate

from rpsr.errors import DataError
from rpsr.learning import (
    LastKTable,
    PreparedLog,
    SpectralRPSR,
    Survey,
    choose,
    diagnose,
    learn,
    off_policy_value,
    promise,
)
from rpsr.learning.chunks import grouped
from rpsr.learning.estimator_names import ESTIMATORS
from rpsr.learning.plan_choice import choice
from rpsr.logs import Census, read_logs, stream_logs, write_logs
from rpsr.logs.parts import Part
from rpsr.logs.trajectories import join
from rpsr.models.operators import SparseOperators

LOG = simulate("loadunload", 60, 12, seed=0)
SILENT = replace(LOG, propensities=None)
RANKS = {"em": 3, "last-k": 1}


class Stream:
    """Chunks that count how often they are gone through."""

    def __init__(self, log, parts=4):
        self.chunks = [log[part] for part in np.array_split(np.arange(log.episodes), parts)]
        self.passes = 0

    def __iter__(self):
        self.passes += 1
        return iter(self.chunks)


@pytest.fixture
def counted(monkeypatch):
    """How many steps of surveys and censuses were counted."""
    steps = Counter()
    for kind in (Survey, Census):

        def add(self, log, kind=kind, known=kind.add):
            steps[kind.__name__] += log.steps
            return known(self, log)

        monkeypatch.setattr(kind, "add", add)
    return steps


@pytest.mark.parametrize("name", ESTIMATORS.own)
def test_learning_surveys_each_log_once_and_takes_one_census(name, counted):
    """The log and, for spectral estimators, the four fifths that are learned from to be judged."""
    learn(name, SILENT, discount=0.9, rank=RANKS.get(name, 3))
    logs = [LOG, *([join(Part([LOG], held_out=False))] if name not in RANKS else [])]
    assert counted["Survey"] == counted["Census"] == sum(log.steps for log in logs)


def test_plans_share_the_survey_that_estimates_propensities(counted):
    """However many plans are valued off policy by however many models."""
    learned = learn("last-k", SILENT, discount=0.9, rank=1, plan=True, ensemble=2)
    assert len(learned.choice.options) == 3
    assert counted == {"Survey": SILENT.steps, "Census": SILENT.steps}


def test_the_same_beginning_is_surveyed_once_whoever_asks(monkeypatch):
    """By the choice of a plan and by promises; a beginning is a part, not the whole log."""
    surveyed = []

    def of(chunks, longest, known=Survey.of):
        surveyed.append(known(chunks, longest))
        return surveyed[-1]

    monkeypatch.setattr(Survey, "of", of)
    model = LastKTable(k=1, discount=0.9).fit(SILENT).fitted_
    log = PreparedLog.of(SILENT)
    monkeypatch.setattr(choice, "OFF_POLICY_STEPS", 240)
    best = choose([model], log, episodes=5, steps=5)
    promise(best.policy, log.beginning(240), [[(model, model)]])
    assert [survey.steps for survey in surveyed] == [240]


def test_a_log_is_renamed_once_for_all_models_with_the_same_names():
    log = PreparedLog.of(LOG)
    model = LastKTable(k=1).fit(LOG).fitted_
    turned = replace(
        model,
        observations=model.observations[::-1],
        operators=SparseOperators(tuple(row[::-1] for row in model.operators.process)),
    )
    (seen,) = log.as_seen_by(turned)
    assert log.as_seen_by(replace(turned, name="another")) is log.as_seen_by(turned)
    np.testing.assert_array_equal(seen.observations, len(model.observations) - 1 - LOG.observations)
    (same,) = log.as_seen_by(model)
    assert same is LOG
    assert diagnose(turned, log).loglik == pytest.approx(diagnose(model, log).loglik, rel=1e-12)


def test_a_stream_is_gone_through_no_more_often_than_needed():
    """Once to look for ends, once for the survey and the census, once to count moments."""
    stream = Stream(LOG)
    SpectralRPSR(rank=3).fit(stream)
    assert stream.passes == 3
    prepared = PreparedLog.of(Stream(LOG))
    for _ in range(2):
        prepared.survey()
        assert prepared.census.counts["action"].sum() == LOG.steps
    assert prepared.recorded.chunks.passes == 2


def test_a_log_is_taken_in_whatever_form_a_user_has(tmp_path):
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    write_logs(LOG[:30], first)
    write_logs(LOG[30:], second)
    log = read_logs([first, second])  # whose names are in order
    forms = [
        log,
        [log[:30], log[30:]],
        (str(first), str(second)),
        [first, second],
        tmp_path,
        str(tmp_path),
        stream_logs(tmp_path, chunk=100),
        PreparedLog.of(log),
    ]
    expected = LastKTable(k=1).fit(log).model_.rewards
    for form in forms:
        np.testing.assert_array_equal(LastKTable(k=1).fit(form).model_.rewards, expected)


@pytest.mark.parametrize(
    ("parts", "expected"), [(1, 1), (20, 20), (32, 32), (100, 32), (257, 33), (1000, 125)]
)
def test_a_long_log_is_counted_in_more_groups(parts, expected):
    """Of up to eight partitions each; as many workers can help."""
    groups = grouped([[k] for k in range(parts)])
    assert len(groups) == expected
    assert [k for group in groups for k in group] == list(range(parts))


def test_a_prepared_list_stays_what_it_was():
    logs = [LOG[:30], LOG[30:]]
    prepared = PreparedLog.of(logs)
    logs.clear()
    assert sum(chunk.steps for chunk in prepared) == LOG.steps


def test_judgements_of_a_prepared_log_are_those_of_the_log():
    log = coin_log(80, seed=1)
    model = LastKTable(k=1, discount=0.9).fit(log).model_
    values = [off_policy_value(model, model.rewards.T, form) for form in (log, PreparedLog.of(log))]
    assert values[0] == values[1]
    choices = [choose([model], form, episodes=5, steps=5) for form in (log, PreparedLog.of(log))]
    assert choices[0].rows() == choices[1].rows()


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(Exception, match=r"nowhere.jsonl: no such file or folder"):
        LastKTable().fit(Path("nowhere.jsonl"))


@pytest.mark.parametrize("held", [False, True])
def test_chunks_of_another_log_are_refused(held):
    """Rather than counted by their indices."""
    wider = replace(LOG, observation_names=(*LOG.observation_names, "fog"))
    swapped = replace(LOG, action_names=LOG.action_names[::-1])
    for other, kind in ((wider, "observations"), (swapped, "actions")):
        for logs in ([LOG, other], (LOG, other)):
            with pytest.raises(DataError, match=f"the log's {kind} are .*; the first log's are "):
                PreparedLog.of(logs, held=held).survey()
        stream = Stream(LOG)
        stream.chunks.append(other)
        with pytest.raises(DataError, match=f"the log's {kind} are "):
            PreparedLog.of(stream, held=held).survey()
    for wrong in ([LOG, 3], 3, b"ab"):
        with pytest.raises(DataError, match=r"read \w+, expected Trajectories, a stream of them"):
            SpectralRPSR().fit(wrong)


def test_a_second_survey_takes_no_second_census(counted):
    prepared = PreparedLog.of(SILENT)
    prepared.survey(3)
    prepared.survey(2)
    assert counted == {"Survey": 2 * SILENT.steps, "Census": SILENT.steps}


def test_what_follows_from_a_survey_is_computed_once_and_again_after_more_steps():
    survey = Survey.of([SILENT[:30]])
    first = survey.policy, survey.overlap, survey.censoring
    assert (survey.policy, survey.overlap, survey.censoring) == first
    assert survey.policy is first[0]
    survey.add(SILENT[30:])
    for ours, whole in zip(survey.policy, Survey.of([SILENT]).policy, strict=True):
        np.testing.assert_array_equal(ours, whole)
    assert survey.overlap == Survey.of([SILENT]).overlap


@pytest.mark.parametrize("name", ["spectral", "last-k"])
def test_an_estimator_warns_of_ends_without_a_mark_once_for_the_whole_log(name):
    """Not for the parts that are held out or resampled, nor with marks."""
    lasting = np.where(np.arange(LOG.episodes) % 3 == 0, 7, 12)
    kept = np.arange(LOG.steps) % 12 < np.repeat(lasting, 12)
    columns = ("actions", "observations", "rewards", "propensities")
    some = {column: getattr(LOG, column)[kept] for column in columns}
    short = replace(LOG, offsets=np.append(0, np.cumsum(lasting)), **some)
    with pytest.warns(UserWarning, match="shorter") as warned:
        learned = learn(name, short, discount=0.9, rank=RANKS.get(name, 3), plan=True, ensemble=1)
    (line,) = [str(warning.message) for warning in warned]
    assert line.startswith("20 of 60 episodes are shorter than the longest (12 steps)")
    assert line in learned.warnings()
    assert line in learned.document()["warnings"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        marked = replace(short, terminated=lasting < 12)
        assert not learn(name, marked, discount=0.9, rank=RANKS.get(name, 3)).census.unmarked_ends
