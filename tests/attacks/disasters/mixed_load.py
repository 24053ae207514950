"""Clients that write, read and ingest without end, repeat what failed, and note what was acknowledged.

A repetition carries the same idempotency key, so whatever happened in between, each text is stored once.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import httpx

from tests.server.running import TLS

CALL_TIMEOUT_S = 30.0
REPEAT_PAUSE_S = 0.1
BATCH_ITEMS = 20
WRITERS = 3
READERS = 2
JOIN_TIMEOUT_S = 120.0


class MixedLoad:
    """Runs from `start` to `stop`."""

    def __init__(self, url: str, key: str, name: str) -> None:
        self.acknowledged: set[str] = set()
        self.attempted: set[str] = set()
        self.documents: set[str] = set()
        self.failures: Counter[str] = Counter()
        self.recalled = 0
        self._url = url
        self._headers = {"Authorization": f"Bearer {key}"}
        self._name = name
        self._stopped = threading.Event()
        works: list[Callable[[str], None]] = [self._write] * WRITERS
        works += [self._write_batches, self._ingest, *[self._recall] * READERS]
        self._threads = [
            threading.Thread(target=work, args=(f"{name}-{number}",), daemon=True)
            for number, work in enumerate(works)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let every client finish the call it makes."""
        self._stopped.set()
        for thread in self._threads:
            thread.join(JOIN_TIMEOUT_S)
            assert not thread.is_alive(), "a client hangs"

    def has_acknowledged(self, texts: int) -> bool:
        """Whether at least so many texts are stored."""
        return len(self.acknowledged) >= texts

    def client(self) -> httpx.Client:
        # A context of its own takes longer to make than a call, on cores that the server needs to start.
        return httpx.Client(base_url=self._url, headers=self._headers, timeout=CALL_TIMEOUT_S, verify=TLS)

    def _write(self, who: str) -> None:
        with self.client() as client:
            for number in self._until_stopped():
                text = f"note {who} {number}"
                body = {"content": text, "owner": "o"}
                self._acknowledge(client, {text}, text, "/v1/memories", json=body)

    def _write_batches(self, who: str) -> None:
        with self.client() as client:
            for number in self._until_stopped():
                texts = [f"batched {who} {number} {item}" for item in range(BATCH_ITEMS)]
                lines = "".join(f'{{"content": "{text}"}}\n' for text in texts)
                headers = {"Content-Type": "application/x-ndjson"}
                path = "/v1/memories/batch?owner=o"
                self._acknowledge(client, set(texts), texts[0], path, content=lines, headers=headers)

    def _ingest(self, who: str) -> None:
        with self.client() as client:
            for number in self._until_stopped():
                name = f"{who}-{number}"
                body = {
                    "content": f"# Page {name}\n\nText of {name}.\n",
                    "media_type": "text/markdown",
                    "owner": "o",
                }
                if self._repeat(client, name, f"/v1/documents/{name}/ingest", json=body):
                    self.documents.add(name)

    def _recall(self, who: str) -> None:
        with self.client() as client:
            for number in self._until_stopped():
                if self._call(client, "/v1/recall", json={"query": f"note {who} {number}", "owner": "o"}):
                    self.recalled += 1
                else:
                    self._stopped.wait(REPEAT_PAUSE_S)

    def _until_stopped(self) -> Iterator[int]:
        for number in count():
            if self._stopped.is_set():
                return
            yield number

    def _acknowledge(
        self, client: httpx.Client, texts: set[str], key: str, path: str, **request: Any
    ) -> None:
        self.attempted |= texts
        if self._repeat(client, key, path, **request):
            self.acknowledged |= texts

    def _repeat(self, client: httpx.Client, key: str, path: str, **request: Any) -> bool:
        """Repeat a write until it is acknowledged or the load is stopped."""
        request["headers"] = {**request.get("headers", {}), "Idempotency-Key": key.replace(" ", "-")}
        while not self._call(client, path, **request):
            if self._stopped.wait(REPEAT_PAUSE_S):
                return False
        return True

    def _call(self, client: httpx.Client, path: str, **request: Any) -> bool:
        try:
            answer = client.post(path, **request)
        except httpx.HTTPError as error:
            self.failures[type(error).__name__] += 1
            return False
        if answer.is_success:
            return True
        self.failures[str(answer.status_code)] += 1
        assert answer.status_code in (409, 429, 500, 503, 504, 507), answer.text
        return False
