"""One JSON value per line."""

import gzip

from rpsr.io.json_lines import write_json_lines


def test_the_size_is_that_of_the_text(tmp_path):
    plain, packed = tmp_path / "a.json", tmp_path / "a.json.gz"
    sizes = {write_json_lines(path, iter([{"a": 1}, [2]])) for path in (plain, packed)}
    assert plain.read_bytes() == gzip.decompress(packed.read_bytes()) == b'{"a":1}\n[2]\n'
    assert sizes == {12}
