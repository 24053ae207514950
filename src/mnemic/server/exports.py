"""An owner's export as a response: the same file of JSON lines as `mnemic export` writes.

The export is written to a temporary file first and then sent. So neither side holds it in memory, a client
that reads slowly does not keep a snapshot of the database open, and an error still gets a status of its own.
The row counts are in a header; the client compares them with the lines that it got.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO
from urllib.parse import quote

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mnemic.sdk.http.connection import ROW_COUNTS_HEADER
from mnemic.sdk.http.wire import LINES_MEDIA_TYPE

PART_BYTES = 256 * 1024
FILE_NAME = "export.jsonl"


async def send_export(
    export: Callable[[Path], Awaitable[dict[str, int]]], *, name: str = FILE_NAME
) -> Response:
    """Run an export into a temporary file and answer with its content; `name` is for a browser."""
    with TemporaryDirectory(prefix="mnemic-export-") as folder:
        path = Path(folder) / FILE_NAME
        counts = await export(path)
        # The file has no name any more when this block ends, and no content when it is closed.
        return TemporaryFileResponse(path.open("rb"), path.stat().st_size, counts, name)


class TemporaryFileResponse(Response):
    """Sends a file part by part, and closes it."""

    media_type = LINES_MEDIA_TYPE

    def __init__(self, file: BinaryIO, size_bytes: int, counts: dict[str, int], name: str) -> None:
        super().__init__(
            headers={
                "Content-Length": str(size_bytes),
                "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
                ROW_COUNTS_HEADER: json.dumps(counts),
            }
        )
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file; whatever happens, it is closed."""
        with self._file:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            while part := await asyncio.to_thread(self._file.read, PART_BYTES):
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
