"""Import from other memory systems: mem0, MCP memory, LangGraph, ChatGPT, Claude.

Every source takes the same path: a *file* (also in an archive or a folder) yields *records*, one at a time
(`files`, `records`); the reader of a *source* groups them into *batches* (`mem0`, `chatgpt`, …); `run` stores
one batch after the other. A batch is stored whole or not at all: a conversation, an entity with its
observations, or several single memories. Records that were imported before are recognised by their id in the
source, so a repeated or interrupted import is started again with the same command.
"""

from mnemic.adapters.importing.batches import SkippedRecord
from mnemic.adapters.importing.run import SOURCES, ImportReport, SourceName, import_from

__all__ = ["SOURCES", "ImportReport", "SkippedRecord", "SourceName", "import_from"]
