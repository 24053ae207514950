"""`mnemic consolidate`: learn now from what was said since the last pass."""

import asyncio
from dataclasses import asdict
from typing import Annotated, Any, cast

import typer

from mnemic.cli.job_progress import follow_job
from mnemic.cli.opening import memory_from
from mnemic.cli.options import Channel, DataDir, Embedder, Json, Owner, TenantName, Url
from mnemic.cli.output import print_json, print_line
from mnemic.consolidation.jobs import CONSOLIDATE_JOB
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.statement import CONTRADICTION_POLICIES, ContradictionPolicy

Conversation = Annotated[str | None, typer.Option(help="Only this conversation of the owner.")]
AllOwners = Annotated[bool, typer.Option("--all", help="All owners, by a job.")]
Policy = Annotated[
    str | None,
    typer.Option(help=f"What happens to contradictions, in this pass: {', '.join(CONTRADICTION_POLICIES)}."),
]


def consolidate(
    owner: Owner = None,
    all_owners: AllOwners = False,
    conversation: Conversation = None,
    policy: Policy = None,
    channel: Channel = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Learn from new turns, notes and documents of an owner, or of all owners."""
    # For all owners this command waits for a job, so it works on it, also where no other worker runs.
    opened = memory_from(url, data_dir, tenant, owner=owner, channel=channel, embedder=embedder, worker=True)

    async def run() -> dict[str, Any]:
        async with opened as memory:
            if all_owners:
                return await _of_all_owners(memory, quiet=json)
            learnt = await memory.consolidate(
                conversation=conversation,
                policy=cast("ContradictionPolicy | None", policy),
                progress=not json,
            )
            return asdict(learnt)

    counts = asyncio.run(run())
    if json:
        print_json(counts)
        return
    print_line(
        f"Texts read: {counts['source_count']:,}. Statements: {counts['statement_count']:,} new, "
        f"{counts['repeated_count']:,} known, {counts['superseded_count']:,} superseded, "
        f"{counts['rejected_count']:,} rejected. Summaries: {counts['summary_count']:,}."
    )


async def _of_all_owners(memory: AsyncMemory, *, quiet: bool) -> dict[str, Any]:
    job_id = (await memory.jobs.enqueue(CONSOLIDATE_JOB)).job_id
    await follow_job(memory, job_id, "consolidating", quiet=quiet)
    status = await memory.jobs.status(job_id)
    return cast("dict[str, Any]", status.result)
