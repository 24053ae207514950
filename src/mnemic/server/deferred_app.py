"""An ASGI app that is built when its first request comes, so that a server need not wait for it to start."""

import asyncio
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send


class DeferredApp:
    """*Unbuilt* → (first request) *building*, in a thread → *built*. A failed build is tried again."""

    def __init__(self, build: Callable[[], ASGIApp]) -> None:
        self._build = build
        self._app: ASGIApp | None = None
        self._building = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; the first ones wait until the app is built."""
        app = self._app or await self._built()
        await app(scope, receive, send)

    async def _built(self) -> ASGIApp:
        async with self._building:
            if self._app is None:
                self._app = await asyncio.to_thread(self._build)
            return self._app
