"""The pages about MCP say what the code does, and the configurations on them work."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from mnemic.mcp import http, reference_graph, reference_tools, resources, size_limits, tools
from mnemic.mcp.chatgpt_tools import CHATGPT_TOOLS, RESULTS_MAX
from mnemic.mcp.tool import MemoryTool
from tests.running_folder import running
from tests.warm_start.starting import WarmStart

DOCS = Path(__file__).resolve().parents[2] / "docs"
REFERENCE = (DOCS / "reference" / "mcp.md").read_text("utf-8")
HOW_TO = (DOCS / "how-to" / "mcp.md").read_text("utf-8")
ROW = re.compile(r"^\| `([a-z_]+)` \|(.*?)\|(.*?)\|", re.MULTILINE)
SECONDS_MAX = 300


def row_of(tool: MemoryTool) -> tuple[str, str, str]:
    """A tool as the page has it: its name, its arguments, what it does to memory."""
    fields = {field.alias or name: field for name, field in tool.arguments.model_fields.items()}
    arguments = [f"**`{name}`**" if field.is_required() else f"`{name}`" for name, field in fields.items()]
    access = "destroys" if tool.destroys else "writes" if tool.writes else "reads"
    return tool.name, ", ".join(arguments), access


def test_the_reference_lists_every_tool_with_its_arguments() -> None:
    listed = [tuple(cell.strip() for cell in cells) for cells in ROW.findall(REFERENCE)]
    code = [*tools.OWN_TOOLS, *reference_tools.REFERENCE_TOOLS, *CHATGPT_TOOLS]
    assert listed == [row_of(tool) for tool in code]


def test_the_reference_lists_every_resource() -> None:
    listed = re.findall(r"^\| `(memory://[^`]+)` \|", REFERENCE, re.MULTILINE)
    pages = [page.uri for page in resources.STATIC_RESOURCES]
    assert listed == pages + [str(family.template) for family in resources.RESOURCE_FAMILIES]


def test_the_reference_has_the_limits_of_the_code() -> None:
    rows = [
        f"its structured content | {size_limits.RESULT_MAX_CHARACTERS:,} characters;",
        f"| `content` of `retain` | {tools.CONTENT_MAX_CHARACTERS:,} characters |",
        f"| hits of `recall` | {tools.HITS_MAX} |",
        f"| passages of `query_archive` | {tools.PASSAGES_MAX} |",
        f"| results of `search` | {RESULTS_MAX} |",
        f"| {reference_tools.ITEMS_MAX} items, {reference_tools.CALL_MAX_CHARACTERS:,} characters |",
        f"| entities that `search_nodes` looks at | {reference_graph.SCANNED_ENTITIES_MAX:,}, the newest |",
        f"| a request over HTTP | {http.REQUEST_MAX_BYTES // 2**20} MiB |",
        f"the last {resources.RECENT_MEMORIES} memories",
    ]
    assert [row for row in rows if row not in REFERENCE] == []


def configurations() -> Iterator[dict[str, Any]]:
    for block in re.findall(r"^```json\n(.*?)^```$", HOW_TO, re.MULTILINE | re.DOTALL):
        yield from json.loads(block)["mcpServers"].values()


@pytest.fixture(scope="module")
def folder(memory_dir: Path) -> Iterator[Path]:
    yield from running(memory_dir / "mcp-pages")


@pytest.mark.parametrize(
    "configured",
    [entry for entry in configurations() if "command" in entry],
    ids=lambda entry: entry["command"],
)
async def test_a_configuration_of_the_page_starts_a_server(
    configured: dict[str, Any], folder: Path, warm_start: WarmStart
) -> None:
    env = {**configured.get("env", {}), "MNEMIC_DATA_DIR": str(folder), "MNEMIC_EMBEDDER": "test"}
    assert Path(configured["command"]).name == "mnemic"
    started = StdioServerParameters(command=warm_start.mnemic, args=configured["args"], env=env)
    async with Client(started, read_timeout_seconds=SECONDS_MAX) as client:
        assert len((await client.list_tools()).tools) == len(tools.OWN_TOOLS)


def test_the_page_shows_both_ways_to_connect() -> None:
    assert sorted("url" if "url" in entry else "command" for entry in configurations()) == [
        "command",
        "command",
        "command",
        "url",
    ]
