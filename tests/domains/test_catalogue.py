"""The catalogue: every name builds, tells a story and takes its parameters."""

import inspect
from fractions import Fraction

import pytest

from rpsr import InputError
from rpsr.domains import NAMES, build, generator, story
from rpsr.domains.catalogue import parameters


@pytest.mark.parametrize("name", NAMES)
def test_every_name_builds_an_exact_model_of_its_name(name):
    pomdp = build(name)
    assert pomdp.name == name
    assert pomdp.exact
    assert pomdp.discount is not None
    assert pomdp == generator(name)()


@pytest.mark.parametrize("name", NAMES)
def test_every_story_begins_with_one_sentence(name):
    line = story(name)
    assert line.endswith(".")
    assert len(line) < 100


@pytest.mark.parametrize("name", NAMES)
def test_every_generator_takes_keywords_with_defaults_and_a_discount(name):
    parameters = inspect.signature(generator(name)).parameters
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters.values())
    assert all(p.default is not p.empty for p in parameters.values())
    assert build(f"{name}:discount=1/3").record.discount == Fraction(1, 3)


def test_numbers_truth_values_and_text_are_read_as_what_they_are():
    assert build("tiger:accuracy=.75") == generator("tiger")(accuracy=Fraction(3, 4))
    assert build("tag:slips=False") == generator("tag")(slips=False)
    assert build("rock-sample:n=3,k=2") == generator("rock-sample")(n=3, k=2)
    assert build("rock-sample:half_distance=2") == generator("rock-sample")(half_distance=2)
    assert build("rock-sample:start=x3y1") == generator("rock-sample")(start=(3, 1))


def test_an_unknown_name_is_answered_with_near_ones():
    with pytest.raises(InputError, match="'hall'; did you mean hallway"):
        build("hall")
    with pytest.raises(InputError, match=r"choose from 1d, 4x3, 4x4"):
        generator("")


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_that_is_listed_is_taken(name):
    listed = parameters(name)
    with pytest.raises(InputError) as caught:
        build(f"{name}:no-such-parameter=1")
    assert f"expected PARAMETER=VALUE; the parameters are {', '.join(listed)}" in str(caught.value)
