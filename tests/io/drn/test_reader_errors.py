"""Files that are refused: one line with the place, what was read and what was expected."""

import pytest
from tests.io.drn.files import DOORS, HEADER, refusal

from rpsr.io.allowance import VARIABLE

FIRST = HEADER.count("\n") + 1  # the line of state 0
S1, S2, S3 = FIRST + 5, FIRST + 11, FIRST + 17


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("@type: POMDP", "@type: MDP", "2:1: read the type 'MDP', which has no observations; "
         "expected POMDP"),
        ("@type: POMDP", "@type: SMG", "2:1: read the type 'SMG', expected POMDP"),
        ("@type: POMDP\n", "", f"{FIRST - 2}:1: the header has no '@type', expected "
         "'@type: POMDP'"),
        ("@nr_states\n4\n", "", f"{FIRST - 3}:1: the header has no '@nr_states', "
         "expected it with a number"),
        ("@nr_states\n4", "@nr_states\nfour", "8:1: '@nr_states': read 'four', expected a number "
         "above 0"),
        ("@nr_choices\n6", "@nr_choices\n7", "10:1: '@nr_choices' is 7, but the states have 6 "
         "actions"),
        ("@nr_states\n4", "@nr_states\n5", f"{S3 + 3}:1: state 4 is missing: read 4 states, "
         "but '@nr_states' is 5"),
        ("@parameters\n", "@parameters\np q", "4:1: read the parameter 'p', expected a model "
         "without parameters"),
        ("state 2", "state 1", f"{S2}:1: state 1 is given twice, first in line {S1}"),
        ("state 2", "state 7", f"{S2}:1: read state 7, expected a state from 0 to 3 "
         "('@nr_states')"),
        ("state 1 {2}", "state 1", f"{S1}:1: state 1 has no observation, expected one, as in "
         "'state 1 {0}'"),
        ("state 1 {2}", "state 1 {2} {3}", f"{S1}:1: state 1: read '{{3}}' twice, expected it "
         "once"),
        ("state 1 {2}", "state 1 {x}", f"{S1}:9: read '{{x}} [-2, 0] closed', expected "
         "{observation}, [rewards] or a label"),
        ("3 : 7.5e-1", "3 : 0.5", f"{S1 + 1}:2: the row of action 'left' in state '1' sums to "
         "0.75, expected 1 (--normalize rescales it)"),
        ("\t\t1 : .25\n\t\t3 : 7.5e-1\n", "", f"{S1 + 1}:2: the row of action 'left' in state '1' "
         "sums to 0, expected 1"),
        ("1 : .25", "1 : 1.25", f"{S1 + 2}:3: read '1.25', expected a probability in [0, 1]"),
        ("1 : .25", "1 : [.2, .3]", f"{S1 + 2}:3: read '[.2, .3]', expected a probability in "
         "[0, 1]"),
        ("1 : .25", "4 : .25", f"{S1 + 2}:3: read state 4, expected a state from 0 to 3 "
         "('@nr_states')"),
        ("1 : .25", "one .25", f"{S1 + 2}:3: read 'one .25', expected 'state 0 {{0}}', 'action a' "
         "or '1 : 0.5'"),
        ("action right [1/4, 0]", "action left [1/4, 0]", f"{S1 + 4}:2: action 'left' of state 1 "
         f"is given twice, first in line {S1 + 1}"),
        ("action right [1/4, 0]", "action jump [1/4, 0]", f"{S1 + 4}:2: states '1' and '2' have "
         "observation '2', but only '1' has action 'jump': expected the same actions in all "
         "states with the same observation"),
        ("[1/4, 0]", "[1/4]", f"{S1 + 4}:2: read 1 rewards, expected 2, one per name in "
         "'@reward_models'"),
        ("[1/4, 0]", "[x, 0]", f"{S1 + 4}:2: the reward: read 'x', expected a number from -1e+100 "
         "to 1e+100"),
        (" init", "", f"{S3 + 3}:1: no state has the label 'init', expected one initial state"),
        ("[-2, 0] closed", "[-2, 0] init", f"{S1}:1: states 0 and 1 have the label 'init', "
         "expected one initial state"),
        ("\taction __NOLABEL__\n\t\t3 : 1\n", "", f"{S3}:1: state 3 has no action, expected "
         "at least one 'action' with its row"),
    ],
)  # fmt: skip
def test_wrong_files(old, new, message):
    assert old in DOORS
    assert refusal(DOORS.replace(old, new, 1)) == "f:" + message


def test_rows_and_actions_out_of_place():
    assert "read an action, expected 'state' before it" in refusal(HEADER + "action a\n1 : 1\n")
    early = HEADER + "state 0 {0} init\n0 : 1\n"
    assert "read a probability, expected 'action' before it" in refusal(early)
    assert "read the end of the file, expected '@model'" in refusal("@type: POMDP\n")
    assert "expected '@type: POMDP'" in refusal("something")


def test_more_memory_than_the_file_may_take(monkeypatch):
    lines = [
        f"state {i} {{{i}}}{' init' * (i == 0)}\n\taction a{i}\n\t\t{i} : 1\n" for i in range(2000)
    ]
    head = "@type: POMDP\n@nr_states\n2000\n@model\n"
    monkeypatch.setenv(VARIABLE, "1MB")
    assert "2,000 states, 2,000 actions: reading takes" in refusal(head + "".join(lines))
