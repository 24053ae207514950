"""The opening of a session: memories that fit the user's first words, recalled once.

The text is stored with the session and repeated in every request exactly, so that the provider's cache
holds. Nothing is recalled for a conversation that already has an answer: what was sent must not change.
"""

import asyncio
import logging

from mnemic.errors import MnemicError
from mnemic.proxy.open_sessions import OpenSession
from mnemic.proxy.protocol import Conversation
from mnemic.proxy.recording import spoken_words
from mnemic.sdk.memory import AsyncMemory

OPENING_TIMEOUT_S = 1.0
QUERY_MAX_CHARACTERS = 1_000
HEADING = "Memories of earlier sessions that may help:"

logger = logging.getLogger("mnemic.proxy")


def is_unanswered(conversation: Conversation) -> bool:
    """Whether this is the first request of a conversation."""
    entries = conversation.entries
    return not conversation.previous_id and all(entry.role not in ("assistant", "call") for entry in entries)


async def recall_opening(
    memory: AsyncMemory, session: OpenSession, conversation: Conversation, *, max_tokens: int
) -> str | None:
    """Recalled memories as text, and their ids added to the session; None if nothing fits, or in time."""
    query = _first_words(conversation)
    if not query or not max_tokens or not is_unanswered(conversation):
        return None
    try:
        async with asyncio.timeout(OPENING_TIMEOUT_S):
            recalled = await memory.recall(
                query,
                max_tokens=max_tokens,
                strict=True,
                current_conversation=session.name.session,
            )
    except (MnemicError, TimeoutError) as error:
        logger.warning("no opening: recall failed (%s)", type(error).__name__)
        return None
    if not recalled.hits:
        return None
    session.recalled.update(str(hit.memory.memory_id) for hit in recalled.hits)
    return f"{HEADING}\n{recalled.text}"


def _first_words(conversation: Conversation) -> str:
    words = (spoken_words(entry.text) for entry in conversation.entries if entry.role == "user")
    return next((text[:QUERY_MAX_CHARACTERS] for text in words if text), "")
