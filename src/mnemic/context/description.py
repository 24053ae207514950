"""What is stored of a new object beside its state in the window: one line, its names, its tags."""

from collections.abc import Mapping, Sequence

from mnemic.context.levels.level import Source
from mnemic.context.levels.names import key_names
from mnemic.context.levels.shortening import make_level
from mnemic.context.saved_rows import NAMES_MAX, Described
from mnemic.context.step import SavedObject

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


def describe_objects(objects: Sequence[SavedObject], contents: Mapping[str, str]) -> dict[str, Described]:
    """Describe objects whose full text is given."""
    return {item.key: describe(item, contents[item.key]) for item in objects if item.key in contents}


def describe(
    item: SavedObject, text: str, *, tags: tuple[str, ...] = (), is_recalled: bool = False
) -> Described:
    """Describe one object."""
    source = source_of(item, text)
    return Described(
        line=make_level(source, 3).text,
        names=key_names(text, NAMES_MAX),
        tags=tags,
        is_recalled=is_recalled or is_recalling(item.tool),
    )


def source_of(item: SavedObject, text: str) -> Source:
    """What the levels of an object are made from."""
    return Source(text=text, type=item.type, tool=item.tool, key=item.source_key, is_error=item.is_error)


def is_recalling(tool: str) -> bool:
    """Whether the results of a tool are memories: one of Mnemic's own, by its name or through MCP."""
    server, separator, name = tool.rpartition(MCP_SEPARATOR)
    return name in RECALLING_TOOLS and (not separator or OWN_SERVER in server.lower())
