"""Files of other formats are refused by the format's name, in one line."""

import gzip

import pytest

from rpsr import InputError, load, save
from rpsr.domains import build
from rpsr.io.pomdp.reader import read_pomdp
from rpsr.io.pomdp.writer import write_pomdp

MODULAR = "// a maze\n\npomdp\n\nconst int N;\n\nmodule maze\nendmodule\n"
JANI = '{\n  "jani-version": 1,\n  "name": "maze",\n  "type": "pomdp"\n}\n'


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("suffix", ["", ".pomdp", ".own"])
@pytest.mark.parametrize(
    ("text", "own", "message"),
    [
        (MODULAR, ".prism", ":5:1: read 'const': rpsr cannot read constants itself"),
        (MODULAR[18:], ".nm", ":1:1: read 'const': rpsr cannot read constants itself"),
        (JANI, ".jani", ": is a JANI model"),
    ],
)
def test_by_content_whatever_the_name(tmp_path, text, own, message, suffix, packed, no_storm):
    path = tmp_path / ("model" + suffix.replace(".own", own) + ".gz" * packed)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}{message}")
    assert "Storm: pip install 'rpsr[storm]'" in str(caught.value)


@pytest.mark.parametrize(
    ("suffix", "message"),
    [
        (".prism", ":1:1: read 'something', expected 'pomdp'"),
        (".drn", ":1:1: read 'something else entirely', expected '@type: POMDP'"),
        (".jani", ": is a JANI model, which needs Storm"),
    ],
)
def test_by_name_if_the_content_says_nothing(tmp_path, suffix, message, no_storm):
    path = tmp_path / f"model{suffix}"
    path.write_text("something else entirely")
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_a_native_file_under_another_name(tmp_path):
    save(build("tiger"), tmp_path / "tiger.rpsr")
    (tmp_path / "tiger.rpsr").rename(tmp_path / "tiger.model")
    with pytest.raises(InputError, match=r"needs a name ending in \.rpsr"):
        load(tmp_path / "tiger.model")


def test_what_is_a_pomdp_file_is_read_whatever_it_begins_with(tmp_path):
    write_pomdp(build("tiger").record, tmp_path / "tiger.pomdp")
    text = (tmp_path / "tiger.pomdp").read_text()
    for head in ("# <?xml\n", "# @type: POMDP\n", "\n\n", "# pomdp\n"):
        (tmp_path / "again.pomdp").write_text(head + text)
        assert read_pomdp(tmp_path / "again.pomdp").digest() == build("tiger").digest
