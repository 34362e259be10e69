"""Files that mean harm, or only garbage: refused in one line, quickly, without a large allocation.

The guards on time are generous: what they catch is work that grows with the square of the input.
"""

import random
import time
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.io.reading import NAMES, REST, refusal
from tests.io.texts import texts
from tests.strategies import few

from rpsr.errors import RpsrError
from rpsr.io.pomdp.reader import parse_pomdp
from rpsr.io.records import Record

MODEL = NAMES + REST
MEGABYTE = 10**6


# ---- any bytes at all


def ending(read: Callable[[], Record]) -> Record | str:
    """The record that reading ends in, or what the library's own error says."""
    try:
        return read()
    except RpsrError as error:
        return str(error)


def assert_ends_well(content: bytes) -> None:
    """A record, or the library's own error in one line."""
    for normalize in (False, True):
        end = ending(lambda n=normalize: parse_pomdp(content, place="f", name="f", normalize=n))
        assert isinstance(end, Record) or "\n" not in end


@settings(max_examples=few(200))
@given(st.binary(max_size=200))
@example(b"states: 1\nactions: 1\nobservations: 1\nT: 0\n1\nO: 0\n1\nR: 0 : 0 1")
def test_any_bytes_end_in_a_record_or_an_error(content):
    assert_ends_well(content)


TOKENS = (
    *(":", "*", "T", "O", "OO", "R", "start", "include", "states", "actions", "observations"),
    *("discount", "values", "cost", "uniform", "identity", "reset", "0", "1", ".5", "-", "1e-400"),
    *("1e999", "9" * 500, "nan", "#", "\n", "\r", "é", "\x00", "2", "0.333333", "99999", "-1"),
)


@settings(max_examples=few(200))
@given(st.lists(st.sampled_from(TOKENS), max_size=40))
def test_any_tokens_end_in_a_record_or_an_error(tokens):
    assert_ends_well(" ".join(tokens).encode())


@st.composite
def mutants(draw: st.DrawFn) -> bytes:
    """A valid file with tokens deleted, swapped, repeated or inserted, or cut short."""
    tokens = list(draw(texts()).tokens)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(tokens) - 1))
        match draw(st.sampled_from(["delete", "swap", "repeat", "insert", "replace", "cut"])):
            case "delete" if len(tokens) > 1:
                del tokens[at]
            case "swap":
                other = draw(st.integers(0, len(tokens) - 1))
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case "repeat":
                tokens.insert(at, tokens[at])
            case "insert":
                tokens.insert(at, draw(st.sampled_from(TOKENS)))
            case "replace":
                tokens[at] = draw(st.sampled_from(TOKENS))
            case _:
                tokens = tokens[: at + 1]
    content = " ".join(tokens).encode()
    return content[: draw(st.integers(0, len(content)))] if draw(st.booleans()) else content


@settings(max_examples=few(400))
@given(mutants())
def test_damaged_files_end_in_a_record_or_an_error(content):
    assert_ends_well(content)


# ---- time: a second per megabyte

RANDOM = random.Random(2)
LONG_NUMBERS = "".join(
    f"T:*:0 0.{RANDOM.randrange(10**380):0380} .5\nT:*:1 0 1\n" for _ in range(2400)
)
PATTERNS = {
    "colons": ":" * MEGABYTE,
    "opened statements": MODEL + "T:" * (MEGABYTE // 2),
    "opened preambles": "states:" * (MEGABYTE // 7),
    "one word": MODEL + "x" * MEGABYTE,
    "digits and no number": MODEL + "R:*:*:*:* " + "1" * MEGABYTE + "x",
    "many almost numbers": MODEL + ("1" * 900 + "x ") * (MEGABYTE // 900),
    "signs": MODEL + "- " * (MEGABYTE // 2),
    "a sign and spaces": MODEL + "-" + " " * MEGABYTE,
    "comments": "#\n" * (MEGABYTE // 2),
    "wildcards over wildcards": MODEL + "T:*:*:* .5\nT:*:s:* .5\n" * (MEGABYTE // 24),
    "uniform over uniform": MODEL + "T:* uniform\nT:a uniform\nT:*:s uniform\n" * (MEGABYTE // 40),
    "resets over identities": MODEL + "T:* reset\nT:* identity\n" * (MEGABYTE // 24),
    "rewards over rewards": MODEL + "R:*:*:*:* 1\nR:a:*:*:x 2\nR:*:s:*:* 3\n" * (MEGABYTE // 36),
    "long numbers": "states: 2\nactions: 1\nobservations: 1\nO: * uniform\n" + LONG_NUMBERS,
    "distinct rewards": MODEL + "".join(f"R:a:s:s:x {i}.5\n" for i in range(MEGABYTE // 18)),
    "names": "states: " + " ".join(f"n{i}" for i in range(MEGABYTE // 8)) + "\n" + MODEL[12:],
    "the same name": "states: " + "n " * (MEGABYTE // 2) + MODEL,
    "nonsense": " ".join(f"w{i % 1000}" for i in range(100_000)),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_time_grows_with_the_size_of_the_file(pattern):
    content = PATTERNS[pattern].encode()
    begin = time.process_time()
    assert_ends_well(content)  # which reads it twice
    assert time.process_time() - begin < 4 * len(content) / MEGABYTE + 1


# ---- memory


def peak_of_refusal(text: str) -> tuple[str, int]:
    tracemalloc.start()
    try:
        return refusal(text), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "states: 1000000000\nactions: 2\nobservations: 2\n" + REST,
            "f:1:9: 'states': read '1000000000', expected 1 to 1000000 (the reader's limit)",
        ),
        (
            "actions: 99999999999999999999999\nstates: 2\nobservations: 2\n" + REST,
            "f:1:10: 'actions': read '99999999999999999999999', expected 1 to 1000000",
        ),
        (
            "states: 300000\nactions: 900\nobservations: 2\n" + REST,
            "f:1:1: 300000 states times 900 actions is more than the reader's limit of 2000000",
        ),
        (
            "states: 9999999\nactions: 100\nobservations: 2\n" + REST,
            "f:1:9: 'states': read '9999999', expected 1 to 1000000",
        ),
        (
            "states: 100000\nactions: 2\nobservations: 2\nO: * uniform\nT: * uniform\n",
            "f:5:1: 'T' statements stand for 20000000000 probabilities: reading takes ",
        ),
        (
            "states: 100000\nactions: 2\nobservations: 2\nO: * uniform\nT: *:*:* .00001\n",
            "f:5:1: 'T' statements stand for 20000000000 probabilities: reading takes ",
        ),
        (
            "states: 100000\nactions: 2\nobservations: 2\nO: * uniform\nT: * reset\n",
            "f:5:1: 'T' statements stand for 20000000000 probabilities: reading takes ",
        ),
        (
            "states: 100000\nactions: 2\nobservations: 2\nT: * 1 0 0 1\n",
            "f:4:1: T: *: read 4 numbers, expected 100000 x 100000 = 10000000000",
        ),
        (
            "states: 700\nactions: 1\nobservations: 700\nT: * uniform\nO: * uniform\n",
            "f:4:1: 'T' and 'O' make 343000000 outcomes (s, a, s', o) possible: reading",
        ),
        (
            "states: 700\nactions: 1\nobservations: 700\nT: * uniform\nOO: *:*:* uniform\n",
            "f:5:1: 490000 transitions times 700 observations: reading takes ",
        ),
        (
            "states: 1000\nactions: 1\nobservations: 1000000\nT: * identity\nO: * uniform\n",
            "f:5:1: 'O' statements stand for 1000000000 probabilities: reading takes ",
        ),
    ],
)
def test_a_promise_of_more_than_memory_is_refused_without_one(text, message):
    said, peak = peak_of_refusal(text)
    assert said.startswith(message)
    assert peak < 150 * MEGABYTE


def test_many_states_without_many_transitions_are_welcome():
    text = "states: 50000\nactions: 2\nobservations: 2\nT: * identity\nO: * uniform\n"
    record = parse_pomdp(text.encode(), place="f", name="f")
    assert len(record.transition.indices) == 100_000


def test_a_number_of_a_million_digits_is_refused():
    text = MODEL + "R: a : s : s : x 0." + "3" * MEGABYTE
    read = f"'0.{'3' * 35}...' (1,000,002 characters)"
    assert refusal(text) == f"f:6:18: read {read}, expected a finite number"


def test_a_million_names_count_as_memory(monkeypatch):
    monkeypatch.setenv("RPSR_READ_LIMIT", "256MiB")
    text = "states: 1000000\nactions: 1\nobservations: 1\nT: * identity\nO: * uniform\n"
    assert "reading takes 412.0 MiB of memory, the limit is 256.0 MiB" in refusal(text)
