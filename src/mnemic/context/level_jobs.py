"""The job that lets the language model write levels of texts in open sessions, each text once."""

import logging
from collections.abc import AsyncIterator

from mnemic.context.level_store import level_parameters
from mnemic.context.level_writing import (
    FAILED,
    TEXT_MAX_BYTES,
    TEXT_MIN_BYTES,
    LevelWriter,
    Written,
)
from mnemic.context.levels.level import Source
from mnemic.context.saved_rows import as_text
from mnemic.db.connection import Row
from mnemic.errors import LanguageModelError, SpendCapError
from mnemic.jobs.handlers import JsonValue, RunningJob
from mnemic.runtime.core import Core
from mnemic.runtime.job_types import DefaultSchedule, JobTable, JobType

logger = logging.getLogger("mnemic.context")

EVERY_S = 10 * 60
ACTIVE_S = 60 * 60
"""Sessions that were not used for so long are left alone: their texts may never be shown again."""
CALLS_MAX = 30
"""Texts of one run; the next run continues."""
FAILURES_MAX = 3
"""A run ends after so many failed calls, so that an outage does not use up the single call of many texts."""


async def write_levels(core: Core, job: RunningJob) -> JsonValue:
    """`context.levels`: write levels 1 and 2 of texts that may be paged, if a language model is configured.

    A spend cap parks the job; what was written before is kept.
    """
    if core.language_model is None or core.settings.context_levels == "rules":
        return {"text_count": 0, "failed_count": 0}
    writer = LevelWriter(core.language_model)
    text_count, failed_count = 0, 0
    try:
        async for row in _wanted(core, job.owner):
            is_answered = await _write(core, writer, row)
            text_count += is_answered
            failed_count += not is_answered
            await job.report(done=text_count)
            if failed_count == FAILURES_MAX:
                break
    finally:
        database = core.storage.tenant_database
        parameters = {"owner": job.owner}
        await database.run(
            lambda transaction: transaction.execute("context_levels.count_in_sessions", parameters)
        )
    return {"text_count": text_count, "failed_count": failed_count}


async def _wanted(core: Core, owner: str | None) -> AsyncIterator[Row]:
    parameters = {
        "owner": owner,
        "active_s": ACTIVE_S,
        "min_bytes": TEXT_MIN_BYTES,
        "max_bytes": TEXT_MAX_BYTES,
    }
    for _ in range(CALLS_MAX):
        async with core.storage.tenant_database.transaction() as transaction:
            row = await transaction.first("context_levels.wanted", parameters)
        if row is None:
            return
        yield row


async def _write(core: Core, writer: LevelWriter, row: Row) -> bool:
    """Ask the model about one text, and store what came of it; returns whether it answered."""
    source = Source(as_text(row["content"]), row["type"], row["tool"], row["source_key"], row["is_error"])
    try:
        written = await writer.write(source)
    except SpendCapError:
        raise
    except LanguageModelError as error:
        logger.warning("%s wrote no levels: %s", writer.name, error)
        written = FAILED
    await _store(core, writer, row, written)
    return written is not FAILED


async def _store(core: Core, writer: LevelWriter, row: Row, written: Written) -> None:
    parameters = {
        "owner": row["owner"],
        "content_hash": row["content_hash"],
        **level_parameters(written.accepted, made_by="model", maker=writer.name, dropped=written.dropped),
    }
    await core.storage.tenant_database.run(
        lambda transaction: transaction.execute("context_levels.store", parameters)
    )
    counts = core.call_metrics.context_levels
    counts["written"] += len(written.accepted)
    counts.update(written.dropped.values())


JOBS = JobTable(
    (JobType("context.levels", write_levels, DefaultSchedule("context levels", every_s=EVERY_S)),)
)
