"""Audit admin calls that change something: which API key made which call, and how it ended.

Some calls write their own audit records, over HTTP as well as in Python (`SELF_AUDITED_CALLS`); their memory
knows the key and the request. The dashboard audits calls of the role write as well (`guarded_memory.py`). For
every other admin call the intent is committed after authentication and before the call begins, and the
outcome before the response is sent. The record names the route by its template, without the names and ids in
the path, because erased names must not stay in the log.
"""

from http import HTTPStatus
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mnemic.db.database import TenantDatabase
from mnemic.errors import MnemicError
from mnemic.govern.audit import AuditedAct, audited
from mnemic.sdk.http.surface import Route
from mnemic.types import scope as scopes
from mnemic.types.key import ApiKey

ACTION = "admin_call"
PROCESS = "server"
ACT = "admin_act"

SELF_AUDITED_CALLS = frozenset(
    {
        "admin.erase",
        "admin.reembed",
        "groups.add",
        "groups.create",
        "groups.delete",
        "groups.grant",
        "groups.remove",
        "keys.create",
        "keys.revoke",
        "shares.set_policy",
        "spend.remove_price",
        "spend.set_cap",
        "spend.set_price",
    }
)
"""Calls of `mnemic.sdk.http.surface` that need an admin key and write their own intent and outcome."""

SELF_AUDITED_WRITES = frozenset(
    {
        "channels.drop",
        "cleanup.archive",
        "curation.apply",
        "curation.resolve",
        "curation.set_policy",
        "curation.undo",
        "entities.delete",
        "shares.accept",
        "shares.drop",
        "shares.grant",
        "shares.revoke",
    }
)
"""The same for calls that need a key with the role write."""


def is_audited_by_server(route: Route) -> bool:
    """Whether a call changes something and leaves it to the server to audit that."""
    changes = route.method != "GET" and route.role != "read"
    return changes and route.call not in SELF_AUDITED_CALLS | SELF_AUDITED_WRITES


async def begin_act(scope: Scope, database: TenantDatabase, key: ApiKey) -> None:
    """Commit the intent of a call; `AuditMiddleware` writes its outcome."""
    route = getattr(scope.get("route"), "path", "")
    act = audited(
        database,
        scopes.Scope(owner=None, channel=scopes.GLOBAL_CHANNEL, process=PROCESS),
        action=ACTION,
        target=f"{scope['method']} {route}",
        detail={"key_id": str(key.key_id), "request_id": scope["state"]["request_id"]},
    )
    scope["state"][ACT] = await act.__aenter__()


class AuditMiddleware:
    """Writes the outcome of the act that the route began, if it began one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and write the outcome before its response."""

        async def send_after_outcome(message: Message) -> None:
            if message["type"] == "http.response.start":
                await _end(scope, _failure(message["status"]))
            await send(message)

        try:
            await self._app(scope, receive, send_after_outcome)
        except BaseException as error:
            await _end(scope, error)
            raise


async def _end(scope: Scope, error: BaseException | None) -> None:
    state: dict[str, Any] = scope.get("state", {})
    act: AuditedAct | None = state.pop(ACT, None)
    if act is not None:
        await act.__aexit__(type(error) if error is not None else None, error, None)


def _failure(status: int) -> MnemicError | None:
    if status < HTTPStatus.BAD_REQUEST:
        return None
    return MnemicError(f"The response was {status} {HTTPStatus(status).phrase}.")
