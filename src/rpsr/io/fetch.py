"""Downloads the classic POMDP repository into a cache the user can see and move.

A file counts as fetched when the SHA-256 of its text is the one in `rpsr.io.checksums`; such files
are skipped, everything else is downloaded again. What has arrived of an unfinished download waits
in a `.part` file, and the next try asks the server to continue from there (HTTP Range); a server
that cannot starts over. Only names from the table are ever written, each by one rename, and only
after its checksum was computed.

A mirror, given by argument or by `RPSR_MIRROR`, is an http, https or file address under which lie
the public server's files, or the plain texts: the `classic` folder of another cache will do.

The public address is the one other projects' documentation gives. It could not be reached where
this was written, so neither that it answers nor that it serves the bytes of the table is known;
`NOT_CHECKED` says so to the user. If the bytes differ, the default is an error and nothing is kept;
`checksums="report"` keeps the file and warns.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

from rpsr.errors import InputError
from rpsr.io.checksums import CLASSICS, Classic, find, unpack
from rpsr.io.download import Missing, Server, Unreachable, server_at
from rpsr.io.files import write_whole

__all__ = ["CLASSICS", "NOT_CHECKED", "PUBLIC", "Classic", "cache_folder", "fetch"]

PUBLIC = "https://www.pomdp.org/examples/"
NOT_CHECKED = (
    f"not checked: {PUBLIC} could not be reached when rpsr was written, and the checksums are "
    "those of copies; if it does not answer, or serves other bytes, a mirror can be given"
)


def cache_folder() -> Path:
    """Where downloads are kept: `RPSR_CACHE`, or else the platform's folder for caches."""
    try:
        if chosen := os.environ.get("RPSR_CACHE"):
            return Path(chosen).expanduser()
        if sys.platform == "win32":
            local = os.environ.get("LOCALAPPDATA")
            return (Path(local) if local else Path.home() / "AppData" / "Local") / "rpsr"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "rpsr"
        xdg = os.environ.get("XDG_CACHE_HOME", "")
        return (Path(xdg) if os.path.isabs(xdg) else Path.home() / ".cache") / "rpsr"
    except RuntimeError:  # no home folder
        raise InputError("no home folder is known; set RPSR_CACHE to a folder") from None


def fetch(
    names: Sequence[str] | None = None,
    *,
    mirror: str | None = None,
    folder: Path | None = None,
    progress: Callable[[Classic, int], None] | None = None,
    checksums: Literal["require", "report"] = "require",
    warn: Callable[[str], None] = warnings.warn,
    table: Sequence[Classic] = CLASSICS,
) -> list[Path]:
    """Bring the named files (all, if none is named) into `folder`; their paths, in that order.

    `folder` is `classic` in `cache_folder()` unless given. `progress` is told the bytes received of
    a file, and its full size once it is in place. A file at fault does not keep the others from
    being fetched; a server at fault does. With `checksums="report"` a file whose checksum is wrong
    is kept, and `warn` is told.
    """
    asked = [names] if isinstance(names, str) else names
    wanted = list(table) if asked is None else [find(name, table) for name in asked]
    target = cache_folder() / "classic" if folder is None else Path(folder)
    server = server_at(mirror or os.environ.get("RPSR_MIRROR") or PUBLIC)
    cache = _Cache(target, server, progress or _silent, warn if checksums == "report" else None)
    faults: list[InputError] = []
    try:
        target.mkdir(parents=True, exist_ok=True)
        groups: dict[str, list[Classic]] = {}
        for classic in dict.fromkeys(wanted):
            if cache.holds(classic):
                cache.progress(classic, classic.size)
            else:
                groups.setdefault(classic.address, []).append(classic)
        for address, group in groups.items():
            room = sum(classic.room for classic in table if classic.address == address)
            faults += cache.bring(address, group, room)
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror or error}", place=str(target)
        ) from None
    if faults:
        more = f" (and {len(faults) - 1} more files are at fault)" if len(faults) > 1 else ""
        raise InputError(f"{faults[0]}{more}")
    return [target / classic.file for classic in wanted]


def _silent(classic: Classic, received: int) -> None:
    """Progress that nobody asked for."""


@dataclass(frozen=True)
class _Cache:
    folder: Path
    server: Server
    progress: Callable[[Classic, int], None]
    warn: Callable[[str], None] | None  # where wrong checksums are reported; None: they are errors

    def holds(self, classic: Classic) -> bool:
        """Whether the very bytes are here already."""
        path = self.folder / classic.file
        return path.is_file() and sha256(path.read_bytes()).hexdigest() == classic.sha256

    def bring(self, address: str, group: list[Classic], room: int) -> list[InputError]:
        """Fetch a file and put what it holds of `group` in place; one fault per file that failed.

        Where the server has no packed file, the plain ones are asked for.
        """
        try:
            return self._bring(address, group, room)
        except Unreachable:
            raise
        except Missing as missing:
            if address == group[0].file:
                return [missing]
            plain = [self.bring(classic.file, [classic], classic.room) for classic in group]
            return [missing if isinstance(e, Missing) else e for faults in plain for e in faults]
        except InputError as error:
            return [error] * len(group)

    def _bring(self, address: str, group: list[Classic], room: int) -> list[InputError]:
        part = self.folder / f"{address}.part"
        resumed = part.is_file()
        self.server.download(address, part, room, lambda n: self.progress(group[0], n))
        place = self.server.base + address
        try:
            texts = unpack(part.read_bytes(), place, group, room)
        except InputError as error:
            texts, faults = {}, dict.fromkeys(group, error)
        else:
            faults = {c: e for c in group if (e := _fault(c, texts.get(c.file), place))}
        if faults and resumed:  # the older bytes may be another server's
            part.unlink()
            return self._bring(address, group, room)
        for classic in group:
            fault, text = faults.get(classic), texts.get(classic.file)
            if fault and text is not None and self.warn:
                self.warn(f"{fault}; kept all the same")
                del faults[classic]
            elif fault or text is None:
                continue
            write_whole(self.folder / classic.file, lambda stream, text=text: stream.write(text))
            self.progress(classic, classic.size)
        part.unlink()
        return list(faults.values())


def _fault(classic: Classic, text: bytes | None, place: str) -> InputError | None:
    if text is None:
        return InputError(f"holds no {classic.file}", place=place)
    read = sha256(text).hexdigest()
    if read == classic.sha256:
        return None
    return InputError(f"{classic.file} has SHA-256 {read}, expected {classic.sha256}", place=place)
