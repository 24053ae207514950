"""Stores how the provider's transcript of a session differs from the client's.

A session begins with the hidden tools and the opening, as they were first sent. Each turn that called hidden
tools is an exchange. Each change of what was already sent is a cut of thinking. All are stored before they
matter: the start and a cut before the request is sent, an exchange before the client sees the end of its
turn. So a process that is killed at any moment leaves nothing that the next request would need.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.proxy.json_text import dump_json, load_json
from mnemic.proxy.protocol import Exchange, HiddenTool, ThinkingCut
from mnemic.proxy.turn_keys import response_key
from mnemic.types.scope import Scope, check_name

EXCHANGES_MAX = 2_000
"""Exchanges of one session, more than a window holds: the oldest are of turns that clients no longer send."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """What every request of a session repeats."""

    opening: str | None
    tools: tuple[HiddenTool, ...]
    exchanges: Mapping[str, Exchange] = field(default_factory=dict)
    cuts: tuple[ThinkingCut, ...] = ()


async def load_transcript(database: TenantDatabase, scope: Scope, session: str) -> Transcript | None:
    """The transcript of a session; None if no request of it was changed."""
    async with database.transaction() as transaction:
        row = await transaction.first("context_exchanges.load", _place(scope, session))
    if row is None:
        return None
    return Transcript(
        *_start(row),
        exchanges={
            key: _exchange(key, content) for key, content in zip(row["keys"], row["contents"], strict=True)
        },
        cuts=tuple(ThinkingCut(*cut) for cut in row["cuts"]),
    )


async def begin_transcript(
    database: TenantDatabase,
    scope: Scope,
    session: str,
    *,
    opening: str | None,
    tools: Sequence[HiddenTool],
    cut: ThinkingCut | None = None,
) -> Transcript:
    """Store the start of a session, and return it: that of another request, if one was first.

    `cut` is for a conversation that began without the proxy (`thinking_cuts.cut_at_start`).
    """
    parameters = _start_parameters(scope, session, opening, tools)
    async with database.transaction() as transaction:
        row = await transaction.one("context_exchanges.begin", parameters)
        if cut is not None:
            await store_cut(transaction, scope, session, cut)
    return Transcript(*_start(row), cuts=(cut,) if cut is not None else ())


async def copy_transcript(
    database: TenantDatabase, scope: Scope, session: str, transcript: Transcript
) -> None:
    """Store a transcript as a new session. If the session exists, only exchanges that it lacks are added."""
    stored = await load_transcript(database, scope, session)
    if stored is None:
        start = _start_parameters(scope, session, transcript.opening, transcript.tools)
        async with database.transaction() as transaction:
            await transaction.one("context_exchanges.begin", start)
            for cut in transcript.cuts:
                await store_cut(transaction, scope, session, cut)
            for exchange in transcript.exchanges.values():
                await transaction.execute(
                    "context_exchanges.store", _exchange_parameters(scope, session, exchange)
                )
        return
    for key in transcript.exchanges.keys() - stored.exchanges.keys():
        await store_exchange(database, scope, session, transcript.exchanges[key])


async def store_exchange(database: TenantDatabase, scope: Scope, session: str, exchange: Exchange) -> None:
    """Store a turn that called hidden tools, in one statement."""
    parameters = _exchange_parameters(scope, session, exchange)
    async with database.transaction() as transaction:
        await transaction.execute("context_exchanges.store", parameters)


async def session_of_response(database: TenantDatabase, scope: Scope, response_id: str) -> str | None:
    """The session of a response that the provider stores, by the id that the client knows."""
    parameters = {"owner": scope.require_owner(), "key": response_key(response_id)}
    async with database.transaction() as transaction:
        row = await transaction.first("context_exchanges.session_of", parameters)
    return str(row["session"]) if row is not None else None


async def find_response(
    database: TenantDatabase, scope: Scope, response_id: str
) -> tuple[Exchange, frozenset[str]] | None:
    """The exchange of a response that the provider stores, and names of the hidden tools of its session."""
    parameters = {"owner": scope.require_owner(), "key": response_key(response_id)}
    async with database.transaction() as transaction:
        row = await transaction.first("context_exchanges.of_response", parameters)
    if row is None:
        return None
    hidden = frozenset(str(tool["name"]) for tool in load_json(bytes(row["tools"])))
    return _exchange(parameters["key"], row["content"]), hidden


async def store_cut(transaction: Transaction, scope: Scope, session: str, cut: ThinkingCut) -> None:
    """Store which thinking a change made unfit, in the transaction of the change."""
    parameters = {
        **_place(scope, session),
        "first_key": cut.first,
        "last_turn": cut.last,
        "kept_from": cut.kept_from,
    }
    await transaction.execute("context_exchanges.cut", parameters)


def _place(scope: Scope, session: str) -> dict[str, Any]:
    return {"owner": scope.require_owner(), "session": check_name("session", session)}


def _start_parameters(
    scope: Scope, session: str, opening: str | None, tools: Sequence[HiddenTool]
) -> dict[str, Any]:
    return {
        **_place(scope, session),
        "opening": _as_bytes(opening) if opening is not None else None,
        "tools": dump_json([_definition(tool) for tool in tools]),
    }


def _exchange_parameters(scope: Scope, session: str, exchange: Exchange) -> dict[str, Any]:
    content = {
        "items": list(exchange.items),
        "results": list(exchange.results),
        "response_ids": dict(exchange.response_ids),
    }
    return {
        **_place(scope, session),
        "key": exchange.key,
        "content": dump_json(content),
        "limit": EXCHANGES_MAX,
    }


def _start(row: Row) -> tuple[str | None, tuple[HiddenTool, ...]]:
    opening = row["opening"]
    text = bytes(opening).decode("utf-8", "surrogatepass") if opening is not None else None
    return text, tuple(HiddenTool(**tool) for tool in load_json(bytes(row["tools"])))


def _definition(tool: HiddenTool) -> Mapping[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}


def _exchange(key: str, content: bytes) -> Exchange:
    return Exchange(key, **load_json(bytes(content)))


def _as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
