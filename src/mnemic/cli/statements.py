"""`mnemic statements`: statements found in what was said, and how contradictions are decided."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, cast

import typer
from rich.text import Text

from mnemic.cli.empty_lists import reason_for_empty
from mnemic.cli.opening import memory_from, run_call
from mnemic.cli.options import DataDir, Json, Owner, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, table
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.memory import STATUSES, Status
from mnemic.types.scope import Scope
from mnemic.types.statement import CONTRADICTION_POLICIES, ContradictionPolicy, Statement

app = typer.Typer(no_args_is_help=True, help="Show statements; set how contradictions are decided.")

Subject = Annotated[str | None, typer.Option(help="Only about this person or thing.")]
Attribute = Annotated[str | None, typer.Option(help="Only this attribute, such as lives_in.")]
WithStatus = Annotated[str, typer.Option(help=f"One of: {', '.join(STATUSES)}.")]
Limit = Annotated[int, typer.Option(help="Maximum number.")]
NO_STATEMENTS = "No statements. `mnemic consolidate` learns them from what was said."
OfChannel = Annotated[str | None, typer.Option("--channel", help="Of this channel. Default: the tenant.")]


@app.command("list")
def list_(
    owner: Owner = None,
    subject: Subject = None,
    attribute: Attribute = None,
    status: WithStatus = "active",
    limit: Limit = 100,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List statements, newest first."""

    async def listed(memory: AsyncMemory) -> tuple[Sequence[Statement], str]:
        found = await memory.statements.list(
            subject=subject, attribute=attribute, status=cast(Status, status), limit=limit
        )
        return found, "" if found else await reason_for_empty(memory, NO_STATEMENTS)

    found, empty = run_call(memory_from(url, data_dir, tenant, owner=owner), listed)
    if json:
        print_json([asdict(each) for each in found])
        return
    rows = table("id", "subject", "attribute", "statement", empty=empty)
    for each in found:
        words = (each.subject, each.attribute, each.statement)
        rows.add_row(str(each.memory_id), *(Text(one_line(word)) for word in words))
    out.print(rows)


@app.command("rejected")
def rejected(
    owner: Owner = None,
    limit: Limit = 100,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List statements that were proposed and not accepted, with the reasons, newest first."""
    found = run_call(
        memory_from(url, data_dir, tenant, owner=owner),
        lambda memory: memory.statements.rejected(limit=limit),
    )
    if json:
        print_json([asdict(each) for each in found])
        return
    rows = table("source", "extractor", "reason", "statement", empty="No statement was rejected.")
    for each in found:
        said = one_line(str(each.statement.get("statement", "")))
        rows.add_row(str(each.source_id), Text(each.extractor), Text(each.reason), Text(said))
    out.print(rows)


@app.command("attributes")
def attributes(
    url: Url = None, data_dir: DataDir = None, tenant: TenantName = None, json: Json = False
) -> None:
    """List the attributes that the tenant has declared."""
    found = run_call(memory_from(url, data_dir, tenant), lambda memory: memory.statements.attributes())
    if json:
        print_json([asdict(each) for each in found])
        return
    rows = table("attribute", "values", empty="No attributes are declared.")
    for each in found:
        rows.add_row(Text(one_line(each.attribute)), "one" if each.is_single_valued else "many")
    out.print(rows)


@app.command("set-attribute")
def set_attribute(
    attribute: Annotated[str, typer.Argument(help="The attribute, such as team.")],
    single: Annotated[bool, typer.Option("--single/--many", help="One value at a time, or many.")] = True,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Declare whether an attribute has one value at a time."""
    declared = run_call(
        memory_from(url, data_dir, tenant),
        lambda memory: _of_tenant(memory).statements.set_attribute(attribute, is_single_valued=single),
    )
    if json:
        print_json(asdict(declared))
        return
    print_line(f"{declared.attribute} has {'one value at a time' if single else 'many values'}.")


@app.command("policies")
def policies(
    url: Url = None, data_dir: DataDir = None, tenant: TenantName = None, json: Json = False
) -> None:
    """List the policies for contradictions that were set."""
    found = run_call(memory_from(url, data_dir, tenant), lambda memory: memory.statements.policies())
    if json:
        print_json([asdict(each) for each in found])
        return
    rows = table("channel", "policy", empty="No policies are set.")
    for each in found:
        rows.add_row(Text(one_line(each.channel or "(tenant)")), each.policy)
    out.print(rows)


@app.command("set-policy")
def set_policy(
    policy: Annotated[str, typer.Argument(help=f"One of: {', '.join(CONTRADICTION_POLICIES)}.")],
    channel: OfChannel = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Set what happens to statements that contradict known ones."""
    rule = run_call(
        memory_from(url, data_dir, tenant),
        lambda memory: _of_tenant(memory).statements.set_policy(
            cast(ContradictionPolicy, policy), channel=channel
        ),
    )
    if json:
        print_json(asdict(rule))
        return
    print_line(f"Contradictions: {policy}.")


def _of_tenant(memory: AsyncMemory) -> AsyncMemory:
    """The memory without an owner: these settings concern all owners."""
    return memory._in_scope(Scope(None, memory.channel, memory.process))
