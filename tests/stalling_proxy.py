"""A TCP proxy that can stop forwarding while both sides stay connected, like a network that loses packets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tests.waiting import wait_for

CHUNK_BYTES = 64 * 1024


class StallingProxy:
    """Forwards bytes to a port of this machine, unless it is stalled.

    Stalled, it accepts connections and forwards nothing, in both directions; `resume` forwards what was
    held back.
    """

    def __init__(self, target_port: int) -> None:
        self.port = 0
        self._target_port = target_port
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._open: set[asyncio.StreamWriter] = set()

    def stall(self) -> None:
        self._flowing.clear()

    def resume(self) -> None:
        self._flowing.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until either side closes it."""
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target_port)
        except OSError:
            writer.transport.abort()
            return
        ways = [self._forward(reader, far_writer), self._forward(far_reader, writer)]
        tasks = {asyncio.create_task(way) for way in ways}
        self._open |= {writer, far_writer}
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        for end in (writer, far_writer):
            end.transport.abort()
        self._open -= {writer, far_writer}

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while part := await reader.read(CHUNK_BYTES):
                await self._flowing.wait()
                writer.write(part)
                await writer.drain()

    async def end(self) -> None:
        """Close all connections."""
        for writer in self._open:
            writer.transport.abort()
        await wait_for(lambda: not self._open, what="the proxy's connections to end")


@asynccontextmanager
async def stalling_proxy(target_port: int) -> AsyncIterator[StallingProxy]:
    """A running proxy."""
    proxy = StallingProxy(target_port)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    async with server:
        proxy.port = server.sockets[0].getsockname()[1]
        try:
            yield proxy
        finally:
            proxy.resume()
            await proxy.end()
