"""The small Markdown of a page: what it marks up, and that names cannot break out of it."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpsr.report.prose import plain, prose

SPAN = '<span style="white-space:nowrap">'


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("a < b & c", "<p>a &lt; b &amp; c</p>\n"),
        ("one\ntwo\n\nthree", "<p>one two</p>\n<p>three</p>\n"),
        ("- a\n  b\n- c", "<ul><li>a b</li><li>c</li></ul>\n"),
        ("`x*y*` **s** *e*", "<p><code>x*y*</code> <strong>s</strong> <em>e</em></p>\n"),
        ("`a -o b-c`", f"<p><code>a {SPAN}-o</span> b-c</code></p>\n"),
        ("`r --time-limit <3`", f"<p><code>r {SPAN}--time-limit</span> &lt;3</code></p>\n"),
        ("[w](#there)", '<p><a href="#there">w</a></p>\n'),
        ("[w](javascript:x)", "<p>[w](javascript:x)</p>\n"),
        (r"\*a\*", "<p>*a*</p>\n"),
        ("", ""),
    ],
)
def test_markup(markdown, expected):
    assert prose(markdown) == expected


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), min_size=1))
def test_a_plain_text_is_shown_as_it_is(text):
    shown = prose(plain(text))
    if not text.split():
        assert shown == ""
        return
    content = re.fullmatch(r"<p>(.*)</p>\n", shown)
    assert content is not None
    assert "<" not in content[1]
    assert html.unescape(content[1]) == " ".join(text.split())
