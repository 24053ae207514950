"""A provider that records the bytes of each request and answers with scripted bytes.

It knows nothing about the APIs: it shows what passes the proxy unchanged.
"""

import hashlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

RECEIVED_MAX_BYTES = 1 << 16
TIMEOUT_S = 60.0

Answer = Callable[["Received", socket.socket], None]


@dataclass
class Received:
    """A request as it arrived."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def digest(self) -> str:
        """SHA-256 of the body."""
        return hashlib.sha256(self.body).hexdigest()

    def header(self, name: str) -> str | None:
        """The only header of this name; None if there is none."""
        found = [value for given, value in self.headers if given.lower() == name]
        assert len(found) <= 1, found
        return found[0] if found else None


@dataclass
class RawUpstream:
    """A running provider. `answer` writes the responses; `closed_early` counts clients that went away."""

    url: str
    answer: Answer = field(default=lambda received, connection: connection.sendall(response(b"{}")))
    received: list[Received] = field(default_factory=list)
    closed_early: int = 0


def response(
    body: bytes,
    status: str = "200 OK",
    headers: tuple[tuple[str, str], ...] = (),
    *,
    length: int | None = None,
) -> bytes:
    """A response with a length; `length` may be more than the body has."""
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers)]
    lines.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chunk(data: bytes) -> bytes:
    """A piece of a chunked body; empty data ends it."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


CHUNKED_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nrequest-id: req_1\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


@contextmanager
def raw_upstream() -> Iterator[RawUpstream]:
    """A provider on a loopback port; each connection has a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        running = RawUpstream(f"http://127.0.0.1:{listening.getsockname()[1]}")
        accepting = threading.Thread(target=_accept, args=(listening, running), daemon=True)
        accepting.start()
        yield running
        listening.shutdown(socket.SHUT_RDWR)
    accepting.join(TIMEOUT_S)


def _accept(listening: socket.socket, running: RawUpstream) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        threading.Thread(target=_serve, args=(connection, running), daemon=True).start()


def _serve(connection: socket.socket, running: RawUpstream) -> None:
    with connection, connection.makefile("rb") as stream:
        try:
            while (received := _read(stream)) is not None:
                running.received.append(received)
                running.answer(received, connection)
        except OSError:
            running.closed_early += 1


def _read(stream) -> Received | None:  # type: ignore[no-untyped-def] # a file of bytes
    first = stream.readline()
    if not first:
        return None
    method, target, _ = first.decode("latin-1").split()
    headers = []
    while (line := stream.readline()) not in (b"\r\n", b""):
        name, _, value = line.decode("latin-1").partition(":")
        headers.append((name, value.strip()))
    return Received(method, target, headers, _body(stream, {name.lower(): value for name, value in headers}))


def _body(stream, headers: dict[str, str]) -> bytes:  # type: ignore[no-untyped-def] # a file of bytes
    if headers.get("transfer-encoding") != "chunked":
        body: bytes = stream.read(int(headers.get("content-length", "0")))
        return body
    pieces = []
    while size := int(stream.readline(), 16):
        pieces.append(stream.read(size))
        stream.readline()
    stream.readline()
    return b"".join(pieces)
