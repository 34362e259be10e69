"""The same logs and seeds give the same models and verdicts as when `traces.json` was written."""

import json
from pathlib import Path

import pytest
from tests.learning.traces import LOGS, cases, run, summary

KEPT = json.loads((Path(__file__).parent / "traces.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("log", LOGS)
def test_the_same_logs_give_the_same_models(log):
    for case in cases():
        if case[0] == log:
            result, expected = summary(run(*case)), KEPT["/".join(filter(None, case))]
            # linear algebra may round differently elsewhere, but by far less than this
            assert result == pytest.approx(expected, rel=1e-7, abs=1e-9), case


def test_every_run_is_compared():
    assert list(KEPT) == ["/".join(filter(None, case)) for case in cases()]
