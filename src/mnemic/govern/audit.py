"""The audit log of acts that destroy or export much: the intent is written first, the outcome afterwards.

An act is *intended* once its first row is committed, in a transaction of its own, before anything is
changed. A second row records that it *succeeded* or *failed*. If the process dies in between, there is no
second row: the act is *unfinished*, and `unfinished_acts` finds it. ::

    async with audited(database, scope, action="delete_entity", target=name) as act:
        async with database.transaction() as transaction:
            act.outcome(relations=await delete(transaction))
            await act.commit_with(transaction)

`commit_with` writes the outcome in the act's own transaction, so that both commit together. An act without a
transaction (a backup into a file) leaves it out, and the outcome is written when the block ends. An exception
that leaves the block makes it `failed`. An act that ends elsewhere, in a job or in a database that replaces
this one, is handed over (`hand_over`) and ended there by its id (`end_act`).

Each row names the owner and process of the scope, and the API key and request of a call through a server.

Rows outlive what they are about. An act that erases an owner therefore has no owner itself, and its target is
the id of a receipt, not the name. The log holds no text of memories: where the message of an error may quote
some (`keeps_message=False`), only the type of the error is kept.
"""

import logging
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, get_args
from uuid import UUID

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.json_value import as_jsonb_object
from mnemic.db.pagination import newest_first
from mnemic.errors import MnemicError
from mnemic.types.checks import check_choice, check_text, check_window
from mnemic.types.identity import new_id
from mnemic.types.page import check_limit
from mnemic.types.scope import Scope, check_name
from mnemic.types.traces import ActOutcome, AuditedOperation, AuditRecord, Phase

TARGET_MAX_CHARACTERS = 1024
ERROR_MAX_CHARACTERS = 1024

logger = logging.getLogger(__name__)


def audited(
    database: TenantDatabase,
    scope: Scope,
    *,
    action: str,
    target: str,
    detail: dict[str, Any] | None = None,
    keeps_message: bool = True,
) -> "AuditedAct":
    """A block for an audited act; entering it commits the intent. `detail` holds the parameters of the act.

    `keeps_message` is False where the message of an error may quote stored text.
    """
    act = {
        "owner": scope.owner,
        "process": scope.process,
        "action": check_name("action", action),
        "target": check_text("target", target, max_characters=TARGET_MAX_CHARACTERS),
    }
    asked = detail or {}
    as_jsonb_object("detail", asked)
    return AuditedAct(database, act, _request_context(scope) | asked, keeps_message=keeps_message)


def without_owner(scope: Scope) -> Scope:
    """The scope without its owner, for acts that concern several: erasing one must keep their records."""
    return replace(scope, owner=None)


def file_target(path: Path) -> str:
    """A file as the target of an act: its absolute path, or the end of it if that is too long."""
    shown = str(path.absolute()).encode(errors="replace").decode()
    return shown[-TARGET_MAX_CHARACTERS:]


class AuditedAct:
    """An act between its intent and its outcome."""

    def __init__(
        self, database: TenantDatabase, act: dict[str, Any], detail: dict[str, Any], *, keeps_message: bool
    ) -> None:
        self._database = database
        self._act = act
        self._detail = detail
        self._keeps_message = keeps_message
        self._outcome: dict[str, Any] = {}
        self._has_outcome = False
        self.intent_id = new_id()

    async def __aenter__(self) -> Self:
        """Commit the intent. If that is not possible, the act does not begin."""
        async with self._database.transaction() as transaction:
            await self._write(transaction, "intent", self._detail)
        return self

    def outcome(self, **counts: object) -> None:
        """Add details to the outcome, for example row counts; they must be JSON."""
        as_jsonb_object("outcome", counts)
        self._outcome |= counts

    async def commit_with(self, transaction: Transaction) -> None:
        """Record success in the transaction of the act."""
        await self._write(transaction, "succeeded", self._outcome)
        self._has_outcome = True

    def hand_over(self) -> None:
        """Let other code write the outcome, by `intent_id`; a failure in this block is still written."""
        self._has_outcome = True

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Write the outcome, unless it was committed with the act or handed over."""
        if error is not None:
            await self._write_failure(error)
        elif not self._has_outcome:
            async with self._database.transaction() as transaction:
                await self._write(transaction, "succeeded", self._outcome)

    async def _write_failure(self, error: BaseException) -> None:
        """Record the failure. If that fails, too, the act stays unfinished; the caller gets its own error.

        If the connection broke during the commit, the act may have succeeded: then its outcome exists, and
        the database refuses a second one.
        """
        try:
            async with self._database.transaction() as transaction:
                described = described_error(error, keeps_message=self._keeps_message)
                await self._write(transaction, "failed", self._outcome | described)
        except MnemicError:
            logger.warning(
                "The act %s (%s) stays unfinished in the audit log.", self._act["action"], self.intent_id
            )

    async def _write(self, transaction: Transaction, phase: Phase, detail: dict[str, Any]) -> None:
        is_intent = phase == "intent"
        parameters = {
            **self._act,
            "tenant_id": transaction.tenant.id,
            "audit_id": self.intent_id if is_intent else new_id(),
            "intent_id": None if is_intent else self.intent_id,
            "phase": phase,
            "detail": as_jsonb_object("detail", detail),
        }
        await transaction.execute("audit.write", parameters)


async def end_act(
    transaction: Transaction, intent_id: UUID, phase: Literal["succeeded", "failed"], detail: dict[str, Any]
) -> None:
    """Write the outcome of an act that was handed over; does nothing if it has one, or does not exist."""
    parameters = {
        "audit_id": new_id(),
        "intent_id": intent_id,
        "phase": phase,
        "detail": as_jsonb_object("detail", detail),
    }
    await transaction.execute("audit.end", parameters)


async def list_acts(
    database: TenantDatabase,
    scope: Scope,
    *,
    action: str | None,
    since: datetime | str | None,
    until: datetime | str | None,
    before: UUID | str | None,
    limit: int,
) -> list[AuditRecord]:
    """Intents and outcomes, newest first: those of the scope's owner, or all if it has none."""
    parameters = {
        "owner": scope.owner,
        "action": check_name("action", action) if action is not None else None,
        **check_window(since, until),
    }
    rows = await newest_first(database, "audit", parameters, before=before, limit=limit)
    return [AuditRecord(**row) for row in rows]


async def list_operations(
    database: TenantDatabase,
    scope: Scope,
    *,
    action: str | None,
    outcome: ActOutcome | None,
    since: datetime | str | None,
    until: datetime | str | None,
    before: UUID | str | None,
    limit: int,
) -> list[AuditedOperation]:
    """Intents with their outcomes, newest first: those of the scope's owner, or all if it has none."""
    wanted = check_choice("outcome", outcome, get_args(ActOutcome)) if outcome is not None else None
    parameters = {
        "owner": scope.owner,
        "action": check_name("action", action) if action is not None else None,
        "outcome": wanted,
        "only_unfinished": wanted == "unfinished",
        **check_window(since, until),
    }
    queries = "acts" if wanted in (None, "unfinished") else "ended_acts"
    rows = await newest_first(database, queries, parameters, before=before, limit=limit)
    return [AuditedOperation(**row) for row in rows]


async def unfinished_acts(database: TenantDatabase, scope: Scope, *, limit: int) -> list[AuditRecord]:
    """Intents without an outcome, newest first: acts that still run, or were interrupted."""
    parameters = {"owner": scope.owner, "limit": check_limit(limit)}
    async with database.transaction() as transaction:
        return [AuditRecord(**row) for row in await transaction.rows("audit.unfinished", parameters)]


def described_error(error: BaseException, *, keeps_message: bool = False) -> dict[str, Any]:
    """Type and message of an error. Only Mnemic's own messages are kept: others may quote anything."""
    described = {"error": type(error).__name__}
    if keeps_message and isinstance(error, MnemicError):
        message = str(error)[:ERROR_MAX_CHARACTERS].replace("\0", "")
        described["message"] = message.encode(errors="replace").decode()
    return described


def _request_context(scope: Scope) -> dict[str, Any]:
    """The API key and the request of a call through a server."""
    context = {
        "key_id": str(scope.key_id) if scope.key_id is not None else None,
        "request_id": scope.request_id,
    }
    return {name: value for name, value in context.items() if value is not None}
