"""Texts to put on maps."""

from collections.abc import Iterable
from uuid import UUID

from mnemic.sdk.memory import AsyncMemory

SUBJECTS = {
    "cooking": "We cooked dinner with tomato sauce and pasta",
    "sailing": "The sailing boat left the harbour with strong wind",
    "chess": "My chess opening lost a pawn against the bishop",
}


def texts(subject: str, count: int) -> list[str]:
    """Different texts about one subject."""
    return [f"{SUBJECTS[subject]}, time {number}." for number in range(count)]


async def fill(memory: AsyncMemory, subjects: Iterable[str] = SUBJECTS, count: int = 12) -> list[UUID]:
    """Retain texts about some subjects; returns the ids."""
    ids: list[UUID] = []
    for subject in subjects:
        ids += (await memory.retain(texts(subject, count))).memory_ids
    return ids
