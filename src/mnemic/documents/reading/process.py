"""The process that reads or cuts one document, under limits of memory, CPU time and output.

`mnemic.documents.isolated_reading` starts it with a fresh interpreter, so it needs no `__main__` of ours. It
gets a `Request` as its argument and the document on standard input, and writes a header of one line to
standard output, then the result. It knows no secret, opens no file but modules of Python, and does not
outlive its parent: on Linux the kernel kills it, elsewhere a thread does, and everywhere the limit of CPU
time ends it. Imports here are few, since each document pays for them.
"""

import ctypes
import json
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import NoReturn

from mnemic.documents.reading.chunks import places_of
from mnemic.documents.reading.source import read_source
from mnemic.documents.reading.text import DocumentText, Section, storable
from mnemic.errors import ConfigurationError, InvalidInputError

CHUNKS_MAX = 100_000
"""Memories that one document may become; an ordinary one of 20 million characters has thirty thousand."""
OUTPUT_MAX_BYTES = 256 << 20
"""Text, headings and positions of a document: four bytes for each character, and as much again."""
MESSAGE_MAX_CHARACTERS = 1_000
TITLE_MAX_CHARACTERS = 1_000
MEMORY_EXIT_STATUS = 71
"""How the process says that its memory was not enough: there may be none left to say it otherwise."""
WATCH_EVERY_S = 0.2
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Request:
    """What to do: *read* a source, or *cut* a text, whose sections follow its first `text_bytes` bytes."""

    work: str
    parent: int
    cpu_s: int
    memory_bytes: int
    pages_max: int
    media_type: str = ""
    is_text: bool = False
    text_bytes: int = 0
    has_watcher: bool = sys.platform != "linux"
    """Whether a thread watches memory and parent, where the kernel cannot."""


def main(argument: str) -> None:
    """Do what the request says; errors are part of the output."""
    request = Request(**json.loads(argument))
    try:
        limit(request)
        source = sys.stdin.buffer.read()
        write(read(request, source) if request.work == "read" else cut(request, source))
    except MemoryError:
        os._exit(MEMORY_EXIT_STATUS)
    except (InvalidInputError, ConfigurationError) as error:
        write_error(type(error).__name__, str(error))
    except Exception as error:  # noqa: BLE001 - whatever a reader raises, the document cannot be read
        write_error("InvalidInputError", f"The document cannot be read: {type(error).__name__}: {error}.")


def read(request: Request, source: bytes) -> Iterator[bytes]:
    """The header, the text and its sections; it is also cut here, so that no job fails at it later."""
    content = source.decode(errors="surrogatepass") if request.is_text else source
    reading = read_source(content, request.media_type, pages_max=request.pages_max)
    for count, _ in enumerate(places_of(reading), start=1):
        check_chunk_count(count)
    text = reading.text.encode()
    title = storable(reading.title or "").strip()[:TITLE_MAX_CHARACTERS] or None
    yield json.dumps({"title": title, "text_bytes": len(text)}).encode() + b"\n"
    yield text
    yield dumped_sections(reading)


def cut(request: Request, source: bytes) -> Iterator[bytes]:
    """The header, and a line for each chunk: start, end, context, headings, page."""
    text, sections = source[: request.text_bytes].decode(), json.loads(source[request.text_bytes :])
    reading = DocumentText(
        text, tuple(Section(start, tuple(headings), *rest) for start, headings, *rest in sections)
    )
    yield b"{}\n"
    for count, place in enumerate(places_of(reading), start=1):
        check_chunk_count(count)
        yield json.dumps([place.start, place.end, place.context, place.headings, place.page]).encode() + b"\n"


def dumped_sections(reading: DocumentText) -> bytes:
    """Sections as JSON, as the database stores them."""
    return json.dumps(
        [(section.start, section.headings, section.page, section.body) for section in reading.sections]
    ).encode()


def check_chunk_count(count: int) -> None:
    if count > CHUNKS_MAX:
        raise InvalidInputError(
            f"The document would become more than {CHUNKS_MAX:,} memories, which is the limit: split it, or "
            "remove headings that have hardly any text under them."
        )


def limit(request: Request) -> None:
    """Set the limits that the kernel enforces, and make sure that this process ends with its parent."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    lower(resource.RLIMIT_CPU, request.cpu_s)
    if sys.platform == "linux":
        lower(resource.RLIMIT_AS, request.memory_bytes)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != request.parent:
        os._exit(1)
    if request.has_watcher:
        threading.Thread(target=watch, args=(request,), daemon=True).start()


def lower(kind: int, value: int) -> None:
    """Set a limit, unless a lower one is in force."""
    _, highest = resource.getrlimit(kind)
    value = value if highest == resource.RLIM_INFINITY else min(value, highest)
    resource.setrlimit(kind, (value, value))


def watch(request: Request) -> NoReturn:
    """End this process when it takes too much memory, or when its parent is gone."""
    while os.getppid() == request.parent:
        # Linux counts what the parent had before exec, but has RLIMIT_AS; macOS counts in bytes.
        used_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss if sys.platform != "linux" else 0
        if used_bytes > request.memory_bytes:
            os._exit(MEMORY_EXIT_STATUS)
        time.sleep(WATCH_EVERY_S)
    os._exit(1)


def write(parts: Iterator[bytes]) -> None:
    """Write all parts, or an error if they are more than the limit."""
    output, length = [], 0
    for part in parts:
        output.append(part)
        length += len(part)
        if length > OUTPUT_MAX_BYTES:
            raise InvalidInputError(
                f"The text and the headings of the document take more than {OUTPUT_MAX_BYTES:,} bytes, which "
                "is the limit: split it, or remove headings that have hardly any text under them."
            )
    sys.stdout.buffer.writelines(output)
    sys.stdout.buffer.flush()


def write_error(kind: str, message: str) -> None:
    """Write an error as the header."""
    message = message.encode(errors="replace").decode()[:MESSAGE_MAX_CHARACTERS]
    sys.stdout.buffer.write(json.dumps({"error": kind, "message": message}).encode() + b"\n")
    sys.stdout.buffer.flush()


def as_argument(request: Request) -> str:
    """The request as the argument of a new process."""
    return json.dumps(asdict(request))
