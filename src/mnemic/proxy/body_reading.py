"""Reads the bodies of requests: what a body repeats is taken from what was kept of an earlier one."""

import asyncio
from collections.abc import Callable, Sequence

from mnemic.proxy.callers import ProxyCaller
from mnemic.proxy.client_request import ClientRequest
from mnemic.proxy.grown_bodies import (
    QUICK_MAX_BYTES,
    ClientKey,
    KeptBodies,
    KeptBody,
    ReadBody,
    keep,
    read_grown,
    read_whole,
)
from mnemic.proxy.headers import first
from mnemic.proxy.open_sessions import SessionName
from mnemic.proxy.protocol import Api
from mnemic.proxy.request_bodies import decompressed
from mnemic.proxy.sessions import client_digest

KEPT_MIN_BYTES = 16 * 1024
"""A smaller body is parsed in no time."""


class BodyReading:
    """Reads bodies, and keeps what later ones may repeat."""

    def __init__(self, *, max_bytes: int) -> None:
        """`max_bytes` of a body when it is decompressed."""
        self._max_bytes = max_bytes
        self._kept = KeptBodies()

    def expected_session(self, client: ClientKey) -> SessionName | None:
        """The session to which the next request of a client probably belongs."""
        return next((kept.session for kept in self._kept.of(client)), None)

    async def read(
        self,
        request: ClientRequest,
        api: Api,
        client: ClientKey,
        raw: bytes,
        *,
        on_text: Callable[[int], None],
    ) -> ReadBody:
        """Read a body; `Unsure` if the proxy must not touch it.

        `on_text` may refuse the size of a body that was decompressed.
        """
        encoding = first(request.headers, b"content-encoding")
        kept = self._kept.of(client)
        if not encoding:
            read = _read_repeating(api, raw, kept, added_max_bytes=QUICK_MAX_BYTES)
            if read is not None:
                return read
        text = raw
        if encoding:
            text = await asyncio.to_thread(decompressed, raw, encoding, max_bytes=self._max_bytes)
            on_text(0 if text is raw else len(text))
        return await asyncio.to_thread(_read, api, text, kept)

    async def keep(self, api: Api, client: ClientKey, read: ReadBody, session: SessionName) -> None:
        """Keep a body that was answered."""
        if len(read.text) < KEPT_MIN_BYTES:
            return
        kept = await asyncio.to_thread(keep, api, read, session)
        if kept is not None:
            self._kept.add(client, kept)


def client_key(request: ClientRequest, api: Api, caller: ProxyCaller) -> ClientKey:
    """Whose bodies the body of a request may repeat."""
    return ClientKey(caller.tenant, caller.owner, api.name, client_digest(request.header_values))


def _read(api: Api, text: bytes, kept: Sequence[KeptBody]) -> ReadBody:
    return _read_repeating(api, text, kept, added_max_bytes=len(text)) or read_whole(api, text)


def _read_repeating(
    api: Api, text: bytes, kept: Sequence[KeptBody], *, added_max_bytes: int
) -> ReadBody | None:
    """Read a body that repeats a kept one and adds at most so much; None if it does not."""
    for each in kept:
        added = each.added(text)
        if added is not None and len(added) <= added_max_bytes:
            read = read_grown(api, text, each, added)
            if read is not None:
                return read
    return None
