"""Say why a list is empty."""

from mnemic.sdk.memory import AsyncMemory


async def reason_for_empty(memory: AsyncMemory, otherwise: str) -> str:
    """That the owner has no memories at all, or else the reason that the caller knows."""
    any_memory = await memory.memories.list(statuses=None, include_forgotten=True, limit=1)
    return otherwise if any_memory else f"The owner {memory.owner!r} has no memories."
