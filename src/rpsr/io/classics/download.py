"""Download one file from one server, resuming an earlier try.

The bytes received so far are in a `.part` file. An HTTP Range requests the rest; without support
for Range, the download starts over. No error message contains text from a server.
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
TRIES = 5  # connections per file, as long as each brings some bytes
CHUNK = 2**14


class Missing(InputError):
    """The server answers, but has no such file."""


class Unreachable(InputError):
    """The server fails: further requests to it are of no use."""


@dataclass(frozen=True)
class Server:
    """An http, https or file address, and the files below it."""

    base: str  # ends with a slash
    opener: request.OpenerDirector

    def download(self, address: str, part: Path, room: int, tell: Callable[[int], None]) -> None:
        """Complete the file `part`; reconnect as long as each connection brings some bytes."""
        reason: str | None = ""
        for _ in range(TRIES):
            before = _size(part)
            reason = self._receive(address, part, room, tell)
            if reason is None:
                return
            if _size(part) <= before:
                break
        kept = f"; the first {_size(part)} bytes are kept, and the next run resumes after them"
        raise Unreachable(f"{reason}{kept if _size(part) else ''}", place=self.base + address)

    def _receive(
        self, address: str, part: Path, room: int, tell: Callable[[int], None]
    ) -> str | None:
        """Append the bytes of one connection; the reason if they ended early, else None."""
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
        raise InputError(f"is larger than {room} bytes, the limit for this file", place=place)

    def _open(self, place: str, start: int) -> tuple[Any, int]:
        """A stream and its first byte: `start`, or 0 if the server has no support for Range."""
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
    """The server at an http, https or file address."""
    known = mirror.lower().startswith(("http://", "https://", "file:"))
    if not known or not mirror.isprintable() or " " in mirror:
        raise InputError(f"mirror {mirror!r}: expected an http://, https:// or file: address")
    return Server(mirror if mirror.endswith("/") else f"{mirror}/", _opener())


def _opener() -> request.OpenerDirector:
    """The opener of `urlopen` without ftp and data: redirections stay within http and https."""
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
    """The reason in one line, without text from a server."""
    if isinstance(error, TimeoutError) or isinstance(getattr(error, "reason", None), TimeoutError):
        return f"no answer for {TIMEOUT:g} seconds"
    if isinstance(error, (InvalidURL, ValueError, OverflowError)):
        return "is not a valid address"
    if isinstance(error, HTTPException):
        return f"the server's reply is not valid HTTP ({type(error).__name__})"
    return f"cannot be reached: {' '.join(str(getattr(error, 'reason', error)).split())}"
