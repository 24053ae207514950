"""Which embedding model serves, and how far a change to another one has come."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ModelChange:
    """The model that serves a tenant; `next_model` takes its place after `waiting_count` more memories.

    `refused_count` are those that the next model refused for good: they will be found by their words only.
    Without a change under way, `next_model` and `job_id` are None. `model` is None before the first vector.
    """

    model: str | None
    next_model: str | None
    memory_count: int
    waiting_count: int
    refused_count: int
    job_id: UUID | None
