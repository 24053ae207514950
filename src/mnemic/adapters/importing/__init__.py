"""Taking in what other systems remember: mem0, MCP memory, LangGraph, ChatGPT, Claude.

The way is the same for all: a *file* (also in an archive or a folder) gives *records*, one at a time
(`files`, `records`); a *source* makes *units* of them (`mem0`, `chatgpt`, …); `run` stores unit by unit. A
unit is stored whole or not at all: a conversation, an entity with its observations, or a batch of single
memories. Whatever was imported before is recognised by its id in the source, so that a repeated or
interrupted import is simply started again.
"""

from mnemic.adapters.importing.batches import Skipped
from mnemic.adapters.importing.run import SOURCES, ImportReport, SourceName, import_from

__all__ = ["SOURCES", "ImportReport", "Skipped", "SourceName", "import_from"]
