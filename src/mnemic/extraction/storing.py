"""Store accepted statements, and mark their sources as read, in one transaction.

A statement that the owner has already gets a further source and is reinforced. A new one is retained like
any memory; a note that is the statement itself becomes it. The mark's primary key lets only one of two
workers commit: the other one rolls back and finds the sources marked. A plan that was made before another
worker committed is made again.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from mnemic.db.database import Transaction
from mnemic.db.json_value import as_jsonb_object
from mnemic.errors import ConflictError
from mnemic.extraction.attributes import attribute_name, category_of, is_single_valued
from mnemic.extraction.checking import Rejected, folded
from mnemic.extraction.contradictions import NewStatement, resolve_contradictions
from mnemic.extraction.entities import link_statement_entities
from mnemic.extraction.protocol import ProposedStatement, SourceText
from mnemic.record.outdated_memories import mark_by_statements
from mnemic.retain.deduplicate import reinforce
from mnemic.retain.pipeline import retain_items
from mnemic.runtime.core import Caller
from mnemic.types.checks import EVIDENCE_MAX
from mnemic.types.memory import Provenance
from mnemic.types.retained import Duplicate, Retained
from mnemic.types.scope import Scope
from mnemic.types.statement import CONFIDENCES, ContradictionPolicy

PLAN_ATTEMPTS = 5
REJECTED_KEPT_MAX = 20
"""Rejected proposals of one source that are kept; all are counted."""
SHOWN_MAX_CHARACTERS = 500
NOTHING_RETAINED = Retained((), (), (), 0, 0, 0, 0)


@dataclass(frozen=True)
class SourceBatch:
    """Sources of one owner and channel that one extractor has read."""

    scope: Scope
    sources: Sequence[SourceText]
    extractor: str
    provenances: Mapping[UUID, Provenance] = field(default_factory=dict)

    @property
    def ids(self) -> list[UUID]:
        """The ids of the sources."""
        return [source.memory_id for source in self.sources]


@dataclass(frozen=True, slots=True)
class StoredStatements:
    """Totals of a batch. `already_read` says that another worker has read it meanwhile."""

    stored_count: int = 0
    repeated_count: int = 0
    rejected_count: int = 0
    superseded_count: int = 0
    already_read: bool = False


class PlanChangedError(Exception):
    """Another transaction has stored or forgotten one of the statements since the plan was made."""


class AlreadyReadError(Exception):
    """Another worker has read the sources."""


AndThen = Callable[[Transaction], Awaitable[None]]


async def store_statements(
    caller: Caller,
    batch: SourceBatch,
    accepted: Sequence[ProposedStatement],
    rejected: Sequence[Rejected],
    *,
    policy: ContradictionPolicy | None = None,
    and_then: AndThen | None = None,
) -> StoredStatements:
    """Store the statements of a batch and mark its sources, or nothing if they are marked already.

    `policy` says what happens to contradictions; None takes that of the channel or the tenant. `and_then`
    runs in the same transaction.
    """
    groups = _grouped(accepted)
    for _ in range(PLAN_ATTEMPTS):
        async with caller.database.transaction() as transaction:
            known = await _known(transaction, batch, groups)
        writer = _Writer(batch, groups, known, rejected, policy, and_then)
        try:
            return await writer.write(caller)
        except PlanChangedError:
            continue
        except AlreadyReadError:
            return StoredStatements(already_read=True)
    raise ConflictError("Statements of this owner keep changing: consolidate again.")


Group = tuple[ProposedStatement, ...]
"""Proposals that say the same, in the order in which they were said."""


def _grouped(accepted: Sequence[ProposedStatement]) -> list[Group]:
    groups: dict[tuple[str, str, str, bool, bool], list[ProposedStatement]] = {}
    for given in accepted:
        proposal = replace(given, attribute=attribute_name(given.attribute))
        subject, value = folded(proposal.subject), folded(proposal.value)
        key = (subject, proposal.attribute, value, proposal.is_negated, proposal.tense == "past")
        # The group said last comes last: ids decide between statements of the same moment.
        groups[key] = [*groups.pop(key, []), proposal]
    return [tuple(group) for group in groups.values()]


@dataclass(frozen=True)
class _Known:
    """Groups by index: the memory that has the statement already, and those that were forgotten."""

    ids: Mapping[int, UUID]
    forgotten: frozenset[int]


async def _known(transaction: Transaction, batch: SourceBatch, groups: Sequence[Group]) -> _Known:
    if not groups:
        return _Known({}, frozenset())
    said = [(index, proposal) for index, group in enumerate(groups) for proposal in group]
    parameters = {
        "owner": batch.scope.require_owner(),
        "channel": batch.scope.channel,
        "indexes": [index for index, _ in said],
        "subjects": [proposal.subject for _, proposal in said],
        "attributes": [proposal.attribute for _, proposal in said],
        "values": [proposal.value for _, proposal in said],
        "negated": [proposal.is_negated for _, proposal in said],
        "past": [proposal.tense == "past" for _, proposal in said],
        "source_ids": [proposal.source_id for _, proposal in said],
    }
    ids: dict[int, UUID] = {}
    forgotten: set[int] = set()
    for row in await transaction.rows_unprepared("statements.repeated", parameters):
        if row["is_forgotten"]:
            forgotten.add(row["index"])
        else:
            ids.setdefault(row["index"], row["memory_id"])
    return _Known(ids, frozenset(forgotten - ids.keys()))


@dataclass(frozen=True)
class _Writer:
    """Writes one batch: retains the new statements, then everything else in the same transaction."""

    batch: SourceBatch
    groups: Sequence[Group]
    known: _Known
    rejected: Sequence[Rejected]
    policy: ContradictionPolicy | None
    and_then: AndThen | None

    async def write(self, caller: Caller) -> StoredStatements:
        new = [
            index
            for index in range(len(self.groups))
            if index not in self.known.ids and index not in self.known.forgotten
        ]
        result = StoredStatements()

        async def finish(transaction: Transaction, retained: Retained) -> None:
            nonlocal result
            result = await self._finish(transaction, dict(zip(new, retained.memory_ids, strict=True)))

        if new:
            scope = self.batch.scope
            await retain_items(
                Caller(caller.core, scope),
                [self._item(self.groups[index]) for index in new],
                {},
                and_then=finish,
            )
        else:
            await caller.database.run(lambda transaction: finish(transaction, NOTHING_RETAINED))
        return result

    def _item(self, group: Group) -> dict[str, Any]:
        last = group[-1]
        said_at = {source.memory_id: source.at for source in self.batch.sources}
        sources = list(dict.fromkeys(proposal.source_id for proposal in group))
        starts = last.valid_from or (said_at[last.source_id] if last.tense == "current" else None)
        has_period = starts is not None and (last.valid_to is None or last.valid_to > starts)
        return {
            "content": last.statement,
            "category": category_of(last.attribute, last.category),
            "source": "extracted",
            "provenance": self.batch.provenances.get(last.source_id, "witnessed"),
            "confidence": CONFIDENCES[last.certainty],
            "at": said_at[last.source_id],
            "valid_from": starts if has_period else None,
            "valid_to": last.valid_to,
            "evidence": [str(source_id) for source_id in sources[:EVIDENCE_MAX]],
        }

    async def _finish(self, transaction: Transaction, new: Mapping[int, UUID]) -> StoredStatements:
        owner = self.batch.scope.require_owner()
        await transaction.one("statements.lock_owner", {"owner": owner})
        await self._mark(transaction)
        if await _known(transaction, self.batch, self.groups) != self.known:
            raise PlanChangedError
        ids = {**self.known.ids, **new}
        await self._add_statements(transaction, new)
        await self._add_sources(transaction, ids)
        await self._add_rejected(transaction)
        repeated = [Duplicate(index, memory_id) for index, memory_id in self.known.ids.items()]
        await reinforce(transaction, repeated)
        superseded = await resolve_contradictions(
            transaction,
            self.batch.scope,
            [NewStatement(ids[index], self.groups[index][-1], index in new) for index in sorted(ids)],
            policy=self.policy,
        )
        if superseded:
            await mark_by_statements(transaction, self.batch.ids)
        await transaction.execute("statements.add_triples", {"ids": list(new.values())})
        await link_statement_entities(
            transaction,
            self.batch.scope,
            [(memory_id, self.groups[index][-1]) for index, memory_id in new.items()],
        )
        if self.and_then is not None:
            await self.and_then(transaction)
        return StoredStatements(len(new), len(repeated), len(self._all_rejected), superseded)

    async def _mark(self, transaction: Transaction) -> None:
        """Mark every source as read; AlreadyReadError if another worker was faster."""
        accepted = Counter(
            proposal.source_id
            for index, group in enumerate(self.groups)
            if index not in self.known.forgotten
            for proposal in group
        )
        refused = Counter(each.proposal.source_id for each in self._all_rejected)
        ids = sorted(self.batch.ids)
        parameters = {
            "owner": self.batch.scope.require_owner(),
            "extractor": self.batch.extractor,
            "ids": ids,
            "statement_counts": [accepted[memory_id] for memory_id in ids],
            "rejected_counts": [refused[memory_id] for memory_id in ids],
        }
        if len(await transaction.rows("statements.mark", parameters)) < len(ids):
            raise AlreadyReadError

    async def _add_statements(self, transaction: Transaction, new: Mapping[int, UUID]) -> None:
        declared = {
            row["attribute"]: row["is_single_valued"]
            for row in await transaction.rows("statements.attribute_kinds")
        }
        said = [self.groups[index][-1] for index in new]
        parameters = {
            "owner": self.batch.scope.require_owner(),
            "channel": self.batch.scope.channel,
            "extractor": self.batch.extractor,
            "ids": list(new.values()),
            "subjects": [each.subject for each in said],
            "attributes": [each.attribute for each in said],
            "values": [each.value for each in said],
            "single_valued": [is_single_valued(each.attribute, declared) for each in said],
            "negated": [each.is_negated for each in said],
            "certainties": [each.certainty for each in said],
            "tenses": [each.tense for each in said],
        }
        if said:
            await transaction.execute("statements.add", parameters)

    async def _add_sources(self, transaction: Transaction, ids: Mapping[int, UUID]) -> None:
        quoted = [
            (memory_id, proposal.source_id, proposal.quotation)
            for index, memory_id in ids.items()
            for proposal in self.groups[index]
        ]
        if not quoted:
            return
        parameters = {
            "process": self.batch.scope.process,
            "ids": [memory_id for memory_id, _, _ in quoted],
            "source_ids": [source_id for _, source_id, _ in quoted],
            "quotations": [quotation for _, _, quotation in quoted],
        }
        await transaction.execute("statements.add_sources", parameters)
        await transaction.execute("statements.link_sources", parameters)

    @property
    def _all_rejected(self) -> list[Rejected]:
        """The rejected proposals about sources of this batch, with those that were forgotten."""
        ids = set(self.batch.ids)
        forgotten = [
            Rejected(proposal, "forgotten")
            for index in self.known.forgotten
            for proposal in self.groups[index]
        ]
        return [each for each in (*self.rejected, *forgotten) if each.proposal.source_id in ids]

    async def _add_rejected(self, transaction: Transaction) -> None:
        kept: list[Rejected] = []
        counts: Counter[UUID] = Counter()
        for each in self._all_rejected:
            counts[each.proposal.source_id] += 1
            if counts[each.proposal.source_id] <= REJECTED_KEPT_MAX:
                kept.append(each)
        if not kept:
            return
        parameters = {
            "extractor": self.batch.extractor,
            "ids": [each.proposal.source_id for each in kept],
            "reasons": [each.reason for each in kept],
            "statements": [as_jsonb_object("statement", _shown(each.proposal)) for each in kept],
        }
        await transaction.execute("statements.add_rejected", parameters)


def _shown(proposal: ProposedStatement) -> dict[str, Any]:
    """What is kept of a rejected proposal. Its text was not checked, so it is made storable."""
    texts = {
        "statement": proposal.statement,
        "quotation": proposal.quotation,
        "subject": proposal.subject,
        "attribute": proposal.attribute,
        "value": proposal.value,
    }
    return {name: _storable(text) for name, text in texts.items()}


def _storable(text: object) -> str:
    shown = str(text)[:SHOWN_MAX_CHARACTERS].replace("\0", "")
    return shown.encode("utf-8", "replace").decode()
