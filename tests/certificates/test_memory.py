"""Numbers of a certificate are kept in 8 bytes each where they fit, and in full where not."""

import tracemalloc

from rpsr.certificates.reading import compact, pairs


def test_pairs_take_little_memory():
    given = [[i % 7, 2**59 + i] for i in range(100_000)]
    tracemalloc.start()
    try:
        read = pairs(given, "weights", 7)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 20 * len(given)
    assert len(read) == len(given)
    assert [list(pair) for pair in read] == given


def test_numbers_of_more_than_64_bits_are_kept():
    given = [[0, 2**63 - 1], [1, 2**63], [2, 2**200]]
    assert [list(pair) for pair in pairs(given, "weights", 3)] == given
    assert list(compact([-(2**63), 2**63])) == [-(2**63), 2**63]
