"""Consolidation: read what was said since the last pass, once, and keep what was learnt.

Statements of which the replacement was forgotten meanwhile come back first (`extraction/restoring.py`). Then
notes are read, because anchored notes decide about claims in conversations, then conversations; the new
turns of several are read together in full batches, so that a language model is asked once for twenty turns.
A batch of sources is read with no transaction open, and what was found is committed in one transaction with
the marks that the sources were read. So a pass can be killed at any time, run twice, and run in several
workers: a source is read once. The position up to which a conversation was read only saves looking at its
marks again.

If the settings name a language model as the extractor and it fails, the rules read the batch instead.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import cast
from uuid import UUID

from mnemic.consolidation.summaries import summarise_conversation
from mnemic.db.connection import Row
from mnemic.db.database import Transaction
from mnemic.extraction.fallback import extract_or_fall_back, open_extractor
from mnemic.extraction.protocol import Extractor, SourceText
from mnemic.extraction.restoring import restore_replaced
from mnemic.extraction.rules import RulesExtractor
from mnemic.extraction.storing import SourceBatch, StoredStatements
from mnemic.runtime.core import Caller, Core
from mnemic.types.checks import check_choice
from mnemic.types.consolidated import Consolidated
from mnemic.types.scope import Scope, check_name
from mnemic.types.statement import CONTRADICTION_POLICIES, ContradictionPolicy

BATCH_SOURCES = 60
"""Sources that are read and committed together."""
PAGE_CONVERSATIONS = 100
PAGE_NOTES = 600
"""Notes that one query reads: it sorts all that are due."""
DOCUMENT_CHUNKS_MAX = 200
"""Chunks at the beginning of a document that are read."""
PROCESS = "consolidation"
NIL = UUID(int=0)

OnProgress = Callable[[int], None]


@dataclass(frozen=True)
class Selection:
    """What a pass reads: of all owners or one, all conversations and notes or one conversation."""

    owner: str | None = None
    conversation: str | None = None
    policy: ContradictionPolicy | None = None


@dataclass
class _Counts:
    """Totals of a pass so far."""

    conversations: int = 0
    sources: int = 0
    statements: int = 0
    repeated: int = 0
    rejected: int = 0
    superseded: int = 0
    summaries: int = 0
    on_progress: OnProgress = field(default=lambda count: None)

    def add(self, stored: StoredStatements) -> None:
        self.statements += stored.stored_count
        self.repeated += stored.repeated_count
        self.rejected += stored.rejected_count
        self.superseded += stored.superseded_count

    def read(self, source_count: int) -> None:
        self.sources += source_count
        self.on_progress(self.sources)

    def result(self) -> Consolidated:
        return Consolidated(
            conversation_count=self.conversations,
            source_count=self.sources,
            statement_count=self.statements,
            repeated_count=self.repeated,
            rejected_count=self.rejected,
            superseded_count=self.superseded,
            summary_count=self.summaries,
        )


def check_selection(scope: Scope, conversation: object, policy: object) -> Selection:
    """Check the arguments of a pass for one owner; InvalidInputError names the wrong one."""
    name = check_name("conversation", conversation) if conversation is not None else None
    chosen = check_choice("policy", policy, CONTRADICTION_POLICIES) if policy is not None else None
    return Selection(scope.require_owner(), name, cast("ContradictionPolicy | None", chosen))


async def consolidate(
    core: Core, selection: Selection, on_progress: OnProgress = lambda count: None
) -> Consolidated:
    """Read everything that is due. `on_progress` gets the number of sources read so far."""
    counts = _Counts(on_progress=on_progress)
    await restore_replaced(core.storage.tenant_database, selection.owner)
    rules = RulesExtractor()
    reader = _Reader(core, open_extractor(core, rules), rules, selection, counts)
    if selection.conversation is None:
        async for scope, rows in _due_notes(core, selection):
            await reader.read(scope, rows)
    await _consolidate_conversations(reader, _due_conversations(core, selection))
    return counts.result()


@dataclass(frozen=True)
class _Reader:
    """Reads batches of sources of one owner and channel."""

    core: Core
    extractor: Extractor
    rules: Extractor
    selection: Selection
    counts: _Counts

    async def read(self, scope: Scope, rows: Sequence[Row]) -> None:
        """Read those sources that nobody has read, and store what they say."""
        unread = [row for row in rows if not row["is_read"]]
        while unread:
            batch = SourceBatch(
                scope,
                [_source(row) for row in unread],
                self.extractor.name,
                {row["memory_id"]: row["provenance"] for row in unread},
            )
            caller = Caller(self.core, scope)
            stored = await extract_or_fall_back(
                caller, self.extractor, self.rules, batch, policy=self.selection.policy
            )
            self.counts.add(stored)
            if not stored.already_read:
                self.counts.read(len(unread))
                return
            # Another worker has read some of them meanwhile, and nothing was stored: read the others alone.
            left = await self._still_unread(unread)
            unread = left if len(left) < len(unread) else []

    async def _still_unread(self, rows: Sequence[Row]) -> list[Row]:
        parameters = {"ids": [row["memory_id"] for row in rows]}
        async with self.core.storage.tenant_database.transaction() as transaction:
            unread = await transaction.rows("consolidation.unread", parameters)
        ids = {row["memory_id"] for row in unread}
        return [row for row in rows if row["memory_id"] in ids]


def _source(row: Row) -> SourceText:
    return SourceText(
        row["memory_id"],
        row["text"],
        row["role"],
        row["name"],
        row["at"],
        row["position"],
        is_document=row["is_document"],
        conversation=row["conversation"],
    )


async def _due_notes(core: Core, selection: Selection) -> AsyncIterator[tuple[Scope, Sequence[Row]]]:
    after = ("", NIL)
    while True:
        parameters = {
            "owner": selection.owner,
            "after_owner": after[0],
            "after_id": after[1],
            "chunks_max": DOCUMENT_CHUNKS_MAX,
            "limit": PAGE_NOTES,
        }
        async with core.storage.tenant_database.transaction() as transaction:
            rows = await transaction.rows_unprepared("consolidation.due_notes", parameters)
        if not rows:
            return
        ordered = sorted(rows, key=lambda row: (row["owner"], row["channel"]))
        for (owner, channel), group in groupby(ordered, key=lambda row: (row["owner"], row["channel"])):
            notes = list(group)
            for start in range(0, len(notes), BATCH_SOURCES):
                yield Scope(owner, channel, PROCESS), notes[start : start + BATCH_SOURCES]
        after = (rows[-1]["owner"], rows[-1]["memory_id"])


async def _due_conversations(core: Core, selection: Selection) -> AsyncIterator[Row]:
    after = ("", "")
    while True:
        parameters = {
            "owner": selection.owner,
            "conversation": selection.conversation,
            "after_owner": after[0],
            "after_conversation": after[1],
            "limit": PAGE_CONVERSATIONS,
        }
        async with core.storage.tenant_database.transaction() as transaction:
            rows = await transaction.rows("consolidation.due_conversations", parameters)
        for row in rows:
            yield row
        if len(rows) < PAGE_CONVERSATIONS:
            return
        after = (rows[-1]["owner"], rows[-1]["conversation"])


async def _consolidate_conversations(reader: _Reader, due: AsyncIterator[Row]) -> None:
    """Read the new turns of all due conversations, in full batches of one owner and channel."""
    waiting = _WaitingTurns(reader)
    async for row in due:
        await waiting.add(row)
    await waiting.read_all()


@dataclass
class _WaitingTurns:
    """New turns of one owner and channel that wait until they fill a batch, in order.

    `ends` are the conversations of which all new turns wait or were read, each with the number of waiting
    turns up to its last one.
    """

    reader: _Reader
    turns: list[Row] = field(default_factory=list)
    ends: list[tuple[Row, int]] = field(default_factory=list)

    async def add(self, conversation: Row) -> None:
        """Let the new turns of a conversation wait; reads every batch that is full."""
        if self.ends and _scope(self.ends[-1][0]) != _scope(conversation):
            await self.read_all()
        position = conversation["next_position"]
        while position < conversation["turn_count"]:
            turns = await _turns(self.reader.core, conversation, position)
            is_last = len(turns) < BATCH_SOURCES
            if not is_last and turns[0]["position"] < turns[-1]["position"]:
                # The last turn may go on: all its chunks are read from the next page.
                turns = [turn for turn in turns if turn["position"] < turns[-1]["position"]]
            position = conversation["turn_count"] if is_last else turns[-1]["position"] + 1
            self.turns += [turn for turn in turns if not turn["is_read"]]
            if len(self.turns) >= BATCH_SOURCES:
                await self._read_batch(_scope(conversation))
                position_read = self._first_waiting(conversation, position)
                if position_read < conversation["turn_count"]:
                    await _advance(self.reader.core, conversation, position_read)
        self.ends.append((conversation, len(self.turns)))

    async def read_all(self) -> None:
        """Read all waiting turns and finish their conversations."""
        while self.ends:
            await self._read_batch(_scope(self.ends[0][0]))

    async def _read_batch(self, scope: Scope) -> None:
        batch, self.turns = self.turns[:BATCH_SOURCES], self.turns[BATCH_SOURCES:]
        await self.reader.read(scope, batch)
        ended = [conversation for conversation, count in self.ends if count <= len(batch)]
        self.ends = [(each, count - len(batch)) for each, count in self.ends if count > len(batch)]
        for conversation in ended:
            await _finish(self.reader, conversation)

    def _first_waiting(self, conversation: Row, position: int) -> int:
        """The position of the first turn of a conversation that waits; `position` if none does."""
        positions = (
            turn["position"] for turn in self.turns if turn["conversation"] == conversation["conversation"]
        )
        return next(positions, position)


async def _finish(reader: _Reader, row: Row) -> None:
    """Renew the summary of a conversation whose turns were read, and note that they were."""
    reader.counts.conversations += 1
    caller = Caller(reader.core, _scope(row))
    if await summarise_conversation(caller, row["conversation"], row["turn_count"]):
        reader.counts.summaries += 1
    # Last: a pass that is killed before it leaves the conversation due, so that its summary is not missed.
    await _advance(reader.core, row, row["turn_count"])


def _scope(row: Row) -> Scope:
    return Scope(row["owner"], row["channel"], PROCESS)


async def _turns(core: Core, conversation: Row, position: int) -> list[Row]:
    parameters = {**_key(conversation), "from_position": position, "limit": BATCH_SOURCES}
    async with core.storage.tenant_database.transaction() as transaction:
        return await transaction.rows("consolidation.turns", parameters)


async def _advance(core: Core, conversation: Row, next_position: int) -> None:
    parameters = {**_key(conversation), "next_position": next_position}

    async def write(transaction: Transaction) -> int:
        return await transaction.execute("consolidation.advance", parameters)

    await core.storage.tenant_database.run(write)


def _key(conversation: Row) -> dict[str, str]:
    return {"owner": conversation["owner"], "conversation": conversation["conversation"]}
