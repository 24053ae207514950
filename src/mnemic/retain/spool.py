"""Batches that wait for their transaction.

A call to `retain` is one transaction, and no transaction is open while a model is at work. So the
batches of a call are made ready first and wait here: the first ones in memory, the others in a
temporary file. However many items a call has, memory stays bounded.
"""

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Self

from mnemic.db.vectors import Vectors
from mnemic.retain.items import Draft
from mnemic.types.retained import Duplicate, Refused

# A batch has up to 512 rows and a million characters, usually about 2 MB with its vectors.
MEMORY_BATCHES = 16


@dataclass(frozen=True, slots=True)
class Batch:
    """Drafts to store with their vectors, and what became of the other items of the batch.

    `vectors` has one row per chunk of the drafts, in order; None means that the embedder failed, for
    the reason in `embedding_error`.
    """

    drafts: tuple[Draft, ...]
    vectors: Vectors | None
    embedding_error: str | None
    duplicates: tuple[Duplicate, ...]
    refused: tuple[Refused, ...]


class Spool:
    """Batches, written once and read from the start as often as it takes."""

    def __init__(self) -> None:
        self._first: list[Batch] = []
        self._others: IO[bytes] | None = None

    def append(self, batch: Batch) -> None:
        """Put one batch behind the others."""
        if len(self._first) < MEMORY_BATCHES:
            self._first.append(batch)
            return
        if self._others is None:
            self._others = TemporaryFile()  # noqa: SIM115 (closed when the block of the spool ends)
        pickle.dump(batch, self._others, protocol=pickle.HIGHEST_PROTOCOL)

    def __iter__(self) -> Iterator[Batch]:
        """All batches, from the first one on."""
        yield from self._first
        if self._others is None:
            return
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
