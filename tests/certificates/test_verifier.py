"""The verifier accepts what is proven, and says which inequality fails where."""

import json
from fractions import Fraction

import pytest

from rpsr import POMDP, InputError, verify
from rpsr.certificates.exact_model import ExactModel
from rpsr.domains import build

# Two states, one action, one observation. State a pays 1 and stays; state b pays 0 and moves to a
# with probability 1/2. With discount 1/2: V(a) = 2, V(b) = 1/2 (V(a) + V(b)) / 2, so V(b) = 2/3.
ONE = 1 << 20
SCALES = {"model": ONE, "values": ONE, "beliefs": ONE}
V_A, V_B = Fraction(2), Fraction(2, 3)


def two_states() -> POMDP:
    transition = [[[1.0, 0.0], [0.5, 0.5]]]
    emission = [[[1.0], [1.0]]]
    rewards = [[1.0], [0.0]]
    return POMDP.from_arrays(transition, emission, rewards, [0.5, 0.5], "1/2", exact=True)


def low(value):
    return (value * ONE).__floor__()


def high(value):
    return (value * ONE).__ceil__()


def good():
    """A certificate of the two states, by hand: values rounded by one unit in 2^20."""
    header = {
        "schema": "rpsr.certificate/2",
        "model": {"name": "arrays", "digest": two_states().digest, "discount": "1/2"},
        "scales": SCALES,
        "lines": {"vector": 1, "point": 2},
        "lower": "1.33332",
        "upper": "1.33334",
        "floor": 0,
        "start": [],
    }
    corners = [{"values": [high(v) + 1], "moves": [{}]} for v in (V_A, V_B)]
    vector = [0, [0], [low(V_A) - 2, low(V_B) - 2]]
    return [header, {"vector": vector}, *({"point": corner} for corner in corners)]


def written(tmp_path, lines):
    path = tmp_path / "c.json"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def refused(tmp_path, lines):
    with pytest.raises(InputError) as caught:
        verify(two_states(), written(tmp_path, lines))
    text = str(caught.value)
    assert text.startswith(str(tmp_path))
    assert "\n" not in text
    return text


def test_bounds_are_those_that_the_certificate_states(tmp_path):
    verified = verify(two_states(), written(tmp_path, good()))
    assert (verified.lower, verified.upper) == (Fraction("1.33332"), Fraction("1.33334"))
    assert verified.lower < (V_A + V_B) / 2 < verified.upper
    assert verified.sizes == {"vector": 1, "point": 2}


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("1.33332", "1.33332"),
        ("133332/100000", "1.33332"),
        ("0x1.5p+0", "1.3125"),
        ("1.33332e0", "1.33332"),
        ("0x1p-2000", Fraction(1, 2**2000)),
        ("0x1.8p-1074", Fraction(3, 2**1075)),
        ("-0x0.8p+1", "-1"),
    ],
)
def test_numbers_are_read_exactly(tmp_path, number, value):
    lines = good()
    lines[0]["lower"] = number
    assert verify(two_states(), written(tmp_path, lines)).lower == Fraction(value)


def test_whole_numbers_may_be_hexadecimal(tmp_path):
    lines = good()
    lines[1]["vector"][2] = [hex(value) for value in lines[1]["vector"][2]]
    verify(two_states(), written(tmp_path, lines))


def test_a_vector_above_its_backup_is_named_with_its_state(tmp_path):
    lines = good()
    lines[1]["vector"][2][1] += 4
    assert "lower bound: vector 0 exceeds its backup by" in (said := refused(tmp_path, lines))
    assert "'1'" in said or "'s1'" in said


def test_a_point_below_its_backup_is_named_with_its_action(tmp_path):
    lines = good()
    lines[3]["point"]["values"][0] -= 4
    assert "upper bound: point 1, action" in refused(tmp_path, lines)


@pytest.mark.parametrize(
    ("which", "stated"), [("lower", "1.33334"), ("upper", "1.33333"), ("lower", 2), ("upper", 0)]
)
def test_a_statement_beyond_the_proof_is_refused(tmp_path, which, stated):
    lines = good()
    lines[0][which] = stated
    assert f"{which} bound: the certificate states" in refused(tmp_path, lines)


def test_points_may_be_mixtures_and_cover_the_start(tmp_path):
    """The start as a point, proven by a look ahead whose successor is covered by the point itself.

    The successor of (1/2, 1/2) is (3/4, 1/4), covered by half of the point and half of state a.
    """
    lines = good()
    lines[0]["lines"]["point"] = 3
    half = ONE // 2
    value = high((V_A + V_B) / 2) + 4
    look = {"0": [[2, half], [0, half]]}
    point = {"belief": [[0, half], [1, half]], "values": [value], "moves": [look]}
    lines.append({"point": point})
    lines[0]["start"] = [[2, ONE]]
    assert verify(two_states(), written(tmp_path, lines)).upper == Fraction("1.33334")
    point["moves"] = [[[0, half], [1, half]]]
    verify(two_states(), written(tmp_path, lines))
    point["values"] = [value - 8]
    assert "point 2" in refused(tmp_path, lines)


def test_a_mixture_of_itself_proves_nothing(tmp_path):
    lines = good()
    lines[0]["lines"]["point"] = 3
    half = ONE // 2
    point = {"belief": [[0, half], [1, half]], "values": [0], "moves": [[[2, ONE]]]}
    lines.append({"point": point})
    lines[0]["start"] = [[2, ONE]]
    assert "expected a whole number from 0 to 1" in refused(tmp_path, lines)


def test_a_corner_is_no_mixture(tmp_path):
    lines = good()
    lines[2]["point"]["moves"] = [[]]
    assert "points are corners" in refused(tmp_path, lines)


@pytest.mark.parametrize("floor", [1000, [1000, 1000], [2 * ONE + 2, 0], [0, 1]])
def test_a_floor_above_what_a_policy_earns_is_refused(tmp_path, floor):
    lines = good()
    lines[0]["floor"] = floor
    assert "the floor exceeds its backup" in refused(tmp_path, lines)


@pytest.mark.parametrize("floor", [0, -ONE, [0, 0], [ONE, ONE // 8], [2 * ONE, 2 * ONE // 3]])
def test_numbers_of_points_are_above_the_floor(tmp_path, floor):
    """Points prove the same bound with any floor; none at the floor itself if that is exact."""
    lines = good()
    lines[0]["floor"] = floor
    floors = floor if isinstance(floor, list) else [floor] * 2
    for line, value, lowest in zip(lines[2:], (V_A, V_B), floors, strict=True):
        line["point"]["values"] = [high(value) + 2 - lowest]
    assert verify(two_states(), written(tmp_path, lines)).upper == Fraction("1.33334")
    lines[2]["point"]["values"][0] -= 5
    if lines[2]["point"]["values"][0] >= 0:
        assert "upper bound: point 0" in refused(tmp_path, lines)


def test_certificates_of_another_model_or_discount_are_refused(tmp_path):
    path = written(tmp_path, good())
    with pytest.raises(InputError, match="for another model, 'arrays'"):
        verify(build("tiger"), path)
    lines = good()
    lines[0]["model"]["discount"] = "2/3"
    assert "another discount" in refused(tmp_path, lines)


@pytest.mark.parametrize("kept", [0, 1, 2, 3])
def test_a_file_that_is_cut_off_is_refused(tmp_path, kept):
    refused(tmp_path, good()[:kept])


@pytest.mark.parametrize(
    ("line", "change"),
    [
        (0, {"lower": "x"}),
        (0, {"lower": True}),
        (0, {"upper": "1e999999999"}),
        (0, {"upper": "0x1.8p+9999"}),
        (0, {"upper": "1/0"}),
        (0, {"upper": "1/" + "0" * 5000 + "1"}),
        (0, {"floor": "0x1p9"}),
        (0, {"upper": "9" * 5000}),
        (0, {"upper": "1e400"}),
        (0, {"upper": "1/" + "9" * 5000}),
        (0, {"lower": "0x" + "f" * 5000}),
        (0, {"lower": 10**299}),
        (0, {"floor": "-1e301"}),
        (0, {"floor": "1/2"}),
        (0, {"floor": [0]}),
        (0, {"floor": [0, None]}),
        (1, {"vector": [0, [0], [10**4000, 0]]}),
        (2, {"point": {"values": ["0x" + "f" * 5000], "moves": [{}]}}),
        (0, {"scales": {"model": 20}}),
        (0, {"scales": {**SCALES, "values": 0}}),
        (0, {"lines": None}),
        (0, {"lines": {"vector": 2, "point": 2}}),
        (0, {"lines": {"vector": 1, "point": "0x" + "f" * 3300}}),
        (0, {"lines": {"vector": 1, "point": "0x" + "f" * 4000}}),
        (0, {"start": [[9, 1]]}),
        (0, {"start": [[0, -1]]}),
        (0, {"start": None}),
        (0, {"floor": None}),
        (0, {"model": []}),
        (0, {"schema": "rpsr.certificate/1"}),
        (1, {"vector": [0, [0], [1.5, 0]]}),
        (1, {"vector": [0, [1], [0, 0]]}),
        (1, {"vector": [1, [0], [0, 0]]}),
        (1, {"vector": [0, [0], [0]]}),
        (1, {"vector": None}),
        (1, {"something": 1}),
        (2, {"point": {"values": [ONE]}}),
        (2, {"point": {"values": [-1], "moves": [{}]}}),
        (2, {"point": {"values": [4 * ONE], "moves": [{"7": []}]}}),
        (2, {"point": {"values": [4 * ONE], "moves": [{"-1": []}]}}),
        (2, {"point": {"values": [4 * ONE], "moves": [{"0": [[0, 1, 2]]}]}}),
        (2, {"point": {"belief": [], "values": [4 * ONE], "moves": [{}]}}),
    ],
)
def test_wrong_lines_are_one_line_of_error(tmp_path, line, change):
    lines = good()
    lines[line] = {**lines[line], **change} if line == 0 else change
    refused(tmp_path, lines)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"psr_rank": 1}, "psr_rank: the certificate states 1, but proves nothing"),
        ({"rpsr_rank": 0}, "rpsr_rank: the certificate states 0, but proves nothing"),
        ({"accurate": True}, "accurate: the certificate states True"),
        ({"accurate": False}, "accurate: the certificate states False"),
        ({"controller_value": 7}, "controller"),
        ({"lower": None}, "has lines of kind vector, but its header states no lower bound"),
        ({"upper": None}, "has lines of kind point, but its header states no upper bound"),
        ({"lines": {"vector": 1, "point": 2, "lemma": 0}}, "lines: read 'lemma'"),
    ],
)
def test_a_statement_without_a_proof_and_a_proof_without_a_statement_are_refused(
    tmp_path, change, said
):
    lines = good()
    lines[0] |= change
    assert said in refused(tmp_path, lines)


def test_a_key_that_is_given_twice_is_refused(tmp_path):
    path = written(tmp_path, good())
    path.write_text(path.read_text().replace('"lower":', '"lower": 9, "lower":', 1))
    with pytest.raises(InputError, match=r"c\.json:1: a key is given twice"):
        verify(two_states(), path)


def test_broken_text_is_refused(tmp_path):
    for text in ("", "[1]\n", '{"schema": NaN}', "[" * 100000, '{"schema"'):
        path = tmp_path / "c.json"
        path.write_text(text)
        with pytest.raises(InputError):
            verify(two_states(), path)


def test_lines_are_converted_one_by_one(tmp_path):
    """What is wrong before damaged text is found before it."""
    lines = good()
    lines[1]["vector"][0] = 7
    path = written(tmp_path, lines)
    path.write_text(path.read_text() + "damage")
    with pytest.raises(InputError, match="vector 0, action"):
        verify(two_states(), path)


@pytest.mark.parametrize("horizon", [0, -1, "3", 2.0, True])
def test_a_horizon_is_a_number_of_steps(tmp_path, horizon):
    with pytest.raises(InputError, match=f"horizon: read {horizon!r}, expected a number of steps"):
        verify(two_states(), written(tmp_path, good()), horizon=horizon)


def test_a_certificate_of_another_version_says_so(tmp_path):
    path = written(tmp_path, good())
    path.write_text(path.read_text().replace("rpsr.certificate/2", "rpsr.certificate/1"))
    with pytest.raises(InputError, match=r"was written by another version of rpsr .*write the"):
        verify(two_states(), path)


def test_more_lines_than_stated_are_refused(tmp_path):
    lines = good()
    assert "more lines of kind point than its header states, 2" in refused(
        tmp_path, [*lines, lines[-1]]
    )


# ---- without a discount


def endless(tmp_path, vector, successors=(0,)):
    """One state that pays nothing and stays, and an end: every value is 0."""
    pomdp = POMDP.from_arrays([[[1.0]]], [[[1.0]]], [[0.0]], [1.0], 1, exact=True)
    header = {
        "schema": "rpsr.certificate/2",
        "model": {"name": "arrays", "digest": pomdp.digest, "discount": "1"},
        "scales": SCALES,
        "lines": {"vector": 1},
        "lower": Fraction(vector, ONE).__float__().hex(),
    }
    path = written(tmp_path, [header, {"vector": [0, list(successors), [vector]]}])
    return verify(pomdp, path)


def test_without_a_discount_a_loop_does_not_prove_a_positive_value(tmp_path):
    """The vector equals its own backup, and yet its policy never earns it."""
    with pytest.raises(InputError, match="vector 0 equals its backup"):
        endless(tmp_path, ONE)
    assert endless(tmp_path, 0).lower == 0
    assert endless(tmp_path, -ONE).lower == -1


def costs(tmp_path, floor, leave):
    """A step costs 1, and ends with probability `leave`; the start's number is 0: at the floor."""
    moves = [[[1 - leave, leave], [0.0, 1.0]]]
    pomdp = POMDP.from_arrays(moves, [[[1.0], [1.0]]], [[-1.0], [0.0]], [1.0, 0], 1, exact=True)
    header = {
        "schema": "rpsr.certificate/2",
        "model": {"name": "arrays", "digest": pomdp.digest, "discount": "1"},
        "scales": SCALES,
        "lines": {"point": 2},
        "upper": -1,
        "floor": floor,
        "start": [],
    }
    corners = [{"values": [-4 * floor[0]], "moves": [{}]}, {"values": [0], "moves": [{}]}]
    return verify(pomdp, written(tmp_path, [header, *({"point": point} for point in corners)]))


def test_without_a_discount_costs_are_bounded_where_every_policy_ends(tmp_path):
    """A step ends with probability 1/2, so that the cost is 2."""
    with pytest.raises(InputError, match=r"the floor (exceeds|equals) its backup"):
        costs(tmp_path, [-ONE, 0], 0.5)
    with pytest.raises(InputError, match="the floor equals its backup"):  # it must be strict
        costs(tmp_path, [-2 * ONE, 0], 0.5)
    with pytest.raises(InputError, match="the certificate states -1, but proves only"):
        costs(tmp_path, [-3 * ONE, 0], 0.5)


def test_without_a_discount_an_endless_loss_has_no_floor(tmp_path):
    for lowest in (-1, -ONE, -(2**60)):
        with pytest.raises(InputError, match=r"the floor (exceeds|equals) its backup"):
            costs(tmp_path, [lowest, 0], 0.0)


# ---- the model in integers


def test_a_model_in_integers_has_its_rows_divided_by_their_sums():
    tiger = build("tiger")
    model = ExactModel(tiger.record)
    assert model.rewards == [list(row) for row in zip(*tiger.exact_rewards(), strict=True)]
    for a, rows in enumerate(model.rows):
        for s, (total, row) in enumerate(rows):
            assert sum(weight for _, _, weight in row) == total
            for o, target, weight in row:
                assert weight / total == pytest.approx(tiger.D[a][o][s, target], rel=1e-15)


def test_a_model_in_floats_is_divided_by_its_sums_too():
    moves, seen = [[[0.1, 0.9], [0.3, 0.7]]], [[[1.0], [1.0]]]
    pomdp = POMDP.from_arrays(moves, seen, [[0.1], [0.2]], None, 0.5)
    assert not pomdp.exact
    total, row = ExactModel(pomdp.record).rows[0][0]
    assert total == sum(weight for _, _, weight in row)
    assert row[0][2] / row[1][2] == pytest.approx(1 / 9, rel=1e-15)
