"""What is stored of an object beside its state in the window: one line, its key entities, its tags.

A proxy saves windows on the way to the provider, where time counts, and leaves this out. It is added when a
session is first looked at, asked or closed.
"""

import asyncio
from collections.abc import Sequence

from mnemic.context.levels.level import Source
from mnemic.context.levels.names import key_names
from mnemic.context.levels.shortening import make_level
from mnemic.context.saved_rows import NAMES_MAX, Described, as_text, described_rows
from mnemic.context.store import place_of
from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase
from mnemic.types.scope import Scope

RECALLING_TOOLS = frozenset(
    {
        "recall",
        "query_archive",
        "memory_query",
        "memory_restore",
        "get_goals",
        "get_working",
        "find_strategies",
    }
)
"""Tools of Mnemic whose results are memories. Learning from these again would only repeat them."""
MCP_SEPARATOR = "__"
OWN_SERVER = "mnemic"
BATCH_OBJECTS = 100
"""Objects that are described in one transaction."""


async def describe_missing(database: TenantDatabase, scope: Scope, session: str) -> None:
    """Describe the objects of a session that were stored without their line and names."""
    while True:
        parameters = {**place_of(scope, session), "limit": BATCH_OBJECTS}
        async with database.transaction() as transaction:
            rows = await transaction.rows("context.undescribed", parameters)
        if not rows:
            return
        described = await asyncio.to_thread(_describe_rows, rows)
        parameters["described"] = described_rows(described)
        async with database.transaction() as transaction:
            await transaction.execute("context.describe", parameters)
        if len(rows) < BATCH_OBJECTS:
            return


def describe(source: Source, *, tags: tuple[str, ...] = (), is_recalled: bool = False) -> Described:
    """Describe one object."""
    line = make_level(source, 3).text
    return Described(
        # Never empty, which would mean that it was not described yet.
        line=(line.strip() and line) or source.key or source.type,
        names=key_names(source.text, NAMES_MAX),
        tags=tags,
        is_recalled=is_recalled or is_recalling(source.tool),
    )


def is_recalling(tool: str) -> bool:
    """Whether the results of a tool are memories: one of Mnemic's own, by its name or through MCP."""
    server, separator, name = tool.rpartition(MCP_SEPARATOR)
    return name in RECALLING_TOOLS and (not separator or OWN_SERVER in server.lower())


def _describe_rows(rows: Sequence[Row]) -> dict[str, Described]:
    return {
        row["key"]: describe(
            Source(as_text(row["content"]), row["type"], row["tool"], row["source_key"], row["is_error"])
        )
        for row in rows
    }
