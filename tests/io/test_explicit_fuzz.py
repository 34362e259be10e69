"""Damaged files of the explicit formats end in one-line errors or in models, never otherwise."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.io.drn.files import DOORS as DRN
from tests.io.prism.files import COMMANDS, LABELS
from tests.io.prism.files import DOORS as PRISM
from tests.strategies import few

from rpsr.errors import InputError
from rpsr.io.drn.reader import parse_drn
from rpsr.io.prism.reader import parse_prism
from rpsr.models.pomdp import POMDP

PIECES = ("", "0", "1", "9", "-1", "1/0", "1e400", "99999999999999999999", ".", ";", "'", '"', "[",
          "]", "{", "}", "(", "&", "+", ":", "->", "=", "|", "//", "\n", "\r", "\t", "\x00", "é",
          "s", "o", "init", "true", "state", "action", "@model", "module", "endmodule", "label",
          "rewards", "endrewards", "observables", "const", "$x", "[]", "[a]", "0.5")  # fmt: skip


@settings(max_examples=few(400), deadline=None)
@given(
    source=st.sampled_from(
        [(DRN, parse_drn), (PRISM, parse_prism), (COMMANDS + LABELS, parse_prism)]
    ),
    edits=st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 12), st.sampled_from(PIECES)),
        min_size=1,
        max_size=4,
    ),
    normalize=st.booleans(),
)
def test_damaged_files(source, edits, normalize):
    text, parse = source
    for where, length, piece in edits:
        at = int(where * len(text))
        text = text[:at] + piece + text[at + length :]
    problem = ""
    try:
        record = parse(text.encode(), place="f", name="f", normalize=normalize)
    except InputError as error:
        problem = str(error)
    else:
        POMDP(record).D  # noqa: B018 - the arrays fit together
    assert "\n" not in problem


@pytest.mark.parametrize("parse", [parse_drn, parse_prism])
@given(content=st.binary(max_size=60))
def test_bytes(parse, content):
    with pytest.raises(InputError):
        parse(content, place="f", name="f")
