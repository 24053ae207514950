"""First paint of a page in Chromium, beside the same page as a file of a static server.

The static server holds the HTML, the style, the scripts, the font and the icons of the page in main memory
and sends them compressed as the dashboard does: it is the least that a page of this size can cost.
"""

import asyncio
import gzip
import os
import re
import statistics
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn

PROGRAMS = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
OPTIONS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
ADDRESSES = re.compile(r'(?:href|src)="(/ui/static/[^"#]+)')
PAINT_TIMEOUT_MS = 20_000
PAUSE_MS = 20
COMPRESSED_MIN_BYTES = 1_000


@dataclass(frozen=True)
class Paint:
    """Median times to the first contentful paint, in milliseconds."""

    page_ms: float
    static_ms: float

    @property
    def ratio(self) -> float:
        """How much longer the page of the dashboard takes."""
        return self.page_ms / self.static_ms


def find_browser() -> str | None:
    """The installed browser, or None."""
    candidates = (os.environ.get("MNEMIC_TEST_BROWSER", ""), *PROGRAMS)
    return next((program for program in candidates if program and Path(program).exists()), None)


def measure_paint(client: httpx.Client, address: str, program: str, *, rounds: int) -> Paint:
    """Load the page and its static copy in turns, each with an empty cache."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 (of the dev group)

    with _static_copy(client, address) as copy_url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(OPTIONS))
        cookies: list[Any] = [
            {"name": cookie.name, "value": cookie.value, "url": str(client.base_url)}
            for cookie in client.cookies.jar
        ]
        times: dict[str, list[float]] = {str(client.base_url.join(address)): [], copy_url: []}
        for number in range(rounds + 1):
            urls = list(times)
            for url in urls if number % 2 else reversed(urls):
                context = browser.new_context()
                context.add_cookies(cookies)
                page = context.new_page()
                page.goto(url)
                painted_ms = _first_paint_ms(page)
                if number:  # The first round warms the browser up.
                    times[url].append(painted_ms)
                context.close()
        browser.close()
    page_ms, static_ms = (statistics.median(each) for each in times.values())
    return Paint(page_ms, static_ms)


def _first_paint_ms(page: Any) -> float:
    """When the page was first painted. Asked by the debugger, since its policy forbids `eval`."""
    for _ in range(PAINT_TIMEOUT_MS // PAUSE_MS):
        painted_ms = page.evaluate(FIRST_PAINT)
        if painted_ms is not None:
            return float(painted_ms)
        page.wait_for_timeout(PAUSE_MS)
    raise TimeoutError("The page was not painted.")


@contextmanager
def _static_copy(client: httpx.Client, address: str) -> Iterator[str]:
    """Serve the page and its static files from memory; returns the URL of the copy."""
    html = client.get(address)
    files = {"/": (html.content, html.headers["content-type"])}
    style = ""
    for path in dict.fromkeys(ADDRESSES.findall(html.text)):
        found = client.get(path)
        files[path] = (found.content, found.headers["content-type"])
        style += found.text if path.endswith(".css") else ""
    sent = {
        path: (gzip.compress(body) if _is_text(kind, body) else body, kind, body)
        for path, (body, kind) in files.items()
    }

    async def app(scope: Mapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body, kind, plain = sent.get(scope["path"], (b"", "text/plain", b""))
        headers = [(b"content-type", kind.encode()), (b"cache-control", b"max-age=3600")]
        if body is not plain:
            headers.append((b"content-encoding", b"gzip"))
        await send({"type": "http.response.start", "status": 200 if plain else 404, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", lifespan="off"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.should_exit = True
        thread.join()


def _is_text(kind: str, body: bytes) -> bool:
    return len(body) >= COMPRESSED_MIN_BYTES and not kind.startswith("font/")
