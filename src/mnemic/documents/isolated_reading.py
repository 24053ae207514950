"""Read and cut documents in processes of their own, which are killed when they exceed a limit.

A document may come from a stranger, and some inputs make any parser slow or greedy. So no document is parsed
in this process, whose event loop and GIL serve everybody: a fresh Python interpreter reads one document and
ends (`reading/process.py`). It inherits no descriptor and no environment, and gets nothing but the document
and its limits. What it returns is text, numbers and JSON, never code.

A process is *waiting for a slot* → *running* → *ended*, or *killed* when it takes too long, when it writes
too much, or when the call is cancelled. It is always awaited, so it leaves no zombie.
"""

import asyncio
import json
import math
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mnemic.config import Settings, loader_environment
from mnemic.db.process_priority import give_way
from mnemic.documents.reading.chunks import DocumentChunk, Place, chunks_at
from mnemic.documents.reading.media_types import check_source
from mnemic.documents.reading.process import MEMORY_EXIT_STATUS, OUTPUT_MAX_BYTES, Request, as_argument
from mnemic.errors import ConfigurationError, InvalidInputError
from mnemic.runtime.core import Core

HEADER_MAX_BYTES = 64 * 1024
OUTPUT_BLOCK_BYTES = 1 << 20
CPU_MARGIN_S = 2
"""CPU time beyond the time limit after which the kernel ends a process whose parent could not."""

# The interpreter is isolated (-I) and skips site (-S): no environment variable, user folder or .pth file
# counts. It finds modules where this process does.
_PROGRAM = (
    "import sys; sys.path += sys.argv[2:]; import mnemic.documents.reading.process as p; p.main(sys.argv[1])"
)
_ROOT = str(Path(__file__).resolve().parents[2])


@dataclass(frozen=True)
class ReadDocument:
    """The text of a document, its title if it has one, and its sections as JSON for the database."""

    text: str
    title: str | None
    sections: str


async def read_isolated(core: Core, content: str | bytes, media_type: str) -> ReadDocument:
    """The text of a document; InvalidInputError says why it cannot be read, or which limit it exceeds."""
    check_source(content, media_type)
    request = replace(
        _request(core.settings, "read"), media_type=media_type, is_text=isinstance(content, str)
    )
    source = await asyncio.to_thread(_encoded, content)
    output = await _run(core, request, source)
    return await asyncio.to_thread(_read_document, output)


async def cut_isolated(core: Core, text: str, sections: str) -> list[DocumentChunk]:
    """The chunks of a text with its sections, as `read_isolated` returned them."""
    encoded = await asyncio.to_thread(text.encode)
    request = replace(_request(core.settings, "cut"), text_bytes=len(encoded))
    output = await _run(core, request, encoded + sections.encode())
    return await asyncio.to_thread(lambda: list(chunks_at(text, _places(output))))


def _request(settings: Settings, work: str) -> Request:
    return Request(
        work=work,
        parent=os.getpid(),
        cpu_s=math.ceil(settings.document_timeout_s) + CPU_MARGIN_S,
        memory_bytes=settings.document_max_memory_bytes,
        pages_max=settings.document_max_pages,
    )


async def _run(core: Core, request: Request, source: bytes) -> bytes:
    """Run a process for a request; returns its output behind the header of one line, header included."""
    async with core.reading_slots.slot(core.tenant.id):
        process = await _start(request)
        try:
            async with asyncio.timeout(core.settings.document_timeout_s):
                output = await _exchange(process, source)
                await process.wait()
        except TimeoutError:
            raise InvalidInputError(
                f"Reading the document took longer than {core.settings.document_timeout_s:g} s, which is the "
                "limit. Split the document, or raise the setting document_timeout_s."
            ) from None
        finally:
            await _end(process)
    _check_exit(process.returncode, core.settings)
    _check_header(output)
    return output


async def _start(request: Request) -> asyncio.subprocess.Process:
    # Relative entries would depend on the current folder.
    path = [_ROOT, *(entry for entry in sys.path if os.path.isabs(entry))]
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-I", "-S", "-c", _PROGRAM, as_argument(request), *path),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=loader_environment(),
            # Ctrl-C is for this process, which then ends the other one, and `give_way` needs a session.
            start_new_session=True,
        )
    except OSError as error:
        raise ConfigurationError(
            f"Documents are read in a process of their own, which cannot be started: {error.strerror} "
            f"({sys.executable})."
        ) from error
    # From here and not in the process itself: starting Python takes longer than reading most documents.
    give_way(process.pid)
    return process


async def _exchange(process: asyncio.subprocess.Process, source: bytes) -> bytes:
    """Write the document and read the output, up to the limit."""
    async with asyncio.TaskGroup() as group:
        group.create_task(_write(process, source))
        output = group.create_task(_read_output(process))
    return output.result()


async def _write(process: asyncio.subprocess.Process, source: bytes) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(source)
        await process.stdin.drain()
    except (BrokenPipeError, ConnectionResetError):
        pass  # It ended early; its exit status or its output says why.
    process.stdin.close()


async def _read_output(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    blocks, length = [], 0
    while block := await process.stdout.read(OUTPUT_BLOCK_BYTES):
        blocks.append(block)
        length += len(block)
        if length > OUTPUT_MAX_BYTES + HEADER_MAX_BYTES:
            # It checks this itself, so it does not do what it should.
            process.kill()
            break
    return b"".join(blocks)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill the process if it runs, and wait for it: otherwise it would stay as a zombie."""
    if process.returncode is None:
        process.kill()
        await process.wait()


def _check_exit(status: int | None, settings: Settings) -> None:
    if status == 0:
        return
    if status == MEMORY_EXIT_STATUS:
        raise InvalidInputError(
            f"Reading the document takes more than {settings.document_max_memory_bytes:,} bytes of memory, "
            "which is the limit. Split the document, or raise the setting document_max_memory_bytes."
        )
    reason = (
        f"by {signal.Signals(-status).name}" if status is not None and status < 0 else f"with status {status}"
    )
    raise InvalidInputError(
        f"The document cannot be read: the process that read it ended {reason}. Split or convert it."
    )


def _check_header(output: bytes) -> None:
    header = _header(output)
    if "error" in header:
        kind = ConfigurationError if header["error"] == ConfigurationError.__name__ else InvalidInputError
        raise kind(str(header["message"]))


def _header(output: bytes) -> dict[str, Any]:
    header: dict[str, Any] = json.loads(output[: output.index(b"\n", 0, HEADER_MAX_BYTES)])
    return header


def _read_document(output: bytes) -> ReadDocument:
    header = _header(output)
    start = output.index(b"\n") + 1
    end = start + int(header["text_bytes"])
    return ReadDocument(output[start:end].decode(), header["title"], output[end:].decode())


def _places(output: bytes) -> Iterator[Place]:
    # Line by line, so that other threads get their turn in between.
    for line in output.splitlines()[1:]:
        start, end, context, headings, page = json.loads(line)
        yield Place(start, end, context, tuple(headings), page)


def _encoded(content: str | bytes) -> bytes:
    """The bytes of a document; lone surrogates are kept, for the reader to refuse with their position."""
    return content.encode(errors="surrogatepass") if isinstance(content, str) else content
