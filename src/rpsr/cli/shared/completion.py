"""Suggestions when the user presses the tab key: files, and names of built-in domains."""

from __future__ import annotations

import os
from typing import Protocol


class Typed(Protocol):
    """The letters typed so far of a word; cyclopts gives it to a completer."""

    @property
    def incomplete(self) -> str:
        """The beginning of the word."""
        ...


def any_file(context: Typed) -> list[str]:
    """Files and folders that begin with what was typed; a folder ends in a slash."""
    folder, begin = os.path.split(context.incomplete)
    try:
        entries = sorted(os.scandir(os.path.expanduser(folder) or "."), key=lambda e: e.name)
    except OSError:
        return []
    return [
        os.path.join(folder, entry.name) + "/" * entry.is_dir()
        for entry in entries
        if entry.name.startswith(begin) and (begin or not entry.name.startswith("."))
    ]


def any_domain(context: Typed) -> list[str]:
    """Names of domains, the built-in ones and those of other packages."""
    from rpsr.domains.catalogue import names

    return [name for name in names() if name.startswith(context.incomplete)]


def model_or_domain(context: Typed) -> list[str]:
    """Files, folders and names of domains."""
    return [*any_file(context), *any_domain(context)]
