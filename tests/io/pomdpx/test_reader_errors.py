"""A faulty POMDPX file ends in one line that names file, line and column."""

import tracemalloc

import pytest
from tests.io.pomdpx import files

from rpsr.errors import InputError
from rpsr.io.pomdpx.reader import parse_pomdpx


def refusal(text: str | bytes) -> str:
    content = text.encode() if isinstance(text, str) else text
    with pytest.raises(InputError) as refused:
        parse_pomdpx(content, place="f", name="f")
    message = str(refused.value)
    assert "\n" not in message
    return message


def place(text: str, words: str) -> str:
    """Where words first stand in a text, as errors name it."""
    before = text[: text.index(words)]
    return f"f:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}: "


@pytest.mark.parametrize(
    ("old", "new", "at", "expected"),
    [
        ("0.95", "1.5", "1.5", "<Discount>: read '1.5', expected a number in [0, 1]"),
        ("<NumValues>3", "<NumValues>three", "<NumValues>three", "read 'three', expected a number"),
        ("good bad", "good good", "good</V", "the value 'good' occurs twice"),
        ("good bad", "good *", "*</V", "the value '*' is reserved, expected another name"),
        ('"true"', '"maybe"', "<StateVar", "fullyObs: read 'maybe', expected true or false"),
        ('vname="gain"', 'name="gain"', "<RewardVar", "<RewardVar> has no attribute 'vname'"),
        ('vname="sensor"', 'vname="act"', "<ObsVar", "the identifier 'act' is declared twice"),
        ("0.0 1.0 0.0", "0.0 1.0", "<ProbTable>0.0 1.0</", "read 2 numbers, expected 3: rover_0"),
        ("0.0 1.0 0.0", "0.0 x 0.0", "x 0.0", "read 'x', expected a number"),
        ("0.0 1.0 0.0", "0.5 1.0 0.0", "<Entry>", "distribution of rover_0 sums to 1.5, expected"),
        ("0.0 1.0 0.0", "2.0 -1.0 0.0", "<Entry>", "read -1.0, expected a probability"),
        ("west s1 s0", "west s9 s0", "s9", "read 's9', expected a value of rover_0, '*' or '-'"),
        ("west s1 s0", "west s1", "<Instance>west s1<", "<Instance> has 2 words, expected 3: act"),
        ("act rover_0 rock_0</P", "act rover_0 stone</P", "stone", "which is not declared"),
        ("act rover_1 rock_1</P", "act rover_0 rock_1</P", "rover_0 rock_1", "before the action"),
        ("check - -", "check * -", "identity", "'identity': expected '-' for the variable itself"),
        ('type="TBL"', 'type="CONT"', "<Parameter", "type: read 'CONT', expected TBL"),
        ("</Discount>", "</Discount>\n<Reward/>", "<Reward/>", "read <Reward> in <pomdpx>"),
        (
            "<Variable>",
            "<Variable> stray",
            "stray",
            "read 'stray' in <Variable>, expected elements",
        ),
        ("</Discount>", "", "</pomdpx>", "not well-formed XML: mismatched tag"),
    ],
)
def test_the_place_and_what_was_read(old, new, at, expected):
    text = files.ROVER.replace(old, new, 1)
    message = refusal(text)
    assert message.startswith(place(text, at) if "well-formed" not in expected else "f:"), message
    assert expected in message


def test_a_row_that_no_entry_gives():
    text = files.ROVER.replace("<Instance>west s1 s0</Instance>", "<Instance>west s0 s2</Instance>")
    row = "rover_1 given act=west, rover_0=s1"
    assert f"the distribution of {row} sums to 0, expected 1" in refusal(text)


def test_a_wrong_sum_points_to_the_last_entry_of_its_row():
    text = files.ROVER.replace("<ProbTable>0.0 1.0<", "<ProbTable>0.5 1.0<")
    message = refusal(text)
    assert message.startswith(place(text, "<Entry><Instance>sample s0 * -"))
    assert "rock_1 given act=sample, rover_0=s0" in message


def test_a_function_of_a_variable_is_given_once():
    twice = files.function("CondProb", "rock_0", "null", files.entries(("-", "uniform")))
    text = files.ROVER.replace("</InitialStateBelief>", twice + "</InitialStateBelief>")
    assert "a second function of 'rock_0', expected one" in refusal(text)


def test_variables_that_depend_on_each_other():
    text = files.ROVER.replace("act rover_0</P", "act rock_1</P")
    text = text.replace("act rover_0 rock_0</P", "act rover_1 rock_0</P", 1)
    entries = files.MOVES[files.MOVES.index("<Entry>") : files.MOVES.index("</Parameter>")]
    text = text.replace(
        entries, "<Entry><Instance>* * *</Instance><ProbTable>uniform</ProbTable></Entry>"
    )
    assert (
        "the variables of <StateTransitionFunction> are parents of each other in a cycle"
        in refusal(text)
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('idref="noisy"', 'idref="none"', "no template 'none' is declared"),
        ('var="rock_1">', 'var="rock_0">', "var: read 'rock_0', expected one of act, rover_1"),
        (
            '<Edge val="bad">',
            '<Edge val="good">',
            "a second edge for the value 'good', expected one per",
        ),
        ('val="ogood"/>', 'val="great"/>', "val: read 'great', expected a value of sensor"),
        ('type="persistent"', 'type="stays"', "type: read 'stays', expected deterministic"),
        ("<Terminal>0.8</Terminal>", "<Terminal>1 2</Terminal>", "has 2 numbers, expected one"),
        ('<Node var="rock_1">', '<Node var="act">', "'act' occurs twice on the path to here"),
    ],
)
def test_a_faulty_diagram(old, new, expected):
    message = refusal(files.DIAGRAMS.replace(old, new))
    assert expected in message
    assert message.count(":") >= 3


def test_a_template_that_contains_itself():
    loop = '<SubDAG type="template" idref="noisy"/>'
    start, end = files.DIAGRAMS.index('<SubDAGTemplate id="noisy">'), "</SubDAGTemplate>"
    template = files.DIAGRAMS[start : files.DIAGRAMS.index(end) + len(end)]
    text = files.DIAGRAMS.replace(template, f'<SubDAGTemplate id="noisy">{loop}{end}')
    assert "the template 'noisy' contains itself" in refusal(text)


# ---- hostile files


def test_entities_are_refused():
    laughs = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10 if i else "ha"}">' for i in range(30))
    text = files.ROVER.replace("<pomdpx", f"<!DOCTYPE pomdpx [{laughs}]>\n<pomdpx", 1)
    assert "declares the entity 'l0': entities are not read" in refusal(text)
    outside = '<!DOCTYPE pomdpx [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    text = files.ROVER.replace("<pomdpx", f"{outside}\n<pomdpx", 1).replace("A rover", "&x;")
    assert "declares the entity 'x'" in refusal(text)


def test_another_document_is_refused():
    assert refusal("<html></html>").startswith("f:1:1: read <html>, expected <pomdpx>")
    assert "not well-formed XML" in refusal("<")
    assert refusal('<?xml version="1.0" encoding="utf-17"?><pomdpx/>').startswith("f")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<NumValues>3<", "<NumValues>999999999<"),
        (
            '<StateVar vnamePrev="rock_0"',
            "".join(
                f'<StateVar vnamePrev="x{i}_0" vnameCurr="x{i}_1">'
                "<NumValues>9</NumValues></StateVar>"
                for i in range(40)
            )
            + '<StateVar vnamePrev="rock_0"',
        ),
    ],
    ids=["values", "variables"],
)
def test_a_small_file_cannot_ask_for_much_memory(old, new):
    tracemalloc.start()
    message = refusal(files.ROVER.replace(old, new, 1))
    assert tracemalloc.get_traced_memory()[1] < 2**26
    tracemalloc.stop()
    assert "the limit is" in message


def test_products_are_limited_before_they_are_made(monkeypatch):
    names = [f"x{i}" for i in range(12)]
    text = "<pomdpx><Discount>.9</Discount><Variable>" + "".join(
        f'<StateVar vnamePrev="{n}_0" vnameCurr="{n}_1"><NumValues>2</NumValues></StateVar>'
        for n in names
    )
    text += (
        '<ActionVar vname="a"><NumValues>1</NumValues></ActionVar><RewardVar vname="r"/></Variable>'
    )
    for tag, time in (("InitialStateBelief", 0), ("StateTransitionFunction", 1)):
        any_value = files.entries(("-", "uniform"))
        text += files.section(
            tag, *(files.function("CondProb", f"{n}_{time}", "null", any_value) for n in names)
        )
    reward = files.function("Func", "r", "a", files.entries(("*", "1"), table="ValueTable"))
    text += files.section("RewardFunction", reward) + "</pomdpx>"
    monkeypatch.setenv("RPSR_READ_LIMIT", "64MB")  # all states follow all states: 2^24 transitions
    tracemalloc.start()
    assert "transitions: reading takes" in refusal(text)
    assert tracemalloc.get_traced_memory()[1] < 2**26
    tracemalloc.stop()


def test_outcomes_are_limited_before_they_are_listed():
    text = "<pomdpx><Discount>.9</Discount><Variable>"
    text += '<StateVar vnamePrev="s_0" vnameCurr="s_1"><NumValues>300</NumValues></StateVar>'
    text += '<ObsVar vname="o"><NumValues>3000</NumValues></ObsVar>'
    text += '<ActionVar vname="a"><NumValues>1</NumValues></ActionVar><RewardVar vname="r"/>'
    text += "</Variable>"
    for tag, own in (
        ("InitialStateBelief", "s_0"),
        ("StateTransitionFunction", "s_1"),
        ("ObsFunction", "o"),
    ):
        uniform = files.function("CondProb", own, "null", files.entries(("-", "uniform")))
        text += files.section(tag, uniform)
    reward = files.function("Func", "r", "a", files.entries(("*", "1"), table="ValueTable"))
    text += files.section("RewardFunction", reward) + "</pomdpx>"
    outcomes = 300 * 300 * 3000
    assert f"{outcomes:,} outcomes (s, a, s', o) are possible: reading takes" in refusal(text)


def test_deep_nesting_is_no_recursion():
    deep = "<DAG>" * 50_000 + "</DAG>" * 50_000
    text = files.ROVER.replace('<Parameter type="TBL">', f'<Parameter type="DD">{deep}', 1)
    assert refusal(text).startswith("f:")
