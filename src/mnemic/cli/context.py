"""`mnemic context`: sessions of agents whose context is paged, and what was decided in them."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.text import Text

from mnemic.cli.opening import memory_from, run_call
from mnemic.cli.options import DataDir, Embedder, Json, Owner, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, remark, table
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.context import ContextEvent, ContextObject, ContextSession, ContextZone
from mnemic.types.page import LIST_MAX

app = typer.Typer(
    no_args_is_help=True, help="Context sessions: what an agent has read, and at which level it is shown."
)

EVENTS_DEFAULT = 200
ZONE_COLOURS: dict[ContextZone, str] = {
    "normal": "green",
    "caution": "cyan",
    "warning": "yellow",
    "critical": "red",
    "emergency": "bold red",
}
EVENT_COLOURS = {"admission": "", "transition": "yellow", "fault": "magenta", "epoch": "bold cyan"}

Session = Annotated[str, typer.Argument(help="The name of the session, from `mnemic context list`.")]
Key = Annotated[str, typer.Argument(help="The key of the object, or its source, such as a path.")]
Limit = Annotated[int, typer.Option(help="Maximum number to list.")]


@app.command("list")
def list_sessions(
    owner: Owner = None,
    is_open: Annotated[
        bool | None, typer.Option("--open/--closed", help="Only open, or only closed ones.")
    ] = None,
    before: Annotated[
        str | None, typer.Option(help="Continue after this session_id, the last of the previous page.")
    ] = None,
    limit: Limit = 100,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List sessions, newest first: tokens, zone, faults and money saved."""
    memory = memory_from(url, data_dir, tenant, owner=owner)
    found = run_call(memory, lambda opened: opened.contexts.list(is_open=is_open, before=before, limit=limit))
    if json:
        print_json([asdict(session) for session in found])
    elif found:
        _print_sessions(found)
    else:
        remark("No such context sessions.")


@app.command("show")
def show(
    session: Session,
    owner: Owner = None,
    limit: Annotated[int, typer.Option(help="Maximum number of objects and of decisions.")] = EVENTS_DEFAULT,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Show a session: its objects and their levels, then every decision in order."""

    async def read(memory: AsyncMemory) -> _Shown:
        context = memory.context(session)
        summary = await context.summary()
        objects = await context.objects(limit=min(limit, LIST_MAX))
        return summary, objects, await context.history(limit=min(limit, LIST_MAX))

    summary, objects, events = run_call(memory_from(url, data_dir, tenant, owner=owner), read)
    if json:
        print_json(
            {
                "session": asdict(summary),
                "objects": [asdict(item) for item in objects],
                "history": [asdict(event) for event in events],
            }
        )
        return
    _print_summary(summary)
    _print_objects(objects)
    _print_history(events)
    if len(events) == limit:
        remark(f"Only the first {limit} decisions are shown: see --limit.")


@app.command("pin")
def pin(
    session: Session,
    key: Key,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Keep an object at its full text."""
    memory = memory_from(url, data_dir, tenant, owner=owner)
    pinned = run_call(memory, lambda opened: opened.context(session).pin(key))
    _print_result(pinned, f"Pinned: {pinned.key}", json=json)


@app.command("unpin")
def unpin(
    session: Session,
    key: Key,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Let an object fall to lower levels again."""
    memory = memory_from(url, data_dir, tenant, owner=owner)
    unpinned = run_call(memory, lambda opened: opened.context(session).unpin(key))
    _print_result(unpinned, f"Unpinned: {unpinned.key}", json=json)


@app.command("query")
def query(
    session: Session,
    question: Annotated[str, typer.Argument(help="What to look for in the full text.")],
    key: Annotated[str | None, typer.Option("--object", help="The key of the object, or its source.")] = None,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Answer a question with lines of the full text. It counts as a fault of the object."""
    memory = memory_from(url, data_dir, tenant, owner=owner)
    answer = run_call(memory, lambda opened: opened.context(session).query(question, object=key))
    _print_result(answer, f"{answer.key}\n{answer.text}", json=json)


@app.command("restore")
def restore(
    session: Session,
    key: Key,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Print the full text of an object and of what it depends on. It counts as a fault of the object."""
    memory = memory_from(url, data_dir, tenant, owner=owner)
    restored = run_call(memory, lambda opened: opened.context(session).restore(key))
    texts = "\n\n".join(f"{each}\n{text}" for each, text in restored.texts.items())
    _print_result(restored, texts, json=json)


@app.command("close")
def close(
    session: Session,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Close a session. What was pinned, faulted or reused in it becomes memories."""
    memory = memory_from(url, data_dir, tenant, owner=owner, embedder=embedder)
    closed = run_call(memory, lambda opened: opened.context(session).close())
    _print_result(closed, f"Closed; {len(closed.memory_ids)} new memories.", json=json)


@app.command("delete")
def delete(
    session: Session,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Delete a session and its history. Memories that it left stay."""
    memory = memory_from(url, data_dir, tenant, owner=owner)
    deleted = run_call(memory, lambda opened: opened.context(session).delete())
    if json:
        print_json({"deleted": deleted})
    else:
        print_line("Deleted." if deleted else "There is no such session.")


_Shown = tuple[ContextSession, Sequence[ContextObject], Sequence[ContextEvent]]


def _print_result(value: Any, text: str, *, json: bool) -> None:
    if json:
        print_json(asdict(value))
    else:
        for line in text.splitlines():
            print_line(one_line(line) if not line.startswith((" ", "\t")) else _visible(line))


def _visible(line: str) -> str:
    """A line with its indentation, without control characters that a terminal would obey."""
    body = line.lstrip(" \t")
    return line[: len(line) - len(body)] + one_line(body)


def _print_sessions(found: Sequence[ContextSession]) -> None:
    shown = table(
        "session", "last used", "state", "zone", "tokens", "saved", "requests", "faults", "USD saved"
    )
    for session in found:
        shown.add_row(
            Text(one_line(session.session)),
            f"{session.used_at:%Y-%m-%d %H:%M}",
            "closed" if session.closed_at else "open",
            _zone(session.zone),
            f"{session.tokens:,}",
            _share_saved(session.tokens, session.full_tokens),
            f"{session.call_count:,}",
            f"{session.fault_count:,}",
            f"{session.saved_usd:.2f}",
        )
    out.print(shown)


def _print_summary(session: ContextSession) -> None:
    out.print(Text.assemble((one_line(session.session), "bold"), "  zone ", _zone(session.zone)))
    print_line(
        f"{session.tokens:,} of {session.full_tokens:,} tokens "
        f"({_share_saved(session.tokens, session.full_tokens)} saved), {session.call_count:,} requests, "
        f"epoch {session.epoch}, {session.fault_count:,} faults, {session.saved_usd:.2f} USD saved"
    )


def _print_objects(objects: Sequence[ContextObject]) -> None:
    shown = table("object", "type", "level", "tokens", "used", "faults", "notes")
    for item in objects:
        notes = [
            "pinned" if item.is_pinned else "",
            f"superseded by {item.superseded_by}" if item.superseded_by else "",
            "error" if item.is_error else "",
            "" if item.is_in_window else "removed by the client",
        ]
        shown.add_row(
            Text(one_line(item.key)),
            item.type,
            str(item.level),
            f"{item.tokens[0]:,}",
            f"{item.first_call}–{item.last_use}",
            str(item.fault_count),
            Text(one_line(", ".join(filter(None, notes)))),
        )
    out.print()
    out.print(shown)


def _print_history(events: Sequence[ContextEvent]) -> None:
    shown = table("request", "what", "object", "level", "zone", "tokens", "why")
    for event in events:
        shown.add_row(
            str(event.call),
            Text(event.fault or event.kind, style=EVENT_COLOURS.get(event.kind, "dim")),
            Text(one_line(event.key or "")),
            _levels(event),
            _zone(event.zone) if event.zone else "",
            _tokens(event),
            Text(one_line(event.question or event.reason or "")),
        )
    out.print()
    out.print(shown)


def _zone(zone: ContextZone) -> Text:
    return Text(zone, style=ZONE_COLOURS[zone])


def _levels(event: ContextEvent) -> str:
    if event.kind == "epoch":
        return f"epoch {event.epoch}"
    if event.from_level is not None:
        return f"{event.from_level} → {event.to_level}"
    return "" if event.to_level is None else str(event.to_level)


def _tokens(event: ContextEvent) -> str:
    if event.kind == "epoch" and event.tokens is not None:
        return f"{event.full_tokens:,} → {event.tokens:,}, {event.saved_usd:.2f} USD"
    if event.kind == "fault":
        return f"+{event.tokens:,}"
    if event.tokens is None:
        return ""
    return f"{event.tokens:,} of {event.full_tokens:,}"


def _share_saved(tokens: int, full_tokens: int) -> str:
    return f"{1 - tokens / full_tokens:.0%}" if full_tokens else "0%"
