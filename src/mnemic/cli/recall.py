"""`mnemic recall`: find memories for a query, explain the ranking, or print the refusal."""

import asyncio
from dataclasses import asdict, fields, is_dataclass
from typing import Annotated, Any, cast

import typer

from mnemic.cli.opening import memory_from
from mnemic.cli.options import Channel, DataDir, Embedder, Json, Owner, TenantName, Url
from mnemic.cli.output import out, print_json, remark
from mnemic.cli.recall_output import print_explanations, print_footer, print_hits, print_refusal
from mnemic.errors import InvalidInputError
from mnemic.types.memory import CATEGORIES, Category
from mnemic.types.recalled import TECHNIQUES, Recalled, Technique

Query = Annotated[str, typer.Argument(help="What to look for, in your own words.")]
Limit = Annotated[int, typer.Option(help="Maximum number of hits.")]
MaxTokens = Annotated[int | None, typer.Option(help="Maximum number of tokens of --text.")]
# Typer cannot check lists of choices: the SDK checks them, and its error lists what is allowed.
Categories = Annotated[
    list[str] | None,
    typer.Option("--category", help=f"Only this category; may be repeated. One of: {', '.join(CATEGORIES)}."),
]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="Only with this tag; repeated: with all of them.")
]
Conversation = Annotated[str | None, typer.Option(help="Only from this conversation.")]
Since = Annotated[
    str | None, typer.Option(help="Only what happened since: 2026-03-01, or 2026-03-01T10:00:00Z.")
]
Until = Annotated[str | None, typer.Option(help="Only what happened before this date or time.")]
AsOf = Annotated[str | None, typer.Option(help="Answer with what was known and valid at this date or time.")]
At = Annotated[
    str | None,
    typer.Option(help='When the question is asked, for words such as "yesterday". Default: now.'),
]
MinConfidence = Annotated[
    float | None, typer.Option(help="Only memories with at least this confidence, 0 to 1.")
]
RefuseBelow = Annotated[
    float | None, typer.Option(help="Refuse to answer below this confidence; 0 never refuses.")
]
Techniques = Annotated[
    list[str] | None,
    typer.Option(
        "--technique",
        help="Technique to search with; may be repeated (env: MNEMIC_TECHNIQUES). "
        f"One of: {', '.join(TECHNIQUES)}; the last three need an LLM.",
    ),
]
Explain = Annotated[
    bool,
    typer.Option("--explain", help="Show the score of each hit part by part, and the time of each stage."),
]
AllFields = Annotated[bool, typer.Option("--all-fields", help="With --json: also fields that are null.")]
Text = Annotated[bool, typer.Option("--text", help="Print only the text for a prompt.")]


def recall(
    query: Query,
    owner: Owner = None,
    limit: Limit = 10,
    max_tokens: MaxTokens = None,
    category: Categories = None,
    tag: Tags = None,
    channel: Channel = None,
    conversation: Conversation = None,
    since: Since = None,
    until: Until = None,
    as_of: AsOf = None,
    at: At = None,
    min_confidence: MinConfidence = None,
    refuse_below: RefuseBelow = None,
    technique: Techniques = None,
    explain: Explain = False,
    text: Text = False,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    embedder: Embedder = None,
    json: Json = False,
    all_fields: AllFields = False,
) -> None:
    """Find memories for a query, best first. Refuses if nothing is close enough (exit code 0)."""
    if text and (json or explain):
        raise InvalidInputError("--text prints only the text: leave out --json and --explain.")

    async def run() -> tuple[str | None, Recalled]:
        async with memory_from(
            url, data_dir, tenant, owner=owner, channel=channel, embedder=embedder
        ) as memory:
            return memory.owner, await memory.recall(
                query,
                limit=limit,
                max_tokens=max_tokens,
                categories=cast(list[Category] | None, category),
                tags=tag,
                conversation=conversation,
                since=since,
                until=until,
                as_of=as_of,
                at=at,
                min_confidence=min_confidence,
                refuse_below=refuse_below,
                techniques=cast(list[Technique] | None, technique),
                explain=explain or json,
            )

    reader, found = asyncio.run(run())
    if json:
        print_json(asdict(found) if all_fields else _without_nulls(found))
    elif text:
        _print_text(found)
    else:
        _print_found(found, reader, explain=explain)


def _without_nulls(value: Any) -> Any:
    """A record for JSON, without fields that are None; mappings such as metadata keep theirs."""
    if is_dataclass(value):
        named = ((field.name, getattr(value, field.name)) for field in fields(value))
        return {name: _without_nulls(each) for name, each in named if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, tuple) else value


def _print_text(found: Recalled) -> None:
    """Print the text on standard output, for a pipe; the reason of a refusal and notes on standard error."""
    if found.text:
        print(found.text)
    for note in ([found.reason] if found.reason else []) + list(found.notes):
        remark(note)


def _print_found(found: Recalled, reader: str | None, *, explain: bool) -> None:
    if found.refused:
        print_refusal(found)
        if found.confidence:
            out.print("[dim]--refuse-below 0 shows the nearest memories anyway.[/]")
    else:
        print_hits(found.hits, reader)
    if explain and found:
        out.print()
        print_explanations(found.hits)
    print_footer(found, stages=explain)
