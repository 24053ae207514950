"""Which thinking a change of the prompt makes unfit (see `anthropic/thinking.py`)."""

from collections.abc import Collection

from mnemic.proxy.protocol import Conversation, ThinkingCut


def cut_at_epoch(conversation: Conversation, changed: Collection[str]) -> ThinkingCut | None:
    """The cut of an epoch that changes the text of entries, by their keys; None if there is no thinking."""
    if not changed or not conversation.has_thinking:
        return None
    first = next((entry.key for entry in conversation.entries if entry.key in changed), None)
    if first is None:
        return None
    return ThinkingCut(first, conversation.last_turn, conversation.open_turn)


def cut_at_start(conversation: Conversation) -> ThinkingCut | None:
    """The cut of a conversation that began without the proxy, or with other hidden tools.

    The hidden tools come before all messages, so that none of the thinking fits.
    """
    if not conversation.has_thinking:
        return None
    return ThinkingCut("", conversation.last_turn, conversation.open_turn)
