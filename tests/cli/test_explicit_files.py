"""PRISM and DRN files on the command line."""

import json
import sys
from pathlib import Path

import pytest
from tests.io.drn.files import DOORS as DRN
from tests.io.prism.files import DOORS as PRISM


@pytest.mark.parametrize("name", ["doors.prism", "doors.pomdp"])
def test_info_counts_the_states_of_labels(say, name):
    Path(name).write_text(PRISM)
    code, out, err = say("info", name, "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert facts["labels"] == {"goal": 1, "end": 2, "none": 0}
    assert any("not all actions are available" in warning for warning in facts["warnings"])
    code, out, err = say("info", name)
    assert "goal (1), end (2), none (0)" in out
    assert "available action does (8 pairs of state and action)" in err


def test_convert_to_drn_and_back(say):
    Path("doors.drn").write_text(DRN)
    assert say("convert", "doors.drn", "again.drn.gz")[0] == 0
    digests = [json.loads(say("info", name, "--json")[1]) for name in ("doors.drn", "again.drn.gz")]
    one, two = (facts["digest"] for facts in digests)
    assert one == two


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tiger", "t.drn", "--const", "N=1"], "tiger: has no constants"),
        (["doors.drn", "t.drn", "--const", "N=1"], "doors.drn: has no constants: --const is for"),
        (["doors.drn", "t.drn", "--const", "N"], "--const: read 'N', expected NAME=VALUE"),
        (["doors.prism", "t.drn", "--const", "N=1"], "doors.prism: PRISM models with "),
        (["bad.drn", "t.drn"], "bad.drn:19:2: the row of action 'left' in state '1' sums to 0.75"),
    ],
)
def test_one_line_and_nothing_written(say, monkeypatch, words, message):
    monkeypatch.setitem(sys.modules, "stormpy", None)
    Path("doors.drn").write_text(DRN)
    Path("doors.prism").write_text(PRISM)
    Path("bad.drn").write_text(DRN.replace("3 : 7.5e-1", "3 : 0.5"))
    code, out, err = say("convert", *words)
    assert code == 1
    assert out == ""
    assert err.startswith(f"rpsr: {message}")
    assert err.count("\n") == 1
    assert not Path("t.drn").exists()
