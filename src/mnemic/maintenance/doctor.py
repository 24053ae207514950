"""Check everything that Mnemic depends on, and advise on what is wrong.

Checks run from the bottom up: machine, folder, server, migrations, role, policies. After a failed check the
others still run, except those that depend on it.
"""

import platform
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from mnemic.config import Settings
from mnemic.db.access import DATABASE_NAME
from mnemic.db.embedded import ADMIN_ROLE, account_status, missing_cpu_features
from mnemic.db.embedded import status as server_status
from mnemic.db.migrate import read_status
from mnemic.db.vector_index import INDEX_MIN_ROWS, INDEXES_MAX, may_build
from mnemic.embeddings.indexes import IndexSurvey, OwnerIndex, admin_conninfo, survey_indexes
from mnemic.embeddings.model_change import read_change
from mnemic.errors import MnemicError, NotFoundError
from mnemic.models.embedding import open_embedder
from mnemic.models.failure_report import detail_of
from mnemic.runtime.storage import Storage, check_settings, limits_of, open_storage
from mnemic.types.embedding import ModelChange

OWNERS_SHOWN_MAX = 5
PIDS_SHOWN_MAX = 5
FREE_DISK_WARN_BYTES = 1 << 30
OLDEST_VECTOR_VERSION = (0, 7)

NO_INDEXES = IndexSurvey((), 0, ())

State = Literal["ok", "warning", "failed"]


@dataclass(frozen=True)
class Check:
    """The result of one check; `advice` says what to do unless the state is ok."""

    name: str
    state: State
    found: str
    advice: str = ""


@dataclass(frozen=True)
class Report:
    """All checks, and the locations. `dsn` is the embedded server's URL, for psql and other tools."""

    checks: tuple[Check, ...]
    data_dir: str | None
    dsn: str | None

    @property
    def healthy(self) -> bool:
        """Whether nothing failed; warnings are allowed."""
        return all(check.state != "failed" for check in self.checks)


async def diagnose(settings: Settings) -> Report:
    """Run every check against the database that the settings name."""
    embedded = settings.database_url is None
    checks = [*_machine_checks(settings, embedded=embedded)]
    dsn = None
    try:
        check_settings(settings)
        storage = await open_storage(settings)
    except NotFoundError as error:
        checks.append(Check("tenant", "failed", "unknown", str(error)))
    except MnemicError as error:
        checks.append(Check("server", "failed", type(error).__name__, str(error)))
    else:
        try:
            dsn = embedded_dsn(storage)
            checks += [check async for check in _server_checks(storage, settings, dsn)]
        finally:
            await storage.aclose()
    return Report(tuple(checks), str(settings.data_dir) if embedded else None, dsn)


def embedded_dsn(storage: Storage) -> str | None:
    """The administrator's URL of the embedded server, or None for the user's own server."""
    if storage.server is None:
        return None
    return f"postgresql://{ADMIN_ROLE}@/{DATABASE_NAME}?host={quote(str(storage.server.socket_dir), safe='')}"


def _machine_checks(settings: Settings, *, embedded: bool) -> Iterator[Check]:
    yield Check("python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    if not embedded:
        return
    missing = missing_cpu_features()
    if missing:
        yield Check(
            "cpu",
            "failed",
            f"lacks {', '.join(missing)}",
            "The shipped pgvector needs them. Use a PostgreSQL of your own: set MNEMIC_DATABASE_URL.",
        )
    else:
        yield Check("cpu", "ok", "has what the shipped pgvector needs")
    yield _disk_check(settings.data_dir)


def _account_check(data_dir: Path) -> Check | None:
    """Whether other processes run as the server's OS user, and so can read and change all data."""
    found = account_status(data_dir, server_status(data_dir).pid)
    if found is None:
        return None
    if found.is_former:
        return Check(
            "server account",
            "warning",
            f"{found.name}: every service of that user can read and change all data",
            "Stop the server and open the folder as root without MNEMIC_SERVER_USER: the data then get a "
            "user id of their own. Where that fails, set MNEMIC_SERVER_USER to a user of Mnemic only.",
        )
    if found.foreign_pids:
        pids = ", ".join(map(str, found.foreign_pids[:PIDS_SHOWN_MAX]))
        return Check(
            "server account",
            "warning",
            f"{found.name}, as which other processes run: {pids}",
            "They can read and change all data. Run them as another user.",
        )
    others = "the owner of the data folder" if found.is_owner else "as which nothing else runs"
    return Check("server account", "ok", f"{found.name}, {others}")


def _disk_check(data_dir: Path) -> Check:
    existing = next(folder for folder in (data_dir, *data_dir.absolute().parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    found = f"{free / 1e9:.1f} GB free at {data_dir}"
    if free < FREE_DISK_WARN_BYTES:
        return Check("disk", "warning", found, "Free some space, or move the folder and set MNEMIC_DATA_DIR.")
    return Check("disk", "ok", found)


async def _server_checks(storage: Storage, settings: Settings, dsn: str | None) -> AsyncIterator[Check]:
    access = storage.database.access
    where = "embedded" if dsn is not None else "at the URL"
    yield Check("server", "ok", f"PostgreSQL {access.server_version}, {where}")
    if dsn is not None and (account := _account_check(settings.data_dir)):
        yield account
    yield _vector_check(access.vector_version)
    yield await _migration_check(dsn or access.conninfo(), settings)
    async with storage.database.transaction(storage.tenant) as transaction:
        role = await transaction.one("doctor.role")
        unprotected = [row["table_name"] for row in await transaction.rows("doctor.unprotected_tables")]
        open_activity = await transaction.one("doctor.open_activity")
        locale = await transaction.one("doctor.locale")
        retention = await transaction.one("doctor.retention_lag")
    yield _locale_check(locale)
    if role["is_superuser"] or role["bypasses_policies"]:
        yield Check("role", "failed", f"{role['role']} gets around policies", "Work with a plain login role.")
    else:
        yield Check("role", "ok", f"{role['role']} is a plain login")
    if unprotected:
        yield Check(
            "row security",
            "failed",
            f"missing on {', '.join(unprotected)}",
            "CALL mnemic.protect(table) on each.",
        )
    else:
        yield Check("row security", "ok", "forced on every table")
    yield _activity_check(open_activity["function_count"])
    yield _clock_check(retention["lag_days"])
    yield Check("tenant", "ok", f"{storage.tenant.name} ({storage.tenant.id})")
    yield await _embedder_check(settings)
    change = await read_change(storage.tenant_database)
    yield _model_check(change, settings)
    yield await _backlog_check(storage)
    yield await _index_check(storage, settings, change.model)


def _activity_check(open_count: int) -> Check:
    """Whether SQL of one tenant could see or end the sessions of others, which have the same login."""
    if open_count:
        return Check(
            "activity",
            "warning",
            f"{open_count} functions of PostgreSQL show every tenant what others run, or end it",
            "A superuser can withhold them: CALL mnemic.withhold_activity();",
        )
    return Check("activity", "ok", "withheld from other tenants")


def _clock_check(lag_days: float) -> Check:
    """Whether retention follows the server's clock, see `retention/retention_time.sql`."""
    if lag_days < 1:
        return Check("clock", "ok", "retention follows the server's clock")
    return Check(
        "clock",
        "warning",
        f"the server's clock has jumped; old rows are kept {lag_days:,.0f} days longer",
        "If the clock is wrong, correct it now. If it is right, it is followed after a week.",
    )


async def _embedder_check(settings: Settings) -> Check:
    """Embed one word, which loads the model or calls the provider."""
    try:
        embedder = open_embedder(settings.embedder)
        try:
            vector = await embedder.embed_query("doctor")
        finally:
            await embedder.aclose()
    except MnemicError as error:
        cause = f" The cause: {detail_of(error.__cause__)}" if error.__cause__ is not None else ""
        return Check("embedder", "failed", settings.embedder, f"{error}{cause}")
    return Check("embedder", "ok", f"{embedder.name}, {len(vector)} dimensions")


def _model_check(change: ModelChange, settings: Settings) -> Check:
    """Whether the serving model is the configured one, and the progress of a change."""
    if change.model is None:
        return Check("embedding model", "ok", "nothing is embedded yet")
    if change.next_model is not None:
        done = max(change.memory_count - change.waiting_count, 0)
        found = (
            f"{change.model}; changing to {change.next_model}: {done:,} of {change.memory_count:,} memories"
        )
        if change.refused_count:
            found += f", {change.refused_count:,} refused"
        if change.job_id is None:
            return Check("embedding model", "warning", found, "No job runs: run `mnemic reembed` again.")
        return Check("embedding model", "ok", found)
    try:
        configured = open_embedder(settings.embedder).name
    except MnemicError as error:
        return Check("embedding model", "warning", change.model, str(error))
    if configured != change.model:
        advice = f"`mnemic reembed` changes to {configured}; or configure {change.model}."
        return Check("embedding model", "warning", f"{change.model}, not the configured {configured}", advice)
    return Check("embedding model", "ok", change.model)


async def _backlog_check(storage: Storage) -> Check:
    """How many memories have no vector, so that only lexical search finds them."""
    async with storage.tenant_database.transaction() as transaction:
        size = await transaction.one("vectors.backlog_size")
    found = f"{size['waiting']:,} memories wait for a vector, {size['refused']:,} were refused by the model"
    if size["waiting"]:
        return Check(
            "embedding backlog", "warning", found, "A worker embeds them; or run `mnemic embed` now."
        )
    if size["refused"]:
        return Check("embedding backlog", "warning", found, "Only lexical search finds them.")
    return Check("embedding backlog", "ok", "none")


async def _index_check(storage: Storage, settings: Settings, model: str | None) -> Check:
    """Which owners with many vectors have an index."""
    survey = await survey_indexes(storage.tenant_database, model) if model is not None else NO_INDEXES
    missing = survey.missing
    if not survey.owners:
        return Check("vector indexes", "ok", f"no owner has more than {INDEX_MIN_ROWS:,} vectors")
    found = ", ".join(map(_in_words, survey.owners[:OWNERS_SHOWN_MAX]))
    if len(survey.owners) > OWNERS_SHOWN_MAX:
        found += f" and {len(survey.owners) - OWNERS_SHOWN_MAX} more; {len(missing)} not indexed"
    if not missing:
        return Check("vector indexes", "ok", found)
    return Check("vector indexes", "warning", found, await _index_advice(storage, settings, survey))


def _in_words(large: OwnerIndex) -> str:
    size = "not indexed" if large.size_bytes is None else f"index of {large.size_bytes / 1e6:.0f} MB"
    return f"{large.owner}: {large.vector_count:,} vectors, {size}"


async def _index_advice(storage: Storage, settings: Settings, survey: IndexSurvey) -> str:
    if survey.index_count >= INDEXES_MAX:
        return f"The model has {INDEXES_MAX} indexes, the most it can have: the others are searched exactly."
    if await may_build(admin_conninfo(storage, settings), limits_of(settings)):
        return "Recall has it made when it meets the owner. To have it now, run `mnemic index`."
    return "This login may not make it: an administrator can run `mnemic index`. Until then search is exact."


def _vector_check(version: str) -> Check:
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_VECTOR_VERSION:
        return Check("pgvector", "failed", version, "Mnemic needs 0.7 or newer: update the extension.")
    return Check("pgvector", "ok", version)


def _locale_check(locale: Mapping[str, Any]) -> Check:
    """Whether words are folded to lower case, and whether indexes have the order of this server."""
    found = f"ctype {locale['ctype']}"
    if locale["built_version"] != locale["server_version"]:
        return Check(
            "locale",
            "warning",
            f"collation version {locale['server_version']}, the indexes have {locale['built_version']}",
            "After an upgrade of the operating system, texts may sort differently. Run REINDEX DATABASE, "
            "then ALTER DATABASE … REFRESH COLLATION VERSION.",
        )
    if not locale["knows_letters"]:
        return Check(
            "locale",
            "warning",
            f"{found} treats letters differently from Unicode",
            "Lexical search then takes “ and — for letters or distinguishes É from é, or I from i. Restore a "
            "backup into a new data folder, or into a database made with LC_CTYPE 'C.UTF-8'.",
        )
    return Check("locale", "ok", f"{found}, folds letters beyond ASCII")


async def _migration_check(conninfo: str, settings: Settings) -> Check:
    status = await read_status(conninfo, limits_of(settings))
    if not status.is_current:
        found = (
            f"{len(status.pending)} pending, "
            f"{len(status.outdated) + len(status.removed)} outdated definitions"
        )
        return Check("migrations", "failed", found, "Run `mnemic migrate`.")
    return Check("migrations", "ok", f"{len(status.applied)} applied, none pending")
