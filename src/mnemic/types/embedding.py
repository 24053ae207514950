"""The embedding model of a tenant, and the progress of a change to another one."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ModelChange:
    """The model that serves a tenant, and the change to `next_model`.

    `waiting_count` memories are still to be embedded. `refused_count` are those that the next model refused
    for good: only lexical search will find them. Without a change, `next_model` and `job_id` are None.
    `model` is None before the first vector.
    """

    model: str | None
    next_model: str | None
    memory_count: int
    waiting_count: int
    refused_count: int
    job_id: UUID | None
