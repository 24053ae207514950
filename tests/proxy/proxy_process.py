"""`mnemic proxy` as a process of its own, which a test may kill."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MAIN = "from mnemic.cli.app import main; main()"
START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 60.0


class ProxyProcess:
    """A running proxy. Its log is in a file."""

    def __init__(
        self, folder: Path, provider: str, log: Path, *, command: str = "proxy", **environment: str
    ) -> None:
        self.log = log
        with log.open("a") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-c", MAIN, command, "--port", "0", "--json", "--no-worker"],
                env={
                    **os.environ,
                    "MNEMIC_DATA_DIR": str(folder),
                    "MNEMIC_EMBEDDER": "test",
                    "MNEMIC_PROXY_ANTHROPIC_URL": provider,
                    "MNEMIC_PROXY_OPENAI_URL": provider,
                    "MNEMIC_PROXY_OPENING_TOKENS": "0",
                    **environment,
                },
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        self.url = self._address()

    def end(self, number: signal.Signals) -> None:
        """Send a signal, and wait for the end."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _address(self) -> str:
        assert self._process.stdout is not None
        # A proxy that does not start is killed, so that reading ends.
        watch = threading.Timer(START_TIMEOUT_S, self._process.kill)
        watch.start()
        text = ""
        try:
            while "}" not in text:
                line = self._process.stdout.readline()
                assert line, self.log.read_text()
                text += line
        finally:
            watch.cancel()
        return str(json.loads(text)["url"])


@contextmanager
def proxy_process(
    folder: Path, provider: str, log: Path, *, command: str = "proxy", **environment: str
) -> Iterator[ProxyProcess]:
    """A proxy in front of a provider, or a server with one, ended at the end of the block."""
    running = ProxyProcess(folder, provider, log, command=command, **environment)
    try:
        yield running
    finally:
        running.end(signal.SIGTERM)
