"""Files of other formats are refused by the format's name, in one line."""

import gzip

import pytest

from rpsr import InputError, load, save
from rpsr.domains import build
from rpsr.io.pomdp.reader import read_pomdp
from rpsr.io.pomdp.writer import write_pomdp

PRISM = "// a maze\n\npomdp\n\nobservables\n  o\nendobservables\n\nmodule maze\nendmodule\n"
DRN = "// Exported by storm\n// Original type: POMDP\n@type: POMDP\n@parameters\n\n@nr_states\n3\n"
JANI = '{\n  "jani-version": 1,\n  "name": "maze",\n  "type": "pomdp"\n}\n'


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("suffix", ["", ".pomdp", ".own"])
@pytest.mark.parametrize(
    ("text", "own", "message"),
    [
        (PRISM, ".prism", "is a PRISM model, which rpsr does not read"),
        ("const int N = 3;\n" + PRISM, ".nm", "is a PRISM model, which rpsr does not read"),
        (DRN, ".drn", "is a DRN file of Storm, which rpsr does not read"),
        (JANI, ".jani", "is a JANI model (JSON), which rpsr does not read"),
    ],
)
def test_by_content_whatever_the_name(tmp_path, text, own, message, suffix, packed):
    path = tmp_path / ("model" + suffix.replace(".own", own) + ".gz" * packed)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    with pytest.raises(InputError) as caught:
        load(path)
    reads = "rpsr reads .pomdp and .pomdpx files (also gzipped) and its own .rpsr files"
    assert str(caught.value) == f"{path}: {message}; {reads}"


@pytest.mark.parametrize("suffix", [".prism", ".drn", ".jani"])
def test_by_name_whatever_the_content(tmp_path, suffix):
    path = tmp_path / f"model{suffix}"
    path.write_text("something else entirely")
    with pytest.raises(InputError, match=r"which rpsr does not read; rpsr reads \.pomdp"):
        load(path)


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
