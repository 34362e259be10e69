"""A few kills of each command; CONTRIBUTING.md says how to run more."""

import os

import pytest
from tests.faults.kills import VERBS, Verb, Violation, kill

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.mark.parametrize("name", ["accuracy", "convert", "simulate"])  # the others take longer
def test_files_are_whole_or_absent(name, tmp_path):
    said = []
    kill(VERBS[name], 1, 0, tmp_path, say=said.append)
    assert said[0].startswith(f"{name}: 1 killed of")


@pytest.mark.parametrize(
    ("verb", "complaint"),
    [
        (Verb("convert", ("convert", "tiger", "out.pomdp"), lambda path: 1 / 0), "is damaged"),
        (Verb("convert", ("convert", "tiger", "out.pomdp"), str, lambda *_: False), "differs"),
        (Verb("convert", ("convert", "nothing", "out.pomdp"), str), "exit code 1"),
    ],
)
def test_what_is_wrong_is_noticed(verb, complaint, tmp_path):
    with pytest.raises(Violation, match=complaint):
        kill(verb, 1, 0, tmp_path, say=print)
