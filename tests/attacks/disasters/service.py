"""`mnemic serve` as a service manager runs it: started again when it has died."""

import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from tests.free_port import free_port
from tests.waiting import wait_until

MNEMIC = str(Path(sys.executable).with_name("mnemic"))
RESTART_PAUSE_S = 0.3
STOP_TIMEOUT_S = 60.0


class Service:
    """States: running from `start` to `stop`, which may alternate; `close` stops it for good."""

    def __init__(self, settings: Mapping[str, str], log: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._environment = {**os.environ, **settings}
        self._log = log
        self._wanted = threading.Event()
        self._closed = threading.Event()
        # Held to start the process, and to say that none shall be started.
        self._starting = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._manager = threading.Thread(target=self._manage, daemon=True)
        self._manager.start()

    @property
    def pid(self) -> int | None:
        """The process that serves, or None between two."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def start(self) -> None:
        self._wanted.set()

    def stop(self) -> None:
        """Stop it, by force if a broken disk keeps it from ending."""
        with self._starting:
            self._wanted.clear()
        process = self._process
        if process is not None and process.poll() is None:
            process.kill()
        wait_until(lambda: self.pid is None, timeout_s=STOP_TIMEOUT_S, what="the service to stop")

    def close(self) -> None:
        self.stop()
        self._closed.set()
        self._wanted.set()
        self._manager.join(STOP_TIMEOUT_S)

    def _manage(self) -> None:
        command = [MNEMIC, "serve", "--port", str(self.port)]
        while True:
            self._wanted.wait()
            if self._closed.is_set():
                return
            with self._starting:
                if not self._wanted.is_set():
                    continue  # Stopped in between.
                with open(self._log, "ab") as log:
                    process = self._process = subprocess.Popen(
                        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._environment
                    )
            process.wait()
            self._closed.wait(RESTART_PAUSE_S)
