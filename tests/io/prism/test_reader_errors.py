"""Files that are refused: one line with the place, what was read and what was expected."""

import pytest
from tests.io.prism.files import COMMANDS, DOORS, MODULE, read, refusal

from rpsr.errors import InputError
from rpsr.io.allowance import VARIABLE
from rpsr.io.foreign import EXPLICIT_ONLY, STORM_BUILDS
from rpsr.io.prism.scanner import OutsideExplicit

STORM = f"; {EXPLICIT_ONLY}; {STORM_BUILDS}"
LINE = MODULE[: MODULE.index("  [left] s=1")].count("\n") + 1  # of the first command of state 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0.75 : (s'=3)", "0.5 : (s'=3)", f"f:{LINE}:3: the row of action 'left' in state '1' "
         "sums to 0.75, expected 1 (--normalize rescales it)"),
        ("0.75 : (s'=3)", "1.75 : (s'=3)", f"f:{LINE}:17: read '1.75', expected a probability in "
         "[0, 1]"),
        ("0.75 : (s'=3)", "1/0 : (s'=3)", f"f:{LINE}:17: read '1/0', expected a probability in "
         "[0, 1]"),
        ("(s'=3)", "(s'=6)", f"f:{LINE}:17: 's': read 6, expected a value in [0..5]"),
        ("(o'=1)", "(o'=-1)", f"f:{LINE}:17: 'o': read -1, expected a value in [0..9]"),
        ("[left] s=1", "[left] s=9", f"f:{LINE}:3: 's': read 9, expected a value in [0..5]"),
        ("[right] s=1", "[left] s=1", f"f:{LINE + 1}:3: action 'left' of s=1 is given twice, "
         f"first in line {LINE}"),
        ("[left] s=2", "[look] s=2", f"f:{LINE + 2}:3: states '1' and '2' have observation '0', "
         "but only '2' has action 'look': expected the same actions in all states with "
         "the same observation"),
        ("o : [0..9] init 7", "o : [0..6] init 7", "f:10:3: read init 7, expected a value in "
         "[0..6]"),
        ("pomdp", "mdp", "f:2:1: read 'mdp', a model without observations; expected 'pomdp'"),
        ("[look] true", "[jump] true", f"f:{DOORS[: DOORS.index('[look] true')].count(chr(10)) + 1}"
         ":3: the reward of action 'jump': no command has this action"),
        ('label "end"', 'label "goal"', f"f:{LINE + 8}:1: the label 'goal' is given twice"),
    ],
)  # fmt: skip
def test_wrong_numbers(old, new, message):
    assert old in DOORS
    assert refusal(DOORS.replace(old, new, 1)) == message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("pomdp\n", "pomdp\nconst int N = 3;\n", "f:3:1: read 'const': rpsr cannot read constants "
         "itself"),
        ("pomdp\n", "pomdp\nformula f = s=1;\n", "f:3:1: read 'formula': rpsr cannot read formulas "
         "itself"),
        ("endmodule\n", "endmodule\nmodule two\nendmodule\n", f"f:{LINE + 7}:1: read 'module': "
         "rpsr cannot read several modules itself"),
        ("s=1 ->", "s=1 & o=2 ->", f"f:{LINE}:14: read '&', expected '->'"),
        ("s=1 ->", "s>1 ->", f"f:{LINE}:11: read '>', expected '='"),
        ("s=1 ->", "o=1 ->", f"f:{LINE}:3: the guard tests 'o', expected the state variable 's'"),
        ("(s'=3) & (o'=1)", "(s'=3)", f"f:{LINE}:31: read '+', expected '&' and the other "
         "variable: an update sets the state and the observation"),
        ("(s'=3)", "(s'=s+1)", f"f:{LINE}:28: read 's', expected a whole number"),
        ("(s'=3)", "(o'=3)", f"f:{LINE}:17: the update sets 'o' and 'o', expected 's' and 'o'"),
        ("0.75 : (s", "p : (s", f"f:{LINE}:17: read 'p', expected an update such as "
         "0.5 : (s'=1) & (o'=2)"),
        ("(s'=3) & (o'=1)", "(s'=3) & (o'=0)", f"f:{LINE}:17: s=3 occurs with o=0 and with o=1, "
         "expected one observation for each state"),
        ("  o\nendobs", "  o, s\nendobs", f"f:{LINE - 1}:3: read 2 observables, expected one "
         "variable"),
        ("  o\nendobs", "  x\nendobs", "f:9:3: the observable 'x' is not a variable of the module"),
        ("  o : [0..9] init 7;", "  o : [0..9] init 7;\n  t : [0..1];", "f:11:3: the module has 3 "
         "variables, expected two: the state and the observation"),
        ('"goal" = s=3;', '"goal" = s>3;', f"f:{LINE + 7}:16: read 's', expected a state such as "
         "s=3"),
        ("[0..5]", "bool", "f:9:7: read 'bool', expected a range such as [0..9]"),
    ],
)  # fmt: skip
def test_what_is_outside_the_explicit_form(old, new, message):
    assert old in DOORS
    assert refusal(DOORS.replace(old, new, 1)) == message + STORM


def test_an_incomplete_file():
    cut = DOORS.index("& (o'=1)")
    assert f"f:{LINE}:30: read the end of the file, expected '&'" in refusal(DOORS[: cut - 1])
    assert "the file has no command" in refusal("pomdp\n")
    assert "read 'something', expected 'pomdp'" in refusal("something else")
    no_start = COMMANDS.replace("[look] s=0", "[look] s=9")
    assert "no command has the guard s=0, which is the initial state" in refusal(no_start)


def test_more_memory_than_the_file_may_take(monkeypatch):
    names = "".join(f"[a{i}] s={i} -> 1 : (s'={i + 1}) & (o'={i + 1});\n" for i in range(2000))
    monkeypatch.setenv(VARIABLE, "1MB")
    assert "f:1:1: 2,001 states, 2,000 actions: reading takes" in refusal(names)


def test_fractions_without_a_small_common_denominator(monkeypatch):
    primes = [p for p in range(2, 6000) if all(p % q for q in range(2, int(p**0.5) + 1))]
    row = " + ".join(f"1/{p} : (s'={p}) & (o'=0)" for p in primes)
    monkeypatch.setenv(VARIABLE, "1kB")
    monkeypatch.setattr("rpsr.io.allowance.FACTOR", 30)
    assert "the fractions of a row: reading takes" in refusal(f"[a] s=0 -> {row};")


def test_errors_beyond_the_form_are_told_apart():
    with pytest.raises(OutsideExplicit):
        read("pomdp\nconst int N;\n")
    with pytest.raises(InputError) as refused:
        read(MODULE.replace("0.75", "0.5"))
    assert not isinstance(refused.value, OutsideExplicit)
