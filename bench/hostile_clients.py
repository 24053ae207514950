"""Hostile clients of a server, each of another kind, with a valid key each, of a tenant of their own.

A client repeats its attack until it is cancelled, and counts what it sent. It stays on loopback and holds
one connection, or as many as its attack is about (`STREAMS`, `IDLE_CONNECTIONS`).
"""

import asyncio
import gzip
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from urllib.parse import urlsplit

import httpx

REFUSED_PAUSE_S = 0.05
"""Pause after a refusal: a client in the same Python process must not measure itself."""
TIMEOUT_S = 30.0
STREAMS = 250
IDLE_CONNECTIONS = 200
BOMB_BYTES = 128 * 1024**2
HEADING_BYTES = 300 * 1024
HTML_BYTES = 80 * 1024
LINE_BYTES = 64 * 1024**2


@dataclass
class Hostile:
    """What the attacks need, and what they counted: attempts by attack and status."""

    url: str
    key: str
    client: httpx.AsyncClient
    outcomes: Counter[str] = field(default_factory=Counter)
    numbers: Iterator[int] = field(default_factory=count)
    is_stopped: bool = False

    @property
    def headers(self) -> dict[str, str]:
        """The key of the hostile tenant."""
        return {"Authorization": f"Bearer {self.key}"}

    def note(self, attack: str, outcome: object) -> None:
        """Count an attempt."""
        self.outcomes[f"{attack}: {outcome}"] += 1


Attack = Callable[[Hostile], Awaitable[None]]


async def repeat(attack: Attack, hostile: Hostile) -> None:
    """Repeat an attack until stopped and cancelled; whatever the server does to it is counted."""
    while not hostile.is_stopped:
        try:
            await attack(hostile)
        except (httpx.HTTPError, OSError) as error:
            hostile.note(attack.__name__, type(error).__name__)
        await asyncio.sleep(REFUSED_PAUSE_S)


async def stalled_body(hostile: Hostile) -> None:
    """Announce a body and never send it, to the API and to the MCP server in turns."""
    path = ("/v1/memories", "/mcp")[next(hostile.numbers) % 2]
    reader, writer = await _connect(hostile)
    try:
        writer.write(_request(hostile, f"POST {path}", body_bytes=100_000) + b"{")
        line = await asyncio.wait_for(reader.readline(), TIMEOUT_S)
        hostile.note(f"stalled_body {path}", line.decode(errors="replace").strip())
    finally:
        writer.close()


async def trickled_headers(hostile: Hostile) -> None:
    """Send headers byte by byte, on many connections."""
    writers = [await _connect(hostile) for _ in range(IDLE_CONNECTIONS)]
    try:
        for letter in "GET /v1/memories HTTP/1.1\r\nHost: x\r\nX-Slow: " + "a" * 60:
            for _, writer in writers:
                if not writer.is_closing():
                    writer.write(letter.encode())
            await asyncio.sleep(1)
        hostile.note("trickled_headers", "sent")
    finally:
        for _, writer in writers:
            writer.close()


async def gzip_bomb(hostile: Hostile) -> None:
    """A batch that unpacks to a thousand times its size."""
    await _post_packed(hostile, "gzip_bomb", BOMB)


async def endless_line(hostile: Hostile) -> None:
    """A batch of one line."""
    await _post_packed(hostile, "endless_line", ENDLESS_LINE)


async def markdown_heading(hostile: Hostile) -> None:
    """A document whose heading is long."""
    await _ingest(hostile, "markdown_heading", "#" + " a" * (HEADING_BYTES // 2) + "#", "text/markdown")


async def nested_html(hostile: Hostile) -> None:
    """A document of opening tags."""
    await _ingest(hostile, "nested_html", "<div><p" * (HTML_BYTES // 7), "text/html")


async def deep_json(hostile: Hostile) -> None:
    """A body of brackets."""
    body = b"[" * 200_000
    answer = await hostile.client.post(
        "/v1/memories", content=body, headers={**hostile.headers, "Content-Type": "application/json"}
    )
    hostile.note("deep_json", answer.status_code)


async def flood_of_recalls(hostile: Hostile) -> None:
    """Recalls with long questions, as fast as the server answers."""
    question = f"who said what to whom about {next(hostile.numbers)} " * 50
    answer = await hostile.client.post(
        "/v1/recall", json={"query": question, "owner": "h"}, headers=hostile.headers
    )
    hostile.note("flood_of_recalls", answer.status_code)


async def flood_of_wrong_keys(hostile: Hostile) -> None:
    """Calls with another wrong key each."""
    wrong = {"Authorization": f"Bearer {hostile.key[:-6]}{next(hostile.numbers):06}"}
    answer = await hostile.client.get("/v1/memories", headers=wrong)
    hostile.note("flood_of_wrong_keys", answer.status_code)


async def all_streams(hostile: Hostile) -> None:
    """Open every stream of events, and read none."""
    opened = []
    try:
        for _ in range(STREAMS):
            reader, writer = await _connect(hostile)
            opened.append(writer)
            writer.write(_request(hostile, "GET /v1/events/stream", body_bytes=None))
            line = await asyncio.wait_for(reader.readline(), TIMEOUT_S)
            hostile.note("all_streams", line.decode(errors="replace").strip())
        await asyncio.sleep(TIMEOUT_S)
    finally:
        for writer in opened:
            writer.close()


ATTACKS: tuple[Attack, ...] = (
    stalled_body,
    trickled_headers,
    gzip_bomb,
    endless_line,
    markdown_heading,
    nested_html,
    deep_json,
    flood_of_recalls,
    flood_of_wrong_keys,
    all_streams,
)

BOMB = gzip.compress((json.dumps({"content": "x"}) + "\n").encode() + b"\n" * BOMB_BYTES, compresslevel=9)
ENDLESS_LINE = gzip.compress(b'{"content": "' + b"x" * LINE_BYTES, compresslevel=9)


async def _post_packed(hostile: Hostile, attack: str, packed: bytes) -> None:
    headers = {**hostile.headers, "Content-Type": "application/x-ndjson", "Content-Encoding": "gzip"}
    answer = await hostile.client.post("/v1/memories/batch?owner=h", content=packed, headers=headers)
    hostile.note(attack, answer.status_code)


async def _ingest(hostile: Hostile, attack: str, content: str, media_type: str) -> None:
    answer = await hostile.client.post(
        f"/v1/documents/{attack}-{next(hostile.numbers)}/ingest",
        json={"content": content, "media_type": media_type, "owner": "h"},
        headers=hostile.headers,
    )
    hostile.note(attack, answer.status_code)


def _request(hostile: Hostile, what: str, *, body_bytes: int | None) -> bytes:
    lines = [
        f"{what} HTTP/1.1",
        f"Host: {urlsplit(hostile.url).netloc}",
        f"Authorization: Bearer {hostile.key}",
    ]
    if body_bytes is not None:
        lines += ["Content-Type: application/json", "Accept: application/json, text/event-stream"]
        lines += [f"Content-Length: {body_bytes}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def _connect(hostile: Hostile) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    place = urlsplit(hostile.url)

    return await asyncio.open_connection(place.hostname, place.port)
