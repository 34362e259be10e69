"""A server on this machine that holds made-up files, for the tests of downloading."""

from __future__ import annotations

import gzip
import io
import tarfile
import threading
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from rpsr.io.classics.fetch import Classic

TEXTS = {
    "one": b"discount: 0.5\n" * 40,
    "two.95": b"values: reward\n" * 4000,
    "packed": b"states: 3\n" * 9000,
    "set-1": b"T: * identity\n",
    "set-2": b"O: * uniform\n" * 7,
}
PACKED = {"packed": "packed.POMDP.gz", "set-1": "set.tar.gz", "set-2": "set.tar.gz"}


def entry(name: str, text: bytes) -> Classic:
    digest = sha256(text).hexdigest()
    return Classic(name, f"{name}.POMDP", digest, len(text), PACKED.get(name))


TABLE = tuple(entry(name, text) for name, text in TEXTS.items())


def tar_of(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, text in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return stream.getvalue()


def site() -> dict[str, bytes]:
    """What the public server holds: two plain files, a gzipped one, an archive of two."""
    return {
        "one.POMDP": TEXTS["one"],
        "two.95.POMDP": TEXTS["two.95"],
        "packed.POMDP.gz": gzip.compress(TEXTS["packed"]),
        "set.tar.gz": tar_of(
            {
                "README": b"?",
                "ejs/set-1.POMDP": TEXTS["set-1"],
                "../../set-2.POMDP": TEXTS["set-2"],
            }
        ),
    }


class Server(ThreadingHTTPServer):
    """Serves `files`; `cuts` says after how many bytes the next answers break off."""

    daemon_threads = True

    def __init__(self) -> None:
        self.files = site()
        self.ranges = True
        self.cuts: list[int] = []
        self.stall: threading.Event | None = None  # a cut answer waits for it before it closes
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.asked: list[tuple[str, str | None]] = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/examples"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server = self.server
        name = self.path.removeprefix("/examples/")
        asked = self.headers["Range"]
        server.asked.append((name, asked))
        body = server.files.get(name)
        if server.status or body is None:
            self.send_response(server.status or 404)
            self.send_header("Content-Length", "0")
            for key, value in server.headers.items():
                self.send_header(key, value)
            self.end_headers()
            return
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        if asked and server.ranges and start >= len(body):
            self.send_error(416)
            return
        if asked and server.ranges:
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            body = body[start:]
        else:
            self.send_response(200)
        headers = {"Content-Length": str(len(body)), **server.headers}
        for key, value in headers.items():
            if value:
                self.send_header(key, value)
        self.end_headers()
        cut = server.cuts.pop(0) if server.cuts else len(body)
        self.wfile.write(body[:cut])
        if server.stall and cut < len(body):
            self.wfile.flush()
            server.stall.wait(5)

    def log_message(self, *args: object) -> None:
        """Silent."""


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
