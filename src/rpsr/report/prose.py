"""A small Markdown for the text of reports; it cannot break a page."""

from __future__ import annotations

import html
import re

_SPANS = re.compile(
    r"\\(?P<escaped>[\\`*\[\-])"
    r"|`(?P<code>[^`]+)`"
    r"|\*\*(?P<strong>[^*]+)\*\*"
    r"|\*(?P<em>[^*\s][^*]*)\*"
    r"|\[(?P<words>[^\]]+)\]\((?P<where>(?:https?://|#)[^)\s]+)\)"
)
_OPTION = re.compile(r"(?<!\S)--?[a-z][\w-]*")  # a line must not end after its hyphens


def prose(markdown: str) -> str:
    """HTML for paragraphs and lists (`- item`), with code, strong, emphasis and links in them."""
    blocks = re.split(r"\n\s*\n", markdown.strip())
    return "".join(_block(block) for block in blocks if block.strip())


def _block(block: str) -> str:
    lines = block.strip().splitlines()
    if not lines[0].startswith("- "):
        return f"<p>{spans(' '.join(line.strip() for line in lines))}</p>\n"
    items: list[str] = []
    for line in lines:
        if line.startswith("- "):
            items.append(line[2:].strip())
        else:
            items[-1] += " " + line.strip()
    return "<ul>" + "".join(f"<li>{spans(item)}</li>" for item in items) + "</ul>\n"


def spans(text: str) -> str:
    """HTML for one run of text, escaped except for its markup."""
    pieces: list[str] = []
    at = 0
    for match in _SPANS.finditer(text):
        pieces.append(html.escape(text[at : match.start()]))
        at = match.end()
        kind = match.lastgroup
        if kind == "where":
            where = html.escape(match["where"])
            pieces.append(f'<a href="{where}">{html.escape(match["words"])}</a>')
        elif kind == "escaped":
            pieces.append(html.escape(match[kind]))
        else:
            assert kind is not None
            inside = html.escape(match[kind])
            if kind == "code":
                inside = _OPTION.sub(r'<span style="white-space:nowrap">\g<0></span>', inside)
            pieces.append(f"<{kind}>{inside}</{kind}>")
    return "".join([*pieces, html.escape(text[at:])])


def plain(text: str) -> str:
    """The text with all markup escaped, for names that may contain markup."""
    escaped = re.sub(r"([\\`*\[])", r"\\\1", " ".join(text.split()))
    return escaped.replace("- ", "\\- ", 1) if escaped.startswith("- ") else escaped
