"""Feedback on memories; the table `state.memory_feedback` has the same checks."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

FeedbackKind = Literal["useful", "not_useful", "cited"]

NOTE_MAX_CHARACTERS = 1024


@dataclass(frozen=True, slots=True)
class Feedback:
    """The verdict of one conversation on a memory: it was useful, cited in an answer, or not useful."""

    feedback_id: UUID
    memory_id: UUID
    kind: FeedbackKind
    conversation: str | None
    note: str | None
    process: str
    at: datetime
