"""Download the classic POMDP repository into a cache folder that the user can see and move.

A file counts as fetched if the SHA-256 of its text is the one in `checksums`; such files are
skipped, all others are downloaded again. The bytes of an unfinished download are kept in a `.part`
file, and the next try resumes there (HTTP Range) if the server supports it. Only names from the
table are ever written, each by one rename, and only after its checksum was computed.

A mirror, given by argument or by `RPSR_MIRROR`, is an http, https or file address that has the
public server's files or the plain texts, such as the `classic` folder of another cache.

The public address is the one in other projects' documentation. No network was available when this
was written, so it is not known whether the server answers or serves the bytes of the table;
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
from rpsr.io.classics.checksums import CLASSICS, Classic, find, unpack
from rpsr.io.classics.download import Missing, Server, Unreachable, server_at
from rpsr.io.files import write_whole

__all__ = ["CLASSICS", "NOT_CHECKED", "PUBLIC", "Classic", "cache_folder", "fetch"]

PUBLIC = "https://www.pomdp.org/examples/"
NOT_CHECKED = (
    f"rpsr was not tested with {PUBLIC}, and its checksums are those of copies; "
    "if the server does not answer or its files differ, use --mirror"
)


def cache_folder() -> Path:
    """The folder of downloads: `RPSR_CACHE` or the platform's cache folder."""
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
    """Download the named files (by default all) into `folder`; returns their paths, in that order.

    folder: by default `classic` in `cache_folder()`. progress: called with the bytes received of a
    file, and with its full size once it is in place. After an error in one file, the others are
    still fetched; an error of the server ends the download. With `checksums="report"` a file whose
    checksum is wrong is kept, and `warn` is called.
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
        more = f" (other files that failed: {len(faults) - 1})" if len(faults) > 1 else ""
        raise InputError(f"{faults[0]}{more}")
    return [target / classic.file for classic in wanted]


def _silent(classic: Classic, received: int) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class _Cache:
    folder: Path
    server: Server
    progress: Callable[[Classic, int], None]
    warn: Callable[[str], None] | None  # called on a wrong checksum; None makes it an error

    def holds(self, classic: Classic) -> bool:
        """Whether the file is in the folder with the right checksum."""
        path = self.folder / classic.file
        return path.is_file() and sha256(path.read_bytes()).hexdigest() == classic.sha256

    def bring(self, address: str, group: list[Classic], room: int) -> list[InputError]:
        """Download a file and put its members of `group` in place; one error per file that failed.

        If the server has no packed file, the plain ones are requested.
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
        if faults and resumed:  # the earlier bytes may be from another server
            part.unlink()
            return self._bring(address, group, room)
        for classic in group:
            fault, text = faults.get(classic), texts.get(classic.file)
            if fault and text is not None and self.warn:
                self.warn(f"{fault}; the file was kept")
                del faults[classic]
            elif fault or text is None:
                continue
            write_whole(self.folder / classic.file, lambda stream, text=text: stream.write(text))
            self.progress(classic, classic.size)
        part.unlink()
        return list(faults.values())


def _fault(classic: Classic, text: bytes | None, place: str) -> InputError | None:
    if text is None:
        message = f"the archive has no file {classic.file} of at most {classic.room} bytes"
        return InputError(message, place=place)
    read = sha256(text).hexdigest()
    if read == classic.sha256:
        return None
    return InputError(f"{classic.file} has SHA-256 {read}, expected {classic.sha256}", place=place)
