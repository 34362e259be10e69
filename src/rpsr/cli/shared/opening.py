"""`rpsr.sources` for verbs: long work on a built-in model is shown on a terminal."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rpsr.models import POMDP, LinearModel


def load(source: str, **options: Any) -> POMDP | LinearModel:
    """As `rpsr.sources.load`."""
    from rpsr import sources

    with _announced(source):
        return sources.load(source, **options)


def load_pomdp(source: str, **options: Any) -> POMDP:
    """As `rpsr.sources.load_pomdp`."""
    from rpsr import sources

    with _announced(source):
        return sources.load_pomdp(source, **options)


def refuse_domain(path: str, target: str) -> None:
    """Refuse the name of a built-in domain where a log is expected; target: a log to suggest."""
    from pathlib import Path

    from rpsr.domains.catalogue import NAMES
    from rpsr.errors import InputError

    if path.partition(":")[0] in NAMES and not Path(path).exists():
        raise InputError(
            f"no such file or folder; {path} is a built-in domain: 'rpsr simulate {path} -o "
            f"{target}' writes a log",
            place=path,
        )


def _announced(source: str) -> AbstractContextManager[object]:
    """A live line while a built-in model of a size that was asked for is made.

    Nothing for a file, or for a domain at its own size, which takes less than a second.
    """
    from pathlib import Path

    from rpsr.domains.catalogue import NAMES
    from rpsr.live import live_line

    name, sized, _ = source.partition(":")
    try:
        quick = not sized or name not in NAMES or Path(source).is_file()
    except OSError:  # of a name that is too long, which is refused when it is opened
        quick = True
    if quick:
        return nullcontext()
    return live_line(f"making {source}")
