"""`mnemic working`: the working memory of a conversation."""

import json as json_module
from dataclasses import asdict
from typing import Annotated, Any

import typer

from mnemic.cli.opening import memory_from, run_call
from mnemic.cli.options import Channel, DataDir, Json, Owner, TenantName, Url
from mnemic.cli.output import one_line, print_json, print_line, remark
from mnemic.mind.working import EXPIRES_IN_S_DEFAULT, TURNS_DEFAULT
from mnemic.types.working import WorkingMemory

app = typer.Typer(
    no_args_is_help=True, help="Working memory: values, thoughts and the active goal, until they expire."
)

Key = Annotated[str, typer.Argument(help="The key of the value.")]
Conversation = Annotated[
    str | None, typer.Option("--conversation", help="The conversation. Default: the channel as a whole.")
]
ExpiresInS = Annotated[float, typer.Option(help="Seconds until it expires, 1 to 604800.")]


@app.command("show")
def show(
    owner: Owner = None,
    conversation: Conversation = None,
    turns: Annotated[int, typer.Option(help="How many of the last turns to show.")] = TURNS_DEFAULT,
    channel: Channel = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Show everything: active goal, values, thoughts, last turns."""
    memory = memory_from(url, data_dir, tenant, owner=owner, channel=channel)
    held = run_call(memory, lambda opened: opened.working.read(conversation=conversation, turns=turns))
    if json:
        print_json(asdict(held))
    else:
        _print_held(held)


@app.command("set")
def set_value(
    key: Key,
    value: Annotated[str, typer.Argument(help="The value: JSON, or else a text.")],
    owner: Owner = None,
    conversation: Conversation = None,
    expires_in_s: ExpiresInS = EXPIRES_IN_S_DEFAULT,
    channel: Channel = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Write a value."""
    memory = memory_from(url, data_dir, tenant, owner=owner, channel=channel, creates_tenant=True)
    kept = run_call(
        memory,
        lambda opened: opened.working.set(
            key, _parsed(value), expires_in_s=expires_in_s, conversation=conversation
        ),
    )
    if json:
        print_json(asdict(kept))
    else:
        print_line(f"Set: {one_line(kept.key)}, until {kept.expires_at:%Y-%m-%d %H:%M:%S} UTC.")


@app.command("get")
def get_value(
    key: Key,
    owner: Owner = None,
    conversation: Conversation = None,
    channel: Channel = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Print a value as JSON."""
    memory = memory_from(url, data_dir, tenant, owner=owner, channel=channel)
    kept = run_call(memory, lambda opened: opened.working.get(key, conversation=conversation))
    if json:
        print_json(asdict(kept) if kept is not None else None)
    elif kept is not None:
        print_json(kept.value)
    else:
        remark("There is no such value.")


@app.command("delete")
def delete_value(
    key: Key,
    owner: Owner = None,
    conversation: Conversation = None,
    channel: Channel = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Delete a value."""
    memory = memory_from(url, data_dir, tenant, owner=owner, channel=channel)
    deleted = run_call(memory, lambda opened: opened.working.delete(key, conversation=conversation))
    if json:
        print_json({"deleted": deleted})
    else:
        print_line("Deleted." if deleted else "There is no such value.")


@app.command("think")
def think(
    content: Annotated[str, typer.Argument(help="The thought.")],
    owner: Owner = None,
    conversation: Conversation = None,
    expires_in_s: ExpiresInS = EXPIRES_IN_S_DEFAULT,
    channel: Channel = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Note a thought."""
    memory = memory_from(url, data_dir, tenant, owner=owner, channel=channel, creates_tenant=True)
    thought = run_call(
        memory,
        lambda opened: opened.working.add_thought(
            content, expires_in_s=expires_in_s, conversation=conversation
        ),
    )
    if json:
        print_json(asdict(thought))
    else:
        print_line(f"Noted, until {thought.expires_at:%Y-%m-%d %H:%M:%S} UTC.")


@app.command("goal")
def active_goal(
    goal_id: Annotated[
        str | None, typer.Argument(help="The id of the goal to work on. Default: show it.")
    ] = None,
    owner: Owner = None,
    conversation: Conversation = None,
    expires_in_s: ExpiresInS = EXPIRES_IN_S_DEFAULT,
    channel: Channel = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Show or choose the goal that is worked on."""
    memory = memory_from(url, data_dir, tenant, owner=owner, channel=channel)
    if goal_id is None:
        goal = run_call(memory, lambda opened: opened.working.active_goal(conversation=conversation))
    else:
        goal = run_call(
            memory,
            lambda opened: opened.working.set_active_goal(
                goal_id, expires_in_s=expires_in_s, conversation=conversation
            ),
        )
    if json:
        print_json(asdict(goal) if goal is not None else None)
    elif goal is not None:
        print_line(f"{one_line(goal.content)} ({goal.goal_id})")
    else:
        remark("There is no active goal.")


@app.command("clear")
def clear(
    owner: Owner = None,
    conversation: Conversation = None,
    everywhere: Annotated[
        bool, typer.Option("--everywhere", help="In all channels and conversations of the owner.")
    ] = False,
    channel: Channel = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Delete values, thoughts and the active goal; the turns stay."""
    memory = memory_from(url, data_dir, tenant, owner=owner, channel=channel)
    count = run_call(
        memory, lambda opened: opened.working.clear(conversation=conversation, everywhere=everywhere)
    )
    if json:
        print_json({"cleared": count})
    else:
        print_line(f"Cleared: {count}")


def _parsed(value: str) -> Any:
    try:
        return json_module.loads(value)
    except (ValueError, RecursionError):
        return value


def _print_held(held: WorkingMemory) -> None:
    if held.goal is not None:
        print_line(f"goal     {one_line(held.goal.content)} ({held.goal.goal_id})")
    for value in held.values:
        shown = json_module.dumps(value.value, ensure_ascii=False)
        print_line(f"value    {one_line(value.key)}: {one_line(shown)}")
    for thought in held.thoughts:
        print_line(f"thought  {one_line(thought.content)}")
    for turn in held.turns:
        who = turn.name or turn.role
        print_line(f"turn     {one_line(f'{who}: {turn.content}' if who else turn.content)}")
    if held.goal is None and not (held.values or held.thoughts or held.turns):
        remark("The working memory is empty.")
