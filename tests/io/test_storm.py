"""PRISM and JANI models that Storm builds, and what is said where it is not installed."""

from fractions import Fraction

import pytest
from tests.io.drn.files import DOORS as DRN
from tests.io.prism.files import DOORS
from tests.io.reading import transition

from rpsr import InputError, load
from rpsr.io.foreign import EXPLICIT_ONLY

WALK = """\
pomdp
observables
  seen
endobservables
const int N;
const double p = 1/3;
formula last = x=N;
module walk
  x : [0..N] init 0;
  seen : [0..2] init 2;
  [go] !last -> p : (x'=x+1) & (seen'=x+1=N ? 1 : 0) + 1-p : (seen'=0);
  [stay] !last -> 1 : (seen'=0);
endmodule
label "goal" = last;
rewards "tries"
  [go] true : 1/4;
endrewards
"""
NEED = "PRISM models with constants or several modules need Storm: pip install 'rpsr[storm]'"


def write(folder, text, name="walk.prism"):
    path = folder / name
    path.write_text(text)
    return path


def test_without_storm_one_line_says_how_to_get_it(tmp_path, no_storm):
    path = write(tmp_path, WALK)
    with pytest.raises(InputError) as refused:
        load(path)
    assert str(refused.value) == (
        f"{path}:5:1: read 'const': rpsr cannot read constants itself; {EXPLICIT_ONLY}; {NEED}"
    )
    with pytest.raises(InputError) as refused:
        load(path, constants={"N": 3})
    assert str(refused.value) == f"{path}: {NEED}"
    jani = write(tmp_path, '{"jani-version": 1}', "walk.jani")
    with pytest.raises(InputError) as refused:
        load(jani)
    assert str(refused.value) == (
        f"{jani}: is a JANI model, which needs Storm: pip install 'rpsr[storm]'; Storm 2.0 builds "
        "no POMDP from JANI, so give a PRISM model if there is one"
    )


def test_constants_are_for_prism_and_jani(tmp_path):
    for source in (write(tmp_path, DRN, "doors.drn"), "tiger"):
        with pytest.raises(InputError, match="has no constants"):
            load(source, constants={"N": 3})


def test_the_explicit_form_needs_no_storm(tmp_path, no_storm):
    assert load(write(tmp_path, DOORS)).states == ("0", "1", "2", "3", "4")


def test_a_model_with_constants_and_formulas(tmp_path):
    pytest.importorskip("stormpy")
    pomdp = load(write(tmp_path, WALK), constants={"N": 3})
    assert pomdp.exact
    assert pomdp.actions[:2] == ("go", "stay")
    (first,) = pomdp.record.start.indices.tolist()
    row = transition(pomdp.record, 0, first)
    assert sorted(row.values()) == [Fraction(1, 3), Fraction(2, 3)]
    assert len(pomdp.labels["goal"]) == 1
    assert pomdp.R[first].tolist() == [0.25, 0, 0.25]


@pytest.mark.parametrize(
    ("text", "constants", "message"),
    [
        (WALK, {}, "the constant 'N' has no value; give --const N=VALUE"),
        (WALK, {"M": 3}, "--const: the model has no constant 'M', expected one of N, p"),
        (WALK.replace("module walk", "module"), {"N": 3}, "Storm: "),
        (WALK, {"N": 3, "p": "1/2"}, "Storm: "),
        (DOORS, {"N": 3}, "--const: the model has no constant 'N', expected none"),
    ],
)
def test_what_storm_refuses(tmp_path, capfd, text, constants, message):
    pytest.importorskip("stormpy")
    path = write(tmp_path, text)
    with pytest.raises(InputError) as refused:
        load(path, constants=constants)
    assert str(refused.value).startswith(f"{path}: {message}")
    assert "\n" not in str(refused.value)
    assert capfd.readouterr() == ("", ""), "Storm's own log stays away from our output"
