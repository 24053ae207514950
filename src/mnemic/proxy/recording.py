"""Records a conversation: what the user and the assistant said as turns, tool calls with their results.

A request repeats the whole conversation, so everything has an identity by which it is recorded once: a turn
the hash of its text and how often it occurred before, a call the id that the model gave it. All of a request
and its response is one transaction, after the response is complete. Hidden calls are not recorded: what they
return was recalled, and must not become a memory again.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from mnemic.context.entry import Entry
from mnemic.db.database import Transaction
from mnemic.db.json_value import as_jsonb
from mnemic.retain.pipeline import retain_items
from mnemic.runtime.core import Caller
from mnemic.types.retained import Retained

RESULT_MAX_CHARACTERS = 20_000
"""Of a tool's result in the record; the pager stores the full text."""
ARGUMENTS_MAX_BYTES = 20_000
TURN_MAX_CHARACTERS = 100_000
"""Longer turns are pasted files."""
TOOL_MAX_CHARACTERS = 256
CALLS_MAX_BYTES = 64 * 1024**2
CALL_ID_MAX_CHARACTERS = 512
OMITTED = " […]"

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
"""What clients put into the user's message by themselves."""
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Turn:
    """Something that was said."""

    external_id: str
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool of the client, with its result."""

    call_id: str
    tool: str
    arguments: dict[str, Any]
    result: str
    succeeded: bool


@dataclass(frozen=True, slots=True)
class Recording:
    """What a request and its response add to the record."""

    turns: tuple[Turn, ...]
    calls: tuple[ToolCall, ...]

    @property
    def ids(self) -> frozenset[str]:
        """Identities of all that is recorded."""
        return frozenset(turn.external_id for turn in self.turns) | {call.call_id for call in self.calls}


def recording_of(session: str, entries: Sequence[Entry], said: str, known: Set[str]) -> Recording:
    """What is new in a request and in the text of the response. `known` are identities recorded before."""
    turns = _turns(session, entries, said)
    return Recording(
        tuple(turn for turn in turns if turn.external_id not in known),
        tuple(_call(entry) for entry in entries if entry.role == "result" and entry.key not in known),
    )


async def recorded_ids(caller: Caller, owner: str, session: str) -> set[str]:
    """Identities of what is recorded of a conversation."""
    async with caller.database.transaction() as transaction:
        rows = await transaction.rows("conversations.recorded_ids", {"owner": owner, "conversation": session})
    return {row["id"] for row in rows}


async def record(caller: Caller, owner: str, session: str, recording: Recording) -> None:
    """Store everything or nothing. What was recorded before, also by another process, is left out."""

    async def add_calls(transaction: Transaction, retained: Retained | None = None) -> None:
        if recording.calls:
            calls = [_row(call) for call in recording.calls]
            await transaction.execute(
                "conversations.add_tools",
                {
                    "owner": owner,
                    "conversation": session,
                    "calls": as_jsonb("calls", calls, max_bytes=CALLS_MAX_BYTES),
                },
            )

    if recording.turns:
        items = [
            {"content": turn.text, "role": turn.role, "external_id": turn.external_id}
            for turn in recording.turns
        ]
        await retain_items(caller, items, {"conversation": session}, owner=owner, and_then=add_calls)
    elif recording.calls:
        await caller.database.run(add_calls)


def _turns(session: str, entries: Iterable[Entry], said: str) -> list[Turn]:
    spoken = [(entry.role, entry.text) for entry in entries if entry.role in ("user", "assistant")]
    seen: Counter[str] = Counter()
    turns = []
    for role, text in [*spoken, ("assistant", said)]:
        words = spoken_words(text)
        if words:
            digest = sha256(f"{session}\0{role}\0{words}".encode()).hexdigest()[:32]
            turns.append(Turn(f"{digest}:{seen[digest]}", role, _shortened(words, TURN_MAX_CHARACTERS)))
            seen[digest] += 1
    return turns


def _call(entry: Entry) -> ToolCall:
    return ToolCall(
        entry.key[:CALL_ID_MAX_CHARACTERS],
        _storable(entry.tool)[:TOOL_MAX_CHARACTERS] or "unknown",
        dict(entry.arguments),
        _shortened(_storable(entry.text), RESULT_MAX_CHARACTERS),
        not entry.is_error,
    )


def _row(call: ToolCall) -> dict[str, Any]:
    arguments = _storable_value(call.arguments)
    if len(str(arguments)) > ARGUMENTS_MAX_BYTES:
        arguments = {name: _shortened(str(value), 1_000) for name, value in list(arguments.items())[:20]}
    return {
        "tool": call.tool,
        "arguments": arguments,
        "result": call.result,
        "succeeded": call.succeeded,
        "call_id": call.call_id,
    }


def spoken_words(text: str) -> str:
    """What somebody said, without what the client added."""
    return _storable(_REMINDER.sub("", text)).strip()


def _storable(text: str) -> str:
    """Text that the database can store: without NUL and halves of surrogate pairs."""
    return _NOT_STORABLE.sub("\ufffd", text)


def _storable_value(value: Any) -> Any:
    if isinstance(value, str):
        return _storable(value)
    if isinstance(value, dict):
        return {_storable(str(name)): _storable_value(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_storable_value(each) for each in value]
    return value


def _shortened(text: str, max_characters: int) -> str:
    return text if len(text) <= max_characters else text[: max_characters - len(OMITTED)] + OMITTED
