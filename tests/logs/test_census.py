"""What a log shows of its names, and which of them are slips."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpsr.logs import Census, Trajectories


def census(counts, *, chunks=1, rewards=None):
    """The census of a log of one action, with a count for each observation."""
    seen = np.repeat(np.arange(len(counts)), list(counts.values()))
    counted = Census()
    parts = np.array_split(seen, chunks)
    for part in counted.watch(
        Trajectories(
            ("go",), tuple(counts), 0 * part, part, [0, len(part)], [False], rewards=rewards
        )
        for part in parts
    ):
        assert part.steps
    return counted


@given(st.lists(st.integers(1, 20), min_size=1, max_size=5), st.integers(1, 5))
def test_names_are_counted_whatever_the_chunks(times, chunks):
    counts = {f"o{i}": n for i, n in enumerate([*times, 5])}
    counted = census(counts, chunks=chunks)
    assert counted.counts["observation"].tolist() == list(counts.values())
    assert counted.counts["action"].tolist() == [sum(counts.values())]
    assert counted.names == {"action": ("go",), "observation": tuple(counts)}


@pytest.mark.parametrize(
    "slip", ["lefft", "lft", "lift", "elft", "Left", "LEFT", " left", "le ft", "left ", "lefts"]
)
def test_a_misspelling_is_reported(slip):
    expected = "a misspelling of 'left' (50,012 times)?"
    for times, word in ((1, "once"), (2, "twice")):
        (line,) = census({"left": 50_012, "right": 49_000, slip: times}).slips()
        assert line == f"observation {slip!r} occurs {word}; is this {expected}"


@pytest.mark.parametrize(
    "counts",
    [
        {f"o{i}": 4000 for i in range(1, 13)},
        {f"o{i}": 4000 for i in range(1, 12)} | {"o12": 1},  # rare, and yet a name of its own
        {"left": 20_000, "right": 20_000},
        {"left": 20_000, "Left": 3},  # too often
        {"left": 9_000, "lefft": 1},  # in too short a log
        {"left": 40_000, "goal": 1},
        {"a": 40_000, "b": 1},
        {"up": 40_000, "u": 1},
        {"left": 99, "travel": 40_000, "lefft": 1},  # what it is like is hardly more frequent
        {"left": 40_000, "lefft": 0},  # never seen
        {"left": 400_000} | {f"{letter}eft": 1 for letter in "abcdefghijkmnopqrstuvwxyz"},
    ],
)
def test_ordinary_names_are_not_doubted(counts):
    assert census(counts).slips() == []


def test_of_several_that_it_may_have_been_the_most_frequent_is_named():
    (line,) = census({"cart": 200, "card": 30_000, "carx": 1}).slips()
    assert "'card' (30,000 times)" in line


@pytest.mark.parametrize(
    ("rewards", "digits"),
    [([0, 1], 4), ([-100, 10], 4), ([5, 5], 4), ([1e9, 1e9 + 1], 14), ([99, 100], 6)],
)
def test_digits_show_a_thousandth_of_the_range(rewards, digits):
    counted = census({"x": 2}, rewards=rewards)
    assert (counted.low, counted.high, counted.digits) == (*map(float, rewards), digits)


def lengths(*steps, ended=0, chunks=1):
    """The census of episodes with these numbers of steps, of which the first `ended` terminated."""
    counted, offsets = Census(), np.cumsum([0, *steps])
    zeros = np.zeros(offsets[-1], dtype=int)
    terminated = np.arange(len(steps)) < ended
    log = Trajectories(("go",), ("dark",), zeros, zeros, offsets, terminated)
    for part in np.array_split(np.arange(len(steps)), chunks):
        counted.add(log[part])
    return counted


@pytest.mark.parametrize("chunks", [1, 3])
def test_short_episodes_without_a_mark_are_reported(chunks):
    counted = lengths(20, 7, 20, 20, 12, 20, chunks=chunks)
    assert counted.unmarked_ends.startswith(
        "2 of 6 episodes are shorter than the longest (20 steps), but no episode is marked as "
        "terminated; if the task ended in these episodes"
    )
    assert "(`terminated`)" in counted.unmarked_ends


@pytest.mark.parametrize(
    "counted",
    [
        lengths(20, 20, 20),  # cut by a horizon
        lengths(20, 7, 20, 12, ended=1),  # ends are marked
        lengths(5000),  # one long recording
        lengths(5000, 300, 7000, 4000),  # a few of them
        lengths(20, 20, 20, 3),  # the recording stopped in the last episode
        lengths(20, 0, 20, 0),  # nothing was recorded
        lengths(),
    ],
)
def test_episodes_that_were_cut_are_not_doubted(counted):
    assert counted.unmarked_ends == ""
