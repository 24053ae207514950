"""`mnemic strategies`: how tasks were solved, and how well that worked."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from mnemic.cli.opening import memory_from, run_call
from mnemic.cli.options import Channel, DataDir, Embedder, Json, Owner, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, remark, table
from mnemic.types.strategy import Strategy, ToolStatistics

app = typer.Typer(no_args_is_help=True, help="Strategies for tasks, and statistics of tools.")

Task = Annotated[str, typer.Argument(help="The kind of task, in general words.")]
StrategyId = Annotated[str, typer.Argument(help="The id of the strategy, from `mnemic strategies list`.")]
Outcome = Annotated[
    bool | None,
    typer.Option("--succeeded/--failed", help="How its use went; --failed keeps it as a warning."),
]
FromConversation = Annotated[
    str | None, typer.Option("--conversation", help="The conversation in which it was used.")
]
Note = Annotated[str | None, typer.Option(help="What happened.")]


@app.command("learn")
def learn(
    task: Task,
    content: Annotated[str, typer.Argument(help="What to do.")],
    owner: Owner = None,
    tool: Annotated[
        list[str] | None, typer.Option("--tool", help="A tool that it needs, in order; may be repeated.")
    ] = None,
    succeeded: Outcome = None,
    conversation: FromConversation = None,
    note: Note = None,
    channel: Channel = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Store what to do for a kind of task."""
    memory = memory_from(
        url, data_dir, tenant, owner=owner, channel=channel, embedder=embedder, creates_tenant=True
    )
    learnt = run_call(
        memory,
        lambda opened: opened.strategies.learn(
            task, content, tools=tool or (), succeeded=succeeded, conversation=conversation, note=note
        ),
    )
    _print_strategy("Learnt", learnt, json=json)


@app.command("find")
def find(
    task: Task,
    owner: Owner = None,
    limit: Annotated[int, typer.Option(help="Maximum number to show.")] = 5,
    channel: Channel = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Find strategies for a task, best first, warnings last."""
    memory = memory_from(url, data_dir, tenant, owner=owner, channel=channel, embedder=embedder)
    found = run_call(memory, lambda opened: opened.strategies.find(task, limit=limit))
    _print_strategies(found, json=json)


@app.command("list")
def list_strategies(
    owner: Owner = None,
    tool: Annotated[str | None, typer.Option(help="Only those that use this tool.")] = None,
    mined: Annotated[
        bool | None, typer.Option("--mined/--learnt", help="Only those that Mnemic found itself, or did not.")
    ] = None,
    before: Annotated[
        str | None, typer.Option(help="Continue after this id, the last of the previous page.")
    ] = None,
    limit: Annotated[int, typer.Option(help="Maximum number to list.")] = 100,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List strategies, newest first."""
    memory = memory_from(url, data_dir, tenant, owner=owner)
    listed = run_call(
        memory,
        lambda opened: opened.strategies.list(tool=tool, mined=mined, before=before, limit=limit),
    )
    _print_strategies(listed, json=json)


@app.command("reinforce")
def reinforce(
    strategy_id: StrategyId,
    succeeded: Annotated[bool, typer.Option("--succeeded/--failed", help="How its use went.")],
    owner: Owner = None,
    conversation: FromConversation = None,
    note: Note = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Record that a strategy was used, and whether it succeeded."""
    memory = memory_from(url, data_dir, tenant, owner=owner)
    reinforced = run_call(
        memory,
        lambda opened: opened.strategies.reinforce(
            strategy_id, succeeded, conversation=conversation, note=note
        ),
    )
    _print_strategy("Reinforced", reinforced, json=json)


@app.command("tools")
def tools(
    owner: Owner = None,
    task: Annotated[str | None, typer.Option(help="Only calls in conversations about such a task.")] = None,
    since: Annotated[str | None, typer.Option(help="Only calls since this date or time.")] = None,
    limit: Annotated[int, typer.Option(help="Maximum number of tools.")] = 100,
    channel: Channel = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Show how often each tool was called, its success and its duration."""
    memory = memory_from(url, data_dir, tenant, owner=owner, channel=channel, embedder=embedder)
    counted = run_call(memory, lambda opened: opened.strategies.tools(task=task, since=since, limit=limit))
    if json:
        print_json([asdict(each) for each in counted])
    elif counted:
        _print_tools(counted)
    else:
        remark("No tool calls are recorded.")


def _print_strategy(what: str, strategy: Strategy, *, json: bool) -> None:
    if json:
        print_json(asdict(strategy))
    else:
        print_line(f"{what}: {one_line(strategy.task)} ({_uses(strategy)}, {strategy.strategy_id}).")


def _print_strategies(found: Sequence[Strategy], *, json: bool) -> None:
    if json:
        print_json([asdict(each) for each in found])
        return
    if not found:
        remark("No such strategies. `mnemic strategies learn` stores one.")
        return
    listing = table("id", "task", "what to do", "tools", "uses")
    for each in found:
        words = (each.task, each.content, ", ".join(each.tools))
        listing.add_row(str(each.strategy_id), *(Text(one_line(word)) for word in words), _uses(each))
    out.print(listing)


def _uses(strategy: Strategy) -> str:
    counted = f"worked {strategy.success_count}, failed {strategy.failure_count}"
    return f"warning: {counted}" if strategy.is_warning else counted


def _print_tools(counted: Sequence[ToolStatistics]) -> None:
    listing = table("tool", "calls", "success", "mean ms", "last used")
    for each in counted:
        duration = f"{each.mean_duration_ms:.0f}" if each.mean_duration_ms is not None else ""
        listing.add_row(
            Text(one_line(each.tool)),
            str(each.call_count),
            f"{each.success_rate:.0%}",
            duration,
            f"{each.last_used_at:%Y-%m-%d}",
        )
    out.print(listing)
