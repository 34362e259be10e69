"""Escaping of names and sentences for LaTeX and for Markdown."""

from __future__ import annotations

import re

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    **{character: f"\\{character}" for character in "&%$#_"},
    "ε": r"$\varepsilon$",
    "ζ": r"$\zeta$",
    "\N{GREEK SMALL LETTER GAMMA}": r"$\gamma$",
    "∞": r"$\infty$",
    "±": r"$\pm$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "→": r"$\to$",
    "\N{MINUS SIGN}": r"$-$",
    "…": r"\dots{}",
}
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|#~])")
_NEGATIVE = re.compile(r"(?<![\w.])-(?=[\d.]|inf)")


def escape_latex(text: str) -> str:
    """A text for LaTeX; a hyphen before a digit is a minus sign."""
    text = _NEGATIVE.sub("\N{MINUS SIGN}", text)
    return "".join(_LATEX.get(character, character) for character in text)


def escape_markdown(text: str) -> str:
    """A text for Markdown, without markup; line breaks become spaces."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split("\n")))
