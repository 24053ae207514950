"""The audit log: who destroys something, or carries much away, says so first, and then what came of it.

An act is *intended* from the moment its first row is committed, on its own, before anything is
touched. Then it has *succeeded* or *failed*, which a second row says. If the process dies in
between, there is no second row: the act is *unfinished*, and `unfinished_acts` finds it. ::

    async with audited(database, scope, action="delete_entity", target=name) as act:
        async with database.transaction() as transaction:
            act.outcome(relations=await delete(transaction))
            await act.commit_with(transaction)

`commit_with` writes the outcome in the act's own transaction, so that the act and the word that it
succeeded are there together or not at all. An act that has no transaction (a backup into a file) leaves it
out, and the outcome is written when the block ends. An exception that leaves the block makes it `failed`.
An act that ends elsewhere, in a job or in a database that takes this one's place, is handed over
(`hand_over`) and ended there by its id (`end_act`).

Who did it: the scope's owner and process, and the API key and the request if it came through a server.

What is written here stays when the thing it speaks of is gone. An act that erases its owner is therefore
nobody's (a scope without owner) and names its target by a digest, not in clear. The log holds no text of
memories: where an error's message may quote some (`keeps_message=False`), its type is all that is kept.
"""

import logging
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self
from uuid import UUID

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.json_value import as_jsonb_object
from mnemic.db.pagination import newest_first
from mnemic.errors import MnemicError
from mnemic.types.checks import check_text, check_window
from mnemic.types.identity import new_id
from mnemic.types.page import check_limit
from mnemic.types.scope import Scope, check_name
from mnemic.types.traces import AuditRecord, Phase

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
    """The block in which an act happens; entering it commits the intent. `detail` says what was asked for.

    `keeps_message` is False where the message of an error may quote what is stored.
    """
    act = {
        "owner": scope.owner,
        "process": scope.process,
        "action": check_name("action", action),
        "target": check_text("target", target, max_characters=TARGET_MAX_CHARACTERS),
    }
    asked = detail or {}
    as_jsonb_object("detail", asked)
    return AuditedAct(database, act, _came_by(scope) | asked, keeps_message=keeps_message)


def nobodys(scope: Scope) -> Scope:
    """The scope of an act that concerns more than one owner: erasing the one who asked must not erase it."""
    return replace(scope, owner=None)


def file_target(path: Path) -> str:
    """A file as the target of an act: its whole path, or the end of it where that is too long."""
    said = str(path.absolute()).encode(errors="replace").decode()
    return said[-TARGET_MAX_CHARACTERS:]


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
        self._is_told = False
        self.intent_id = new_id()

    async def __aenter__(self) -> Self:
        """Commit the intent. If that is not possible, the act does not begin."""
        async with self._database.transaction() as transaction:
            await self._write(transaction, "intent", self._detail)
        return self

    def outcome(self, **counts: object) -> None:
        """Add to what the outcome will say, for example how many rows are gone; it must be JSON."""
        as_jsonb_object("outcome", counts)
        self._outcome |= counts

    async def commit_with(self, transaction: Transaction) -> None:
        """Write that the act succeeded in the transaction that does it."""
        await self._write(transaction, "succeeded", self._outcome)
        self._is_told = True

    def hand_over(self) -> None:
        """Leave the outcome to whoever ends the act by its `intent_id`; a failure here is still written."""
        self._is_told = True

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Write the outcome, unless it was committed with the act, or somebody else will write it."""
        if error is not None:
            await self._write_failure(error)
        elif not self._is_told:
            async with self._database.transaction() as transaction:
                await self._write(transaction, "succeeded", self._outcome)

    async def _write_failure(self, error: BaseException) -> None:
        """Say that it failed. If that fails, too, the act stays unfinished; the caller gets its own error.

        When the connection broke at the very commit, the act may have succeeded after all; then its
        outcome is there, and the database does not take a second one.
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
    """Write the outcome of an act that was handed over; nothing if there is no such intent, or it has one."""
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


async def unfinished_acts(database: TenantDatabase, scope: Scope, *, limit: int) -> list[AuditRecord]:
    """Intents without an outcome, newest first: acts that still run, or were cut short."""
    parameters = {"owner": scope.owner, "limit": check_limit(limit)}
    async with database.transaction() as transaction:
        return [AuditRecord(**row) for row in await transaction.rows("audit.unfinished", parameters)]


def described_error(error: BaseException, *, keeps_message: bool = False) -> dict[str, Any]:
    """The error in words. A message that is not ours may quote anything, so only its type is kept."""
    described = {"error": type(error).__name__}
    if keeps_message and isinstance(error, MnemicError):
        said = str(error)[:ERROR_MAX_CHARACTERS].replace("\0", "")
        described["message"] = said.encode(errors="replace").decode()
    return described


def _came_by(scope: Scope) -> dict[str, Any]:
    """The key and the request of a call that came through a server."""
    came_by = {
        "key_id": str(scope.key_id) if scope.key_id is not None else None,
        "request_id": scope.request_id,
    }
    return {name: value for name, value in came_by.items() if value is not None}
