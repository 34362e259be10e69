"""The same seeds and limits give the same plans as when `traces.json` was written."""

import json
from pathlib import Path

import pytest
from tests.planning.traces import DOMAINS, MODELS, planners, run, summary

KEPT = json.loads((Path(__file__).parent / "traces.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("domain", DOMAINS)
def test_the_same_seeds_give_the_same_plans(domain, kind):
    for planner in planners(domain, kind):
        found, kept = summary(run(domain, kind, planner)), KEPT[f"{domain}/{kind}/{planner}"]
        numbers, expected = found.pop("numbers"), kept["numbers"]
        assert found == {key: kept[key] for key in found}, planner
        for key, number in numbers.items():
            if number is None or expected[key] is None:
                assert number == expected[key], (planner, key)
            else:  # linear algebra may round differently elsewhere, but by far less than this
                assert number == pytest.approx(expected[key], rel=1e-7, abs=1e-9), (planner, key)
