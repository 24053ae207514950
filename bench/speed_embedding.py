"""One embedder for all stores, a service on a socket in this process, so that it costs each search the same.

Other stores run in their own environments, without Mnemic's model. The service costs each of them, and Mnemic
here, a round trip over a Unix socket, a few tenths of a millisecond.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, Listener
from pathlib import Path

from mnemic.models.engine import EmbeddingEngine


@contextmanager
def embedding_service(engine: EmbeddingEngine, socket: Path) -> Iterator[str]:
    """Embed queries for any number of clients; yields the address of the socket."""
    with Listener(str(socket), family="AF_UNIX") as listener:
        threading.Thread(target=_accept, args=(listener, engine), daemon=True).start()
        yield str(socket)


def _accept(listener: Listener, engine: EmbeddingEngine) -> None:
    # Closing the listener ends the loop.
    with suppress(OSError):
        while True:
            connection = listener.accept()
            threading.Thread(target=_serve, args=(connection, engine), daemon=True).start()


def _serve(connection: "Connection[bytes, bytes]", engine: EmbeddingEngine) -> None:
    with connection, asyncio.Runner() as runner, suppress(EOFError, OSError):
        while True:
            text = connection.recv_bytes().decode()
            vectors = runner.run(engine.embed([text], input_type="query"))
            connection.send_bytes(vectors.tobytes())
