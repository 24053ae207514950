"""`mnemic retain`: store a text, standard input, or a file of JSON lines."""

import asyncio
import json as json_module
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from mnemic.cli.opening import memory_from
from mnemic.cli.options import Channel, DataDir, Embedder, Json, Owner, TenantName, Url
from mnemic.cli.output import out, print_backlog, print_json
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.checks import check_text
from mnemic.types.memory import Category
from mnemic.types.retained import Retained


def retain(
    text: Annotated[str | None, typer.Argument(help="The text to store; - reads standard input.")] = None,
    jsonl: Annotated[
        Path | None, typer.Option("--jsonl", help="File with one item per line: a JSON string or object.")
    ] = None,
    owner: Owner = None,
    channel: Channel = None,
    conversation: Annotated[str | None, typer.Option(help="Conversation that it belongs to.")] = None,
    category: Annotated[Category | None, typer.Option(help="Kind of memory. Default: factual.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag; may be repeated.")] = None,
    at: Annotated[
        str | None,
        typer.Option(help="When it happened: 2026-03-01, or 2026-03-01T10:00:00Z. Default: unknown."),
    ] = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Store a text, or many items from a file: all of them, or none on an error."""
    if (text is None) == (jsonl is None):
        raise InvalidInputError("Give either a text (or - for standard input) or --jsonl FILE.")
    opened = memory_from(
        url,
        data_dir,
        tenant,
        owner=owner,
        channel=channel,
        embedder=embedder,
        creates_tenant=True,
    )

    async def run() -> Retained:
        async with opened as memory:
            if jsonl is not None:
                return await _retain_lines(
                    memory,
                    jsonl,
                    {"category": category, "tags": tag, "at": at},
                    conversation=conversation,
                    progress=not json and sys.stderr.isatty(),
                )
            content = check_text("text", _read_input() if text == "-" else text)
            return await memory.retain(content, conversation=conversation, category=category, tags=tag, at=at)

    retained = asyncio.run(run())
    if json:
        print_json(asdict(retained))
    else:
        _print_outcome(retained)


def _read_input() -> str:
    """Standard input as UTF-8, whatever the locale, with its line ends."""
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"Standard input is not UTF-8 text: {error.reason} at byte {error.start}."
        ) from None


async def _retain_lines(
    memory: AsyncMemory, path: Path, defaults: dict[str, Any], *, conversation: str | None, progress: bool
) -> Retained:
    """Store the items of a file; an error about the item that was read last names its line."""
    lines = _Lines(path)
    try:
        items = _with_defaults(lines.items(), defaults)
        return await memory.retain_many(items, conversation=conversation, progress=progress)
    except InvalidInputError as error:
        prefix = f"Item {lines.item_count - 1}: "
        if not str(error).startswith(prefix):
            raise
        raise InvalidInputError(f"Line {lines.line}: {str(error).removeprefix(prefix)}") from None


def _with_defaults(items: Iterator[Any], defaults: dict[str, Any]) -> Iterator[Any]:
    """Add defaults to items; anything that is not an item is left for the SDK to refuse."""
    given = {name: value for name, value in defaults.items() if value}
    for item in items:
        if isinstance(item, str):
            yield {**given, "content": item}
        else:
            yield {**given, **item} if isinstance(item, dict) else item


class _Lines:
    """The items of a file of JSON lines, with how many were read and the line of the last one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.item_count = 0
        self.line = 0

    def items(self) -> Iterator[Any]:
        try:
            with self._path.open(encoding="utf-8") as file:
                for self.line, text in enumerate(file, start=1):
                    if text.strip():
                        self.item_count += 1
                        yield _parse(text, self.line)
        except OSError as error:
            raise NotFoundError(f"{self._path} cannot be read: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise InvalidInputError(
                f"{self._path} is not UTF-8 text: {error.reason} at byte {error.start}."
            ) from error


def _parse(line: str, number: int) -> Any:
    try:
        return json_module.loads(line)
    except (ValueError, RecursionError):
        raise InvalidInputError(f"Line {number} is not JSON. Nothing was stored.") from None


def _print_outcome(retained: Retained) -> None:
    counts = retained.stored_count, retained.duplicate_count, retained.refused_count
    out.print("stored {}, known already {}, refused {}".format(*counts))
    for refusal in retained.refused:
        out.print(f"  item {refusal.index}: {refusal.reason}", markup=False)
    if retained.awaiting_embedding_count:
        print_backlog(retained.awaiting_embedding_count)
