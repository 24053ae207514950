"""`mnemic goals`: what an owner wants to achieve."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, cast

import typer
from rich.text import Text

from mnemic.cli.opening import memory_from, run_call
from mnemic.cli.options import Channel, DataDir, Embedder, Json, Owner, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, remark, table
from mnemic.types.goal import GOAL_FIELDS, GOAL_STATUSES, PRIORITY_DEFAULT, Goal, GoalField, GoalStatus

app = typer.Typer(no_args_is_help=True, help="Goals: deadlines, sub-goals, blockers.")

GoalId = Annotated[str, typer.Argument(help="The id of the goal, from `mnemic goals list`.")]
BlockerId = Annotated[str, typer.Argument(help="The id of the goal that has to be completed first.")]
Priority = Annotated[int, typer.Option(help="0 to 10; 10 is the most urgent.")]
Deadline = Annotated[str | None, typer.Option(help="When it is due: a date, or a date and time.")]
Parent = Annotated[str | None, typer.Option(help="The id of the goal that it is a part of.")]


@app.command("create")
def create(
    content: Annotated[str, typer.Argument(help="The goal, in a sentence.")],
    owner: Owner = None,
    priority: Priority = PRIORITY_DEFAULT,
    deadline: Deadline = None,
    parent: Parent = None,
    blocked_by: Annotated[
        list[str] | None, typer.Option(help="The id of a goal that it waits for; may be repeated.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be repeated.")] = None,
    channel: Channel = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Store a goal."""
    memory = memory_from(
        url, data_dir, tenant, owner=owner, channel=channel, embedder=embedder, creates_tenant=True
    )
    goal = run_call(
        memory,
        lambda opened: opened.goals.create(
            content,
            priority=priority,
            deadline=deadline,
            parent=parent,
            blocked_by=blocked_by or (),
            tags=tag,
        ),
    )
    _print_goal("Created", goal, json=json)


@app.command("get")
def get(
    goal_id: GoalId,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Show one goal."""
    memory = memory_from(url, data_dir, tenant, owner=owner)
    goal = run_call(memory, lambda opened: opened.goals.get(goal_id))
    if json:
        print_json(asdict(goal))
    else:
        _print_table([goal])
        if goal.result is not None:
            print_line(f"Result: {one_line(goal.result)}")


@app.command("list")
def list_goals(
    owner: Owner = None,
    status: Annotated[
        list[str] | None,
        typer.Option(help=f"Only in this status; may be repeated. One of: {', '.join(GOAL_STATUSES)}."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Also completed and abandoned goals.")] = False,
    due_before: Annotated[str | None, typer.Option(help="Only due before this date or time.")] = None,
    parent: Annotated[str | None, typer.Option(help="Only sub-goals of this goal.")] = None,
    in_channel: Annotated[str | None, typer.Option("--channel", help="Only of this channel.")] = None,
    after: Annotated[
        str | None, typer.Option(help="Continue after this id, the last of the previous page.")
    ] = None,
    limit: Annotated[int, typer.Option(help="Maximum number to list.")] = 100,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List goals in the order in which they are due; by default open ones."""
    statuses = status or (GOAL_STATUSES if every else ("active", "blocked"))
    memory = memory_from(url, data_dir, tenant, owner=owner)
    goals = run_call(
        memory,
        lambda opened: opened.goals.list(
            statuses=cast(Sequence[GoalStatus], statuses),
            due_before=due_before,
            parent=parent,
            channel=in_channel,
            after=after,
            limit=limit,
        ),
    )
    if json:
        print_json([asdict(goal) for goal in goals])
    elif goals:
        _print_table(goals)
    else:
        remark("No such goals. `mnemic goals create` makes one.")


@app.command("update")
def update(
    goal_id: GoalId,
    owner: Owner = None,
    status: Annotated[GoalStatus | None, typer.Option(help="Its new status.")] = None,
    priority: Annotated[int | None, typer.Option(help="0 to 10; 10 is the most urgent.")] = None,
    deadline: Deadline = None,
    result: Annotated[str | None, typer.Option(help="How it ended.")] = None,
    parent: Parent = None,
    clear: Annotated[
        list[str] | None,
        typer.Option(help=f"Remove this; may be repeated. One of: {', '.join(GOAL_FIELDS)}."),
    ] = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Change a goal: complete it, abandon it, move its deadline."""
    memory = memory_from(url, data_dir, tenant, owner=owner)
    goal = run_call(
        memory,
        lambda opened: opened.goals.update(
            goal_id,
            status=status,
            priority=priority,
            deadline=deadline,
            result=result,
            parent=parent,
            clear=cast(Sequence[GoalField], clear or ()),
        ),
    )
    _print_goal("Updated", goal, json=json)


@app.command("block")
def block(
    goal_id: GoalId,
    blocker_id: BlockerId,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Make a goal wait for another one."""
    memory = memory_from(url, data_dir, tenant, owner=owner)
    _print_goal(
        "Blocked", run_call(memory, lambda opened: opened.goals.block(goal_id, blocker_id)), json=json
    )


@app.command("unblock")
def unblock(
    goal_id: GoalId,
    blocker_id: BlockerId,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Stop a goal from waiting for another one."""
    memory = memory_from(url, data_dir, tenant, owner=owner)
    goal = run_call(memory, lambda opened: opened.goals.unblock(goal_id, blocker_id))
    _print_goal("Unblocked", goal, json=json)


@app.command("delete")
def delete(
    goal_id: GoalId,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Forget a goal; `mnemic memories restore` brings it back."""
    memory = memory_from(url, data_dir, tenant, owner=owner)
    deleted = run_call(memory, lambda opened: opened.goals.delete(goal_id))
    if json:
        print_json({"deleted": deleted})
    else:
        print_line("Deleted." if deleted else "There is no such goal.")


def _print_goal(what: str, goal: Goal, *, json: bool) -> None:
    if json:
        print_json(asdict(goal))
    else:
        print_line(f"{what}: {one_line(goal.content)} ({goal.status}, {goal.goal_id}).")


def _print_table(goals: Sequence[Goal]) -> None:
    listing = table("id", "goal", "status", "due", "priority", "waits for")
    for goal in goals:
        due = f"{goal.deadline:%Y-%m-%d %H:%M}" if goal.deadline is not None else ""
        waiting = "\n".join(map(str, goal.open_blockers))
        listing.add_row(
            str(goal.goal_id), Text(one_line(goal.content)), goal.status, due, str(goal.priority), waiting
        )
    out.print(listing)
