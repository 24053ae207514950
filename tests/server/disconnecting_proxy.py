"""A TCP proxy that disconnects after some bytes and can switch to another target."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

CHUNK_BYTES = 256


class DisconnectingProxy:
    """Forwards bytes to `target`, which is read when a connection is opened.

    `life_bytes` says for each connection after how many bytes of the server's it is cut; None: never.
    """

    def __init__(self, target: str, life_bytes: Callable[[], int | None]) -> None:
        self.target = target
        self.cut_count = 0
        self._life_bytes = life_bytes
        self._open: set[asyncio.StreamWriter] = set()

    def cut(self) -> None:
        """Close all connections."""
        for writer in self._open:
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until it is closed."""
        place = urlsplit(self.target)
        try:
            far_reader, far_writer = await asyncio.open_connection(place.hostname, place.port)
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, far_writer}
        ways = [_passed_on(reader, far_writer, None), _passed_on(far_reader, writer, self._life_bytes())]
        tasks = [asyncio.ensure_future(way) for way in ways]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        self.cut_count += tasks[1].done() and tasks[1].result()
        for end in (writer, far_writer):
            end.transport.abort()
            self._open.discard(end)
        await asyncio.gather(*tasks)


async def _passed_on(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, life_bytes: int | None
) -> bool:
    """Whether all bytes were forwarded before the connection was closed."""
    try:
        while part := await reader.read(CHUNK_BYTES if life_bytes is None else min(CHUNK_BYTES, life_bytes)):
            writer.write(part)
            await writer.drain()
            if life_bytes is not None and (life_bytes := life_bytes - len(part)) <= 0:
                return True
    except OSError:
        pass
    return False


@asynccontextmanager
async def disconnecting_proxy(
    target: str, life_bytes: Callable[[], int | None] = lambda: None
) -> AsyncIterator[tuple[DisconnectingProxy, str]]:
    """A proxy and its URL."""
    proxy = DisconnectingProxy(target, life_bytes)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        try:
            yield proxy, f"http://127.0.0.1:{port}"
        finally:
            proxy.cut()
