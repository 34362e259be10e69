"""What is wrong with a file is said in one line: the place, what was read, what was expected."""

from fractions import Fraction

import pytest
from tests.io.reading import NAMES, REST, read, refusal

MODEL = NAMES + REST  # five lines: what follows stands on line 6
ONE = "actions: 1\nobservations: 1\n" + REST
PROBABILITY = "expected a probability in [0, 1]"
START = "expected a state, 'uniform', or 2 probabilities"
LIMIT = "expected 1 to 1000000 (the reader's limit)"


# ---- sums of rows


@pytest.mark.parametrize("row", ["0.5000000000001 .5", ".4999999999999 .5", ".4999999999990 .5"])
def test_a_row_within_a_millionth_of_a_millionth_is_divided_without_a_word(row):
    record = read(MODEL + f"T: a : s {row}")
    assert record.warnings == ()
    printed = [Fraction(word) for word in row.split()]
    assert record.transition.values[:2].tolist() == [float(p / sum(printed)) for p in printed]


def test_a_row_within_six_printed_digits_is_rescaled_and_one_warning_says_so():
    record = read(MODEL + "T: a : s .5 .500005\nT: b : s .333333 .666666\nO: a : s .5 .49999")
    expected = "3 rows were rescaled to sum to 1 (largest deviation 1e-05)"
    assert record.warnings == (expected,)
    assert record.transition.values[:2].tolist() == [100000 / 200001, 100001 / 200001]
    assert record.transition.values[3:5].tolist() == [1 / 3, 2 / 3]


@pytest.mark.parametrize(
    ("statement", "where", "message"),
    [
        ("T: a : s .5 .5001", "6:1", "the 'T' row of action 'a' and state 's' sums to 1.0001"),
        ("T: a : s .5 .4999", "6:1", "the 'T' row of action 'a' and state 's' sums to 0.9999"),
        ("T: * : * : t .2", "6:1", "the 'T' row of action 'a' and state 's' sums to 1.2"),
        ("\nT: b\n0 1\n 1 .5", "9:2", "the 'T' row of action 'b' and state 't' sums to 1.5"),
        ("O: b : t 1 1", "6:1", "the 'O' row of action 'b' and next state 't' sums to 2"),
        (" start: .5 .6", "6:2", "the start distribution sums to 1.1"),
        ("OO: a:s:s 1 1", "6:1", "the observation row of action 'a' from 's' to 's' sums to 2"),
    ],
)
def test_a_row_further_off_is_refused_unless_asked_to_normalize(statement, where, message):
    text = MODEL + statement
    assert refusal(text) == f"f:{where}: {message}, expected 1 (--normalize rescales it)"
    (warning,) = read(text, normalize=True).warnings
    assert "rescaled to sum to 1" in warning


def test_the_limits_are_exact():
    assert read(MODEL + "T: a : s .5 .50001").warnings
    assert "sums to 1.00001000001" in refusal(MODEL + "T: a : s .5 .50001000001")
    assert not read(MODEL + "T: a : s .5 .500000000001").warnings
    assert read(MODEL + "T: a : s .5 .5000000000010001").warnings


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("T: a : s 0 0", "f:6:1: the 'T' row of action 'a' and state 's' sums to 0, expected 1"),
        ("T:a:s:s 0", "f:6:1: the 'T' row of action 'a' and state 's' sums to 0, expected 1"),
        ("start: 0 0", "f:6:1: the start distribution sums to 0, expected 1"),
    ],
)
def test_a_row_of_zeros_is_refused_in_any_case(statement, message, normalize):
    assert refusal(MODEL + statement, normalize=normalize) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("O: * uniform\n", "the 'T' row of action 'a' and state 's' is missing"),
        ("T: a identity\nO: * uniform", "the 'T' row of action 'b' and state 's' is missing"),
        ("T: * identity\n", "the 'O' row of action 'a' and next state 's' is missing"),
        (
            "T: * identity\nO: * : s 1 0\nO: a : t 1 0",
            "the 'O' row of action 'b' and next state 't' is missing",
        ),
        (
            "T: * identity\nOO: * : s : s 1 0",
            "the observation row of action 'a' from 't' to 't' is missing",
        ),
    ],
)
def test_a_row_that_was_never_given_is_named(text, message):
    assert refusal(NAMES + text).endswith(": " + message)
    assert refusal(NAMES + text, normalize=True).endswith(": " + message)


# ---- everything else, with its place

FOUR = "numbers, expected 2 x 2 = 4"
FAULTS = [
    # numbers
    ("T: a : s -0.1 1.1", "6:10", f"read '-0.1', {PROBABILITY}"),
    ("T: a : s 0 1.1", "6:12", f"read '1.1', {PROBABILITY}"),
    ("T: a : s nan 1", "6:10", f"read 'nan', {PROBABILITY}"),
    ("O: a : s inf 1", "6:10", f"read 'inf', {PROBABILITY}"),
    ("T: a : s : t 1e999999999", "6:14", f"read '1e999999999', {PROBABILITY}"),
    ("T: a : s : t 1e-999999999", "6:14", f"read '1e-999999999', {PROBABILITY}"),
    ("start: .5 1.5", "6:11", f"read '1.5', {PROBABILITY}"),
    ("R: a : s : t : x nan", "6:18", "read 'nan', expected a finite number"),
    ("R: a : s : t : x 1e400", "6:18", "read '1e400', expected a finite number"),
    ("R: a : s : t : x five", "6:18", "read 'five', expected a finite number"),
    ("discount: 1.5", "6:11", "'discount': read '1.5', expected a number in [0, 1]"),
    ("discount: - 0.5", "6:11", "'discount': read '-0.5', expected a number in [0, 1]"),
    ("discount: nan", "6:11", "'discount': read 'nan', expected a number in [0, 1]"),
    (
        "discount: 1.00000000000000000000001",
        "6:11",
        "'discount': read '1.00000000000000000000001', expected a number in [0, 1]",
    ),
    ("discount: .9 .8", "6:14", "'discount': read '.8', expected one number in [0, 1]"),
    # too few, too many
    ("T: a : s 1", "6:1", "T: a : s: read 1 number, expected 2"),
    ("T: a : s 1 0 0", "6:14", "T: a : s: read 3 numbers, expected 2"),
    ("T: a 1 0 0", "6:1", f"T: a: read 3 {FOUR}"),
    ("T :a\n1 0\n\n 0\nT: b identity", "6:1", f"T: a: read 3 {FOUR} (line 9 has 1)"),
    ("T: * 1 # 2 3\r\n0 1\r\nT: b 1", "6:1", f"T: *: read 3 {FOUR} (line 6 has 1)"),
    ("T: a\n1\n0\n0\n", "6:1", f"T: a: read 3 {FOUR}"),
    ("O: a\n1 0\n0 0 1\nT: b identity", "8:5", f"O: a: read 5 {FOUR} (line 8 has 3)"),
    ("T: a : s : t", "6:1", "T: a : s : t: read 0 numbers, expected 1"),
    ("O: a : s : x .5 .5", "6:17", "O: a : s : x: read 2 numbers, expected 1"),
    ("R: a : s 1 2 3", "6:1", f"R: a : s: read 3 {FOUR}"),
    ("R: a : s\n1\n2 3\n", "6:1", f"R: a : s: read 3 {FOUR} (line 7 has 1)"),
    ("OO: a : s : t 1", "6:1", "OO: a : s : t: read 1 number, expected 2"),
    ("T: a\n1 0 x", "7:5", "read 'x', expected a number"),
    ("T: a\n1 0 x 1", "7:5", f"read 'x', {PROBABILITY}"),
    ("T: a : s : t : x 1", "6:14", "read ':', expected a number"),
    ("start: .1 .2 .7", "6:14", f"'start': read '.7', {START}"),
    ("start: .5", "6:8", f"'start': read '.5', {START}"),
    # names and indices
    ("T: c : s : t 1", "6:4", "read 'c', expected the name or index of an action"),
    ("T: a : z : t 1", "6:8", "read 'z', expected the name or index of a state"),
    ("T: a : s : 2 1", "6:12", "read '2', expected the name or index of a state"),
    ("O: a : s : z 1", "6:12", "read 'z', expected the name or index of an observation"),
    ("T: -1 : s : t 1", "6:4", "read '-1', expected the name or index of an action"),
    ("R: a : s : t : 0.0 1", "6:16", "read '0.0', expected the name or index of an observation"),
    ("R: a 5", "6:6", "read '5', expected ':' and a state"),
    ("OO: a : s 1 0", "6:11", "read '1', expected ':' and a state"),
    ("T: a :", "6:7", "read the end of the file, expected the name or index of a state"),
    ("R:", "6:3", "read the end of the file, expected the name or index of an action"),
    ("start: x", "6:8", f"'start': read 'x', {START}"),
    ("start: 5", "6:8", f"'start': read '5', {START}"),
    ("start include: z", "6:16", "read 'z', expected the name or index of a state"),
    ("start include:", "6:1", "'start' allows no state, expected at least one"),
    ("start exclude: s t", "6:1", "'start' allows no state, expected at least one"),
    # keywords
    ("T: a : s identity", "6:10", "'identity' stands for a square matrix only, "
     "expected 2 numbers per row"),
    ("O: a : s identity", "6:10", "'identity' stands for a square matrix only, "
     "expected 2 numbers per row"),
    ("O: a reset", "6:6", "read 'reset', expected a number"),
    ("T: a : s : t uniform", "6:14", f"read 'uniform', {PROBABILITY}"),
    ("T: a uniform 1", "6:14", "read '1', expected a statement such as 'T:'"),
    ("T: a unifrom", "6:6", "read 'unifrom', expected a number"),
    ("values: profit", "6:9", "'values': read 'profit', expected 'reward' or 'cost'"),
    # statements
    ("Q: a : s 1", "6:1", "read 'Q', expected a statement such as 'T:'"),
    ("R:*:*:*:* 1\njunk", "7:1", "read 'junk', expected a statement such as 'T:'"),
    ("states: 2", "6:1", "read a second 'states' statement, expected one"),
    ("start: s\nstart include: t", "7:1", "read a second 'start' statement, expected one"),
    ("discount:\nvalues: cost", "6:1", "'discount:' has no value; expected one"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "where", "message"), FAULTS, ids=[f[0] for f in FAULTS])
def test_a_fault_is_named_with_its_place(line, where, message):
    assert refusal(MODEL + line) == f"f:{where}: {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f:1:1: the file has no statement; expected 'states:', 'actions:', ..."),
        ("\n# nothing\n", "f:3:1: the file has no statement; expected 'states:', 'actions:', ..."),
        ("hello: x", "f:1:1: read 'hello', expected a statement such as 'discount:' or 'T:'"),
        (ONE, "f: the file has no 'states:' statement, "
            "expected one with a count or names"),
        ("states: 1\n" + ONE[10:], "f: the file has no 'actions:' statement, "
            "expected one with a count or names"),
        ("states: 1\nactions: 1\n", "f: the file has no 'observations:' statement, "
            "expected one with a count or names"),
        ("states: a b a\n" + ONE, "f:1:13: 'states': the name 'a' was given twice"),
        ("states: a\n b *\n" + ONE, "f:2:4: 'states': read '*', expected a name"),
        ("states: a - \n" + ONE, "f:1:11: 'states': read '-', expected a name"),
        ("states: 1 2\n" + ONE, "f:1:9: 'states': read '1', expected a name"),
        ("states: 2.5\n" + ONE, "f:1:9: 'states': read '2.5', expected a count or names"),
        ("states:\n" + ONE, "f:1:1: 'states:' has no value; expected one"),
        ("states: 0\n" + ONE, f"f:1:9: 'states': read '0', {LIMIT}"),
    ],
)  # fmt: skip
def test_faults_of_the_preamble(text, message):
    assert refusal(text) == message


def test_columns_count_characters_and_lines_end_as_they_do():
    assert refusal(MODEL + "# é\r\nT: é : s 1 0").startswith("f:7:4: read 'é'")
    text = "states: é è\r\nactions: 1\robservations: 1\r\nT: 0 : é : ê 1"
    assert refusal(text).startswith("f:4:12: read 'ê'")
    assert refusal(b"\xef\xbb\xbfstates: 1 # \xe9\n x").startswith("f:1:9: ")


def test_a_name_that_is_no_utf8_is_shown_by_its_bytes():
    text = b"states: a \xe9t\xe9\n" + ONE.encode()
    assert refusal(text) == "f:1:11: 'states': the name '\\\\xe9t\\\\xe9' is not valid UTF-8"
