"""The safe choice: a high lower bound, and a policy like that of the log."""

from dataclasses import replace

import numpy as np
import pytest
from tests.learning.worlds import simulate

import rpsr
from rpsr.cli.shared.learned_facts import show_learned
from rpsr.errors import InputError
from rpsr.evaluation import StochasticController, open_policy
from rpsr.evaluation.stochastic_files import save_stochastic
from rpsr.learning import PreparedLog, SpectralPSR, SpectralRPSR, learn, psr_enough
from rpsr.learning.promises.make_promise import blind_to_rewards
from rpsr.learning.promises.promise import ASSUMPTION
from rpsr.learning.promises.safe import _beats, behaviour_like
from rpsr.logs import Trajectories
from rpsr.report.learning_page import learning_page, verdict_card

LOG = simulate("loadunload", 60, 15, seed=0)
POMDP = rpsr.load_pomdp("loadunload")


@pytest.fixture(scope="module")
def learned():
    return learn("spectral", LOG, discount=0.95, plan=True, rank=3)


def test_learned_policies_have_promises(learned):
    plan, table, logged = learned.safe.offers
    assert (plan.name, logged.name) == ("plan", "behaviour policy")
    assert table.name.startswith("last ")
    assert logged.promise.method == "returns"
    document = learned.document()
    assert set(document["promise"]) >= {"value", "low", "high", "level", "method"}
    assert document["promise"]["level"] == 0.95
    assert [row["chosen"] for row in document["promises"]].count(True) == 1
    assert learned.promise is learned.safe.chosen.promise
    assert learned.plan is learned.safe.solution
    said = dict(learned.facts())["promise"]
    assert said.startswith(learned.promise.words(learned.census.digits))
    mean = learned.steps / learned.episodes
    assert said.endswith(f"after the end of the logged episodes (mean: {mean:.3g} steps)")
    ended = replace(learned, census=replace(learned.census, ended=learned.episodes))
    assert ended.continued == ""


def test_promises_use_models_of_both_halves_of_the_log(learned, monkeypatch):
    """Each fit has two refits, and that of a half one; an empty half is not used."""
    assert learned.promise.models == (1 + 2) + 2 * (1 + 1)
    log = PreparedLog.of(LOG)
    first, second = log.halves
    assert first.in_memory.episodes == second.in_memory.episodes == 30
    both = np.concatenate([half.in_memory.actions for half in (first, second)])
    assert sorted(both) == sorted(log.in_memory.actions)
    short = PreparedLog.of(LOG.select([]))
    monkeypatch.setattr(PreparedLog, "halves", (first, short))
    without = learn("spectral", LOG, discount=0.95, plan=True, rank=3)
    assert without.promise.models == (1 + 2) + (1 + 2)  # instead: fitted to four fifths


def with_lows(learned, *lows):
    offers = tuple(
        replace(offer, promise=replace(offer.promise, low=low, value=low + 1))
        for offer, low in zip(learned.safe.offers, lows, strict=True)
    )
    return replace(learned, safe=replace(learned.safe, offers=offers, index=0))


def test_a_policy_that_does_not_beat_the_behaviour_policy_is_a_warning(learned):
    better, worse = with_lows(learned, 2.1, 0.0, 1.0), with_lows(learned, 1.9, 0.0, 1.0)
    assert better.safe.beats_behaviour
    assert not any("behaviour policy" in line for line in better.warnings())
    assert any("not show that the policy is better" in line for line in worse.warnings())


def test_a_policy_that_the_log_shows_to_be_worse_is_called_worse(learned):
    worse = with_lows(learned, 0.0, 0.0, 3.0)
    first = replace(worse.safe.offers[0].promise, high=2.5)
    offers = (replace(worse.safe.offers[0], promise=first), *worse.safe.offers[1:])
    said = replace(worse.safe, offers=offers).warning()
    assert said.startswith("the log shows that the policy is worse than the behaviour policy: its")
    assert "at most 2.5, that of the behaviour policy at least 3. Do not use it" in said


def test_equal_rewards_are_no_reason_for_a_policy(learned):
    equal = with_lows(learned, 2.0, 2.0, 2.0)
    first = replace(equal.safe.offers[0].promise, least=2.0, most=2.0)
    offers = (replace(equal.safe.offers[0], promise=first), *equal.safe.offers[1:])
    said = replace(equal.safe, offers=offers).warning()
    assert said.endswith("all rewards of the log are equal, so that it cannot tell policies apart")


def test_a_promise_says_what_it_assumes_and_a_missing_estimate_is_a_dash(learned, capsys):
    assert " ".join(printed(learned, capsys).split()).count(ASSUMPTION) == 1
    assert ASSUMPTION in " ".join(learning_page(learned, "a log").html().split())
    none = tuple(
        replace(offer, promise=replace(offer.promise, value=None)) for offer in learned.safe.offers
    )
    without = replace(learned, safe=replace(learned.safe, offers=none))
    rows = [line.split() for line in printed(without, capsys).splitlines() if " yes" in line]
    assert "-" in rows[-1]


def printed(learned, capsys):
    show_learned(learned, "p.json", False)
    return capsys.readouterr().out


def test_what_is_said_of_a_policy_names_the_one_that_is_written(learned):
    """Also if the table is followed, and not the best plan of the models."""
    plan = with_lows(learned, 1.9, 0.0, 1.0)
    table = replace(plan, safe=replace(plan.safe, index=1))
    rank = plan.plan.model.dimension
    assert plan.safe.written() == f"the best plan, made on a model of rank {rank}"
    assert table.safe.written().startswith("the plan on the table of the last ")
    assert table.safe.written(safe=True) == "one like the behaviour policy"
    which = table.safe.which
    assert any(f"show that the policy, {which}, is better" in line for line in table.warnings())
    options = (replace(plan.choice.chosen, doubt="it is wrong"), *plan.choice.options[1:])
    choice = replace(plan.choice, options=options, index=0)
    assert "it is wrong" in replace(plan, choice=choice).warnings()
    doubted = replace(table, choice=choice)
    assert f"it is wrong (this is about the best plan, not about the policy, {which})" in (
        doubted.warnings()
    )
    assert (
        f"(this is about the best plan, not about the policy, {which})"
        in verdict_card(doubted).text
    )


def test_a_table_with_a_higher_lower_bound_is_preferred_to_a_wide_promise(learned):
    plan = replace(learned.promise, low=0.0, high=3.6)
    assert _beats(replace(plan, low=0.13, high=1.2), plan)
    assert not _beats(replace(plan, low=0.01, high=1.2), plan)


def test_only_a_psr_that_is_enough_can_value_policies():
    log = simulate("loadunload", 200, 15, seed=1)
    no, undecided, yes = (
        replace(psr_enough(log), verdict=verdict) for verdict in ("no", "undecided", "yes")
    )
    blind, seeing = (kind(rank=3).fit(log) for kind in (SpectralPSR, SpectralRPSR))
    assert "a PSR is not enough" in blind_to_rewards(blind, no)
    for unknown in (undecided, None):  # None: the log is too short for a verdict
        assert "does not show that a PSR is enough" in blind_to_rewards(blind, unknown)
    assert blind_to_rewards(seeing, no) == blind_to_rewards(blind, yes) == ""


def test_a_policy_like_that_of_the_log_has_its_frequencies():
    policy = behaviour_like(PreparedLog.of(LOG))
    n_actions, n_observations = len(LOG.action_names), len(LOG.observation_names)
    assert len(policy) == 1 + n_actions * n_observations
    first = np.bincount(LOG.actions[LOG.offsets[:-1]], minlength=n_actions) / LOG.episodes
    np.testing.assert_allclose(policy.probabilities[0], first)
    everywhere = np.bincount(LOG.actions, minlength=n_actions) / LOG.steps
    for a in range(n_actions):
        for o in range(n_observations):
            after = 1 + a * n_observations + o
            assert (policy.successors[:, a, o] == after).all()
            came = np.flatnonzero((LOG.actions == a) & (LOG.observations == o))
            came = came[~np.isin(came + 1, LOG.offsets)] + 1
            counts = np.bincount(LOG.actions[came], minlength=n_actions)
            expected = counts / counts.sum() if len(came) else everywhere
            np.testing.assert_allclose(policy.probabilities[after], expected)


def test_a_policy_like_that_of_the_log_takes_no_action_that_the_log_did_not_take():
    """The log begins with action 0 and then takes action 1 only."""
    actions = np.tile([0, 1, 1, 1], 30)
    log = Trajectories(
        action_names=LOG.action_names,
        observation_names=LOG.observation_names,
        actions=actions,
        observations=LOG.observations[:120],
        offsets=np.arange(0, 121, 4),
        terminated=np.zeros(30, dtype=np.bool_),
    )
    frequencies = behaviour_like(PreparedLog.of(log)).probabilities
    assert frequencies[0, 0] == 1
    seen = np.unique(actions * len(log.observation_names) + log.observations)
    assert (frequencies[1 + seen, 1] == 1).all()


def test_a_stochastic_policy_survives_its_file(tmp_path):
    path = tmp_path / "policy.json"
    policy = behaviour_like(PreparedLog.of(LOG))
    save_stochastic(policy, path)
    read = open_policy(path, POMDP)
    assert isinstance(read, StochasticController)
    order = [policy.action_names.index(name) for name in POMDP.actions]
    np.testing.assert_array_equal(read.probabilities, policy.probabilities[:, order])
    path.write_text(path.read_text().replace('"first"', '"worst"'))
    with pytest.raises(InputError, match="'first' is missing"):
        open_policy(path, POMDP)


def test_a_stochastic_policy_of_another_system_is_refused(tmp_path):
    path = tmp_path / "policy.json"
    save_stochastic(behaviour_like(PreparedLog.of(LOG)), path)
    with pytest.raises(InputError, match="has the actions"):
        open_policy(path, rpsr.load_pomdp("tiger"))
