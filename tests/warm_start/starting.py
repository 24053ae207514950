"""Starts the commands and examples of tests as forks of a process that has imported Mnemic already.

Such a process costs 0.1 s of CPU time instead of more than 1 s. It is no new interpreter: tests of the
interpreter's own settings (encodings, warnings while importing), of the installed program and of processes
that are killed in an instant start a real one.
"""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parents[2]
CLIENT = Path(__file__).with_name("client.py")


@dataclass(frozen=True)
class WarmStart:
    """The way to start processes, while the server runs."""

    socket: Path

    @property
    def mnemic(self) -> str:
        """A program that behaves like `mnemic`."""
        return str(self.socket.with_name("mnemic"))

    def example(self, code: str) -> list[str]:
        """The command that runs Python code, with warnings as errors."""
        return [*self._command(), "-c", code]

    def module(self, name: str, *arguments: str) -> list[str]:
        """The command that runs a module as `python -m` does."""
        return [*self._command(), "-m", name, *arguments]

    @classmethod
    @contextmanager
    def running(cls, folder: Path) -> Iterator[Self]:
        """Run the server in a new folder."""
        folder.mkdir()
        started = cls(folder / "socket")
        program = folder / "mnemic"
        program.write_text(f'#!/bin/sh\nexec {shlex.join(started._command())} mnemic "$@"\n')
        program.chmod(0o700)
        command = [sys.executable, "-m", "tests.warm_start.server", str(started.socket)]
        with subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            try:
                assert process.stdout.readline() == "ready\n"
                yield started
            finally:
                process.terminate()

    def _command(self) -> list[str]:
        return [sys.executable, "-I", "-S", str(CLIENT), str(self.socket)]
