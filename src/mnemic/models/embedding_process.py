"""Embed many or long texts in a process that gives way to others, so that no caller of a server waits.

A server embeds what strangers send. In threads of the server itself, tokenising holds the GIL, and a thread
of low priority that is preempted while it holds the GIL stops the event loop. A process has a GIL and a
priority of its own (`mnemic.db.process_priority`).

The process is *not started* → *running*, from the first call on → *ended*, when it is closed, or when the
process that started it is gone: then its input ends. If it dies, the call fails, and the next call starts
another one. It works on one request at a time, of a few texts. Tenants take turns
(`mnemic.models.embedding.TextEmbedder.in_turns`).
"""

import json
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from mnemic.db.process_priority import give_way
from mnemic.db.started_threads import StartedThreads
from mnemic.errors import EmbeddingError
from mnemic.models.engine import FloatArray

REQUEST_MAX_TEXTS = 16
REQUEST_MAX_CHARACTERS = 4_000
"""Of all texts of a request but the last: about 0.1 s of a core. Others wait so long for their turn."""
END_TIMEOUT_S = 5.0

LENGTH = struct.Struct("<I")
"""Before each message: its length in bytes. Requests are JSON, answers are float32, rows in order."""
FAILED = 0xFFFFFFFF
"""In place of a length: the rest of the answer, with a length of its own, says why embedding failed."""

# Isolated (-I), without site (-S): no environment variable, user folder or .pth file counts.
_PROGRAM = "import sys; sys.path += sys.argv[1:]; import mnemic.models.embedding_child as c; c.main()"
_ROOT = str(Path(__file__).resolve().parents[2])


def parts_of(texts: Sequence[str]) -> list[list[str]]:
    """The texts in order, in requests."""
    parts: list[list[str]] = []
    characters = 0
    for text in texts:
        if not parts or len(parts[-1]) == REQUEST_MAX_TEXTS or characters >= REQUEST_MAX_CHARACTERS:
            parts.append([])
            characters = 0
        parts[-1].append(text)
        characters += len(text)
    return parts


class EmbeddingProcess:
    """The process and the thread that talks to it. Any number of tasks and event loops may use one."""

    def __init__(self, dimensions: int, environment: Mapping[str, str]) -> None:
        """`environment` is all that the process gets of this one's environment."""
        self.thread = StartedThreads(1, name="mnemic-embed-process")
        self._dimensions = dimensions
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._starting = threading.Lock()
        self._is_closed = False

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of one request (`parts_of`). Blocks: run it on `thread`."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            send(process.stdin, json.dumps(texts).encode())
            answer = receive(process.stdout)
        except (OSError, EOFError) as error:
            self._forget(process)
            raise EmbeddingError(
                "The process that embeds texts ended; the next call starts another."
            ) from error
        return np.frombuffer(answer, np.float32).reshape(len(texts), self._dimensions)

    def close(self) -> None:
        """End the process and the thread. A request in progress fails."""
        self.thread.shutdown(wait=False, cancel_futures=True)
        with self._starting:
            self._is_closed = True
            process, self._process = self._process, None
        if process is not None:
            _end(process)

    def _running(self) -> "subprocess.Popen[bytes]":
        with self._starting:
            if self._is_closed:
                raise EmbeddingError("The embedder is closed.")
            if self._process is None:
                self._process = _start(self._environment)
            return self._process

    def _forget(self, process: "subprocess.Popen[bytes]") -> None:
        with self._starting:
            if self._process is process:
                self._process = None
        _end(process)


def send(stream: IO[bytes], message: bytes) -> None:
    """Write a message with its length."""
    stream.write(LENGTH.pack(len(message)) + message)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """Read a message. EOFError at the end of the stream; EmbeddingError if the message is a failure."""
    (length,) = LENGTH.unpack(_exactly(stream, LENGTH.size))
    if length == FAILED:
        raise EmbeddingError(receive(stream).decode())
    return _exactly(stream, length)


def _exactly(stream: IO[bytes], length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


def _start(environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    # Relative entries would depend on the current folder.
    path = [_ROOT, *(entry for entry in sys.path if os.path.isabs(entry))]
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PROGRAM, *path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            # Ctrl-C is for this process, and `give_way` needs a session.
            start_new_session=True,
        )
    except OSError as error:
        raise EmbeddingError(f"The process that embeds texts cannot be started: {error.strerror}.") from error
    give_way(process.pid)
    return process


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Close its input, which ends it; kill it if it still works on a request."""
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        try:
            stream.close()
        except BrokenPipeError:
            continue  # It is gone already, and what was not written yet with it.
    try:
        process.wait(END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
