"""`mnemic serve` in another process, and keys for it."""

import json
import os
import subprocess
import sys
from pathlib import Path

START_TIMEOUT_S = 60.0
MNEMIC = str(Path(sys.executable).with_name("mnemic"))


class ServerProcess:
    """`mnemic serve` on a loopback port; entering returns its URL. `settings` are environment variables."""

    def __init__(self, data_dir: Path, *, worker: bool = True, **settings: str) -> None:
        command = [MNEMIC, "serve", "--port", "0", "--json", "--data-dir", str(data_dir)]
        command += [] if worker else ["--no-worker"]
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **settings},
        )

    def __enter__(self) -> str:
        assert self._process.stdout is not None
        output = ""
        while not output.endswith("}\n"):
            line = self._process.stdout.readline()
            if not line:
                raise RuntimeError("the server did not start")
            output += line
        return str(json.loads(output)["url"])

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        assert self._process.wait(START_TIMEOUT_S) == 0, "the server exits with 0 after SIGTERM"

    @property
    def pid(self) -> int:
        """The process that serves."""
        return self._process.pid


def create_key(data_dir: Path, *, tenant: str = "default", role: str = "write") -> str:
    """A key of a tenant."""
    options = ["--role", role, "--tenant", tenant, "--data-dir", str(data_dir)]
    done = subprocess.run([MNEMIC, "keys", "create", *options], capture_output=True, text=True, check=True)
    return done.stdout.strip()
