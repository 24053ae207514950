"""Keep prepared batches until the transaction writes them.

A call is one transaction, and no transaction is open while a model computes vectors. So the batches of a call
are prepared first: the first `MEMORY_BATCHES` stay in memory, the rest goes to a temporary file. Memory
use is bounded, however many items a call has.
"""

import pickle
from collections.abc import Iterator
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Self

from mnemic.db.disk import translated_disk_errors
from mnemic.retain.batches import Batch

# A batch has up to 512 rows and a million characters, usually about 2 MB with its vectors.
MEMORY_BATCHES = 16


class Spool:
    """A list of batches that can be read several times: a transaction that lost a race runs again."""

    def __init__(self) -> None:
        self._first: list[Batch] = []
        self._others: IO[bytes] | None = None

    def append(self, batch: Batch) -> None:
        """Add a batch at the end."""
        if len(self._first) < MEMORY_BATCHES:
            self._first.append(batch)
            return
        with translated_disk_errors():
            if self._others is None:
                self._others = TemporaryFile()  # noqa: SIM115 (closed when the block of the spool ends)
            pickle.dump(batch, self._others, protocol=pickle.HIGHEST_PROTOCOL)

    def __iter__(self) -> Iterator[Batch]:
        """All batches, in order."""
        yield from self._first
        if self._others is None:
            return
        with translated_disk_errors():
            self._others.seek(0)
        while True:
            try:
                yield pickle.load(self._others)  # noqa: S301 (our own file, nameless and open only here)
            except EOFError:
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._others is not None:
            self._others.close()
