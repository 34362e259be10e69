"""One file from one server, continued where an earlier try stopped.

What has arrived is in a `.part` file; the rest is asked for with an HTTP Range, and a server that
cannot do that starts over. Nothing that a server writes reaches an error message.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException, InvalidURL
from pathlib import Path
from typing import Any
from urllib import request
from urllib.error import HTTPError

from rpsr.errors import InputError

TIMEOUT = 30.0  # seconds without an answer
TRIES = 5  # connections per file, as long as each brings something
CHUNK = 2**14


class Missing(InputError):
    """The server answers, but has no such file."""


class Unreachable(InputError):
    """The server is at fault: asking it for the next file is no use."""


@dataclass(frozen=True)
class Server:
    """An http, https or file address below which files lie."""

    base: str  # ends with a slash
    opener: request.OpenerDirector

    def download(self, address: str, part: Path, room: int, tell: Callable[[int], None]) -> None:
        """Fill `part`, continuing what is there; a cut connection is tried again while it helps."""
        reason: str | None = ""
        for _ in range(TRIES):
            before = _size(part)
            reason = self._receive(address, part, room, tell)
            if reason is None:
                return
            if _size(part) <= before:
                break
        kept = f"; {_size(part)} bytes are kept, and the next run continues there"
        raise Unreachable(f"{reason}{kept if _size(part) else ''}", place=self.base + address)

    def _receive(
        self, address: str, part: Path, room: int, tell: Callable[[int], None]
    ) -> str | None:
        """One connection's bytes, appended; why they ended early, or None if they did not."""
        place = self.base + address
        reply, total = self._open(place, _size(part))
        with reply, part.open("ab" if total else "wb") as stream:
            expected = _whole_size(reply, total)
            while total <= room and (expected or 0) <= room:
                try:
                    chunk = reply.read(CHUNK)
                except (OSError, HTTPException) as error:
                    return _reason(error)
                if not chunk:
                    cut = expected is not None and total < expected
                    return "the connection was closed" if cut else None
                stream.write(chunk)
                total += len(chunk)
                tell(total)
        part.unlink()
        raise InputError(f"is larger than the {room} bytes that are accepted", place=place)

    def _open(self, place: str, start: int) -> tuple[Any, int]:
        """The file from byte `start` on; from 0 if the server cannot, as the number says."""
        headers = {"User-Agent": "rpsr"} | ({"Range": f"bytes={start}-"} if start else {})
        try:
            query = request.Request(place, headers=headers)
            reply = self.opener.open(query, timeout=TIMEOUT)
        except HTTPError as error:
            error.close()
            if error.code == 416 and start:
                return self._open(place, 0)
            kind = Missing if error.code in (403, 404, 410) else Unreachable
            raise kind(f"the server answers HTTP {error.code}", place=place) from None
        except (OSError, HTTPException, ValueError, OverflowError) as error:
            missing = isinstance(getattr(error, "reason", None), FileNotFoundError)
            raise (Missing if missing else Unreachable)(_reason(error), place=place) from None
        if getattr(reply, "status", None) != 206 or not start:
            return reply, 0
        if str(reply.headers["Content-Range"]).startswith(f"bytes {start}-"):
            return reply, start
        reply.close()
        return self._open(place, 0)


def server_at(mirror: str) -> Server:
    """The server at an address, which must be of a kind that can be asked."""
    known = mirror.lower().startswith(("http://", "https://", "file:"))
    if not known or not mirror.isprintable() or " " in mirror:
        raise InputError(f"mirror {mirror!r}: expected an http://, https:// or file: address")
    return Server(mirror if mirror.endswith("/") else f"{mirror}/", _opener())


def _opener() -> request.OpenerDirector:
    """What `urlopen` uses, less ftp and data: a redirection may not leave http and https."""
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler,
        request.UnknownHandler,
        request.HTTPHandler,
        request.HTTPSHandler,
        request.FileHandler,
        request.HTTPDefaultErrorHandler,
        request.HTTPRedirectHandler,
        request.HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
    return opener


def _size(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0


def _whole_size(reply: Any, start: int) -> int | None:
    try:
        return start + int(reply.headers["Content-Length"])
    except (TypeError, ValueError):
        return None


def _reason(error: Exception) -> str:
    """One line, with nothing in it that a server wrote."""
    if isinstance(error, TimeoutError) or isinstance(getattr(error, "reason", None), TimeoutError):
        return f"no answer for {TIMEOUT:g} seconds"
    if isinstance(error, (InvalidURL, ValueError, OverflowError)):
        return "is not an address that can be asked"
    if isinstance(error, HTTPException):
        return f"not a sound HTTP answer ({type(error).__name__})"
    return f"cannot be reached: {' '.join(str(getattr(error, 'reason', error)).split())}"
