"""A receiver of webhooks: a real HTTP server on a loopback port, which answers as it is told."""

import base64
import hmac
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CERTIFICATE = Path(__file__).with_name("receiver.pem")
"""Of receiver.example, signed by itself, with its key; made for these tests."""


class Received:
    """One request."""

    def __init__(self, path: str, headers: dict[str, str], body: bytes) -> None:
        self.path = path
        self.headers = headers
        self.body = body

    @property
    def message(self) -> dict[str, Any]:
        return json.loads(self.body)  # type: ignore[no-any-return]

    def is_signed_with(self, secret: str) -> bool:
        """What a receiver does, by the words of the specification."""
        key = base64.b64decode(secret.removeprefix("whsec_"))
        content = b".".join(
            [self.headers["webhook-id"].encode(), self.headers["webhook-timestamp"].encode(), self.body]
        )
        expected = base64.b64encode(hmac.new(key, content, sha256).digest()).decode()
        return f"v1,{expected}" in self.headers["webhook-signature"].split(" ")


class Receiver:
    """What was received, and what is answered: `statuses` one after the other, then 204."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.statuses: list[int] = []
        self.location = ""
        self.holding: threading.Event | None = None
        self.url = ""

    def take(self, request: Received) -> int:
        self.received.append(request)
        if self.holding is not None:
            self.holding.wait(timeout=30)
        return self.statuses.pop(0) if self.statuses else 204


@contextmanager
def receiving(*, tls: bool = False) -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status = receiver.take(Received(self.path, headers, body))
            self.send_response(status)
            if receiver.location:
                self.send_header("location", receiver.location)
            self.end_headers()

        def do_GET(self) -> None:
            receiver.received.append(Received(self.path, {}, b""))

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    receiver.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        if receiver.holding is not None:
            receiver.holding.set()
        server.shutdown()
        server.server_close()
        thread.join()
