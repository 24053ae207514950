"""Requests without tools, which OpenAI's clients send beside the conversation.

A request about a conversation with calls summarises it: it repeats the conversation, and may need the same
changes. Any other, such as one for a title, needs no memory.
"""

from mnemic.proxy.protocol import Compaction, Conversation, Unsure


def without_tools(conversation: Conversation) -> Unsure:
    """Why a request without tools is not changed."""
    if any(entry.role == "call" for entry in conversation.entries):
        return Compaction("a summary of the conversation", conversation)
    return Unsure("no tools")
