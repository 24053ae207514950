"""`MnemicStore`: Mnemic as the long-term memory of LangGraph; it implements `BaseStore`.

    store = MnemicStore(Memory(owner="alice"))
    graph = builder.compile(store=store)

Items are put, read, listed and deleted by key (`langgraph_items` describes how they are stored); a search
with a query is a recall, by vector and lexical search. A search without a query and a list of namespaces go
by key. All items belong to the memory's owner; for another owner create a store over
`memory.scope(owner=…)`.

A batch reads first and then writes, as LangGraph's own stores do; each put is atomic.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from mnemic import Memory
from mnemic.adapters.langgraph_filter import matches
from mnemic.adapters.langgraph_items import (
    METADATA_FIELD,
    as_document,
    as_memory,
    is_expired,
    prefix_key,
    prefix_tag,
    state_key,
    whole_text,
    with_ttl,
)
from mnemic.db.json_value import as_jsonb_object
from mnemic.errors import ConfigurationError, InvalidInputError
from mnemic.recall.request import LIMIT_MAX
from mnemic.types.scope import check_name
from mnemic.types.tiers import StateDocument

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
        tokenize_path,
        validate_op_namespace,
    )
except ImportError as error:
    raise ConfigurationError(
        "The store for LangGraph needs LangGraph itself: pip install langgraph-checkpoint"
    ) from error

PAGE_ROWS = 500
FILTERED_FACTOR = 10
"""How many times more hits are recalled if a filter will remove some."""

WHOLE_PATH = "$"


class MnemicStore(BaseStore):
    """A LangGraph store in a Mnemic memory. Synchronous and asynchronous calls may be mixed."""

    supports_ttl = True

    def __init__(
        self, memory: Memory, *, fields: Sequence[str] = (WHOLE_PATH,), ttl: TTLConfig | None = None
    ) -> None:
        """Create a store over an open memory, which has an owner.

        `fields` are the paths whose text is searched unless a put names others. `ttl` is LangGraph's
        configuration: a default in minutes, and whether reading refreshes it. The caller closes the memory.
        """
        if memory.owner is None:
            raise InvalidInputError("The memory needs an owner: MnemicStore(memory.scope(owner=…)).")
        self._memory = memory
        self._fields = tuple(fields)
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations: reads first, then writes; of several puts to one item only the last."""
        given = list(ops)
        for op in given:
            validate_op_namespace(op)
        results = [self._read(op) for op in given]
        puts = {(op.namespace, op.key): op for op in given if isinstance(op, PutOp)}
        for put in puts.values():
            self._put(put)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same without blocking the event loop."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Delete expired items, which reads already skip; returns how many."""
        expired = [held for held in self._held(()) if is_expired(held.document, datetime.now(UTC))]
        for held in expired:
            self._delete(held)
        return len(expired)

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._list_namespaces(op)
        if isinstance(op, PutOp):
            return None
        raise InvalidInputError(f"The store does not support {type(op).__name__}.")

    def _get(self, op: GetOp) -> Item | None:
        held = self._alive(op.namespace, op.key)
        if held is None:
            return None
        if op.refresh_ttl:
            self._refresh(held)
        return Item(**_fields_of(held))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        query = (op.query or "").strip()
        found: list[SearchItem] = []
        skipped = 0
        for held, score in self._recalled(query, op) if query else self._listed(op.namespace_prefix):
            if not matches(held.document["value"], op.filter):
                continue
            if skipped < op.offset:
                skipped += 1
            elif len(found) < op.limit:
                found.append(SearchItem(**_fields_of(held), score=score))
            else:
                break
            if op.refresh_ttl:
                self._refresh(held)
        return found

    def _listed(self, prefix: tuple[str, ...]) -> Iterator[tuple[StateDocument, float | None]]:
        now = datetime.now(UTC)
        return ((held, None) for held in self._held(prefix) if not is_expired(held.document, now))

    def _recalled(self, query: str, op: SearchOp) -> Iterator[tuple[StateDocument, float | None]]:
        """Items by score, each once, even if several of its chunks were found."""
        wanted = (op.offset + op.limit) * (FILTERED_FACTOR if op.filter else 1)
        found = self._memory.recall(
            query,
            tags=[prefix_tag(op.namespace_prefix)],
            limit=max(1, min(LIMIT_MAX, wanted)),
            # A store returns the nearest items; the graph decides whether they are relevant.
            refuse_below=0.0,
        )
        given = set[tuple[tuple[str, ...], str]]()
        for hit in found:
            origin = hit.memory.metadata.get(METADATA_FIELD, {})
            place = (tuple(origin.get("namespace", ())), origin.get("key", ""))
            held = self._alive(*place) if place not in given else None
            given.add(place)
            if held is not None:
                yield held, hit.score

    def _list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        held = self._listed(_common_prefix(conditions))
        namespaces = {tuple(document.document["namespace"]) for document, _ in held}
        found = {
            namespace[: op.max_depth]
            for namespace in namespaces
            if all(_fits(condition, namespace) for condition in conditions)
        }
        return sorted(found)[op.offset : op.offset + op.limit]

    def _put(self, op: PutOp) -> None:
        before = self._memory.state.get(state_key(op.namespace, op.key))
        if op.value is None:
            if before is not None:
                self._delete(before)
            return
        now = datetime.now(UTC)
        document = with_ttl(as_document(op.namespace, op.key, op.value, None), op.ttl, now)
        # Validate before writing: the memory is written first and would be left without its document.
        as_jsonb_object("value", document)
        check_name("namespace and key", state_key(op.namespace, op.key))
        document["memory_id"] = self._retain(op)
        self._memory.state.set(state_key(op.namespace, op.key), document)
        if before is not None and before.document.get("memory_id") != document["memory_id"]:
            self._forget(before)

    def _retain(self, op: PutOp) -> str | None:
        """Retain the item's text; returns the memory's id, or None if it has no text or is not indexed."""
        text = self._text(op)
        if not text.strip():
            return None
        retained = self._memory.retain(as_memory(op.namespace, op.key, text))
        return str(retained.memory_ids[0]) if retained.memory_ids else None

    def _text(self, op: PutOp) -> str:
        if op.index is False:
            return ""
        assert op.value is not None, "a deleted item has no text"
        return "\n".join(_texts(op.value, self._fields if op.index is None else op.index))

    def _delete(self, held: StateDocument) -> None:
        self._memory.state.delete(held.key)
        self._forget(held)

    def _forget(self, held: StateDocument) -> None:
        if held.document.get("memory_id") is not None:
            self._memory.memories.forget(
                held.document["memory_id"], reason="its item was replaced or deleted"
            )

    def _refresh(self, held: StateDocument) -> None:
        """Restart the TTL of an item that expires."""
        ttl_minutes = held.document.get("ttl_minutes")
        if ttl_minutes is not None:
            self._memory.state.set(held.key, with_ttl(held.document, ttl_minutes, datetime.now(UTC)))

    def _alive(self, namespace: tuple[str, ...], key: str) -> StateDocument | None:
        held = self._memory.state.get(state_key(namespace, key))
        return None if held is None or is_expired(held.document, datetime.now(UTC)) else held

    def _held(self, prefix: tuple[str, ...]) -> Iterator[StateDocument]:
        """All documents in and below a namespace, by key, page by page."""
        after = ""
        while True:
            page = self._memory.state.list(prefix=prefix_key(prefix), after=after, limit=PAGE_ROWS)
            yield from page
            if len(page) < PAGE_ROWS:
                return
            after = page[-1].key


def _fields_of(held: StateDocument) -> dict[str, Any]:
    document = held.document
    return {
        "namespace": tuple(document["namespace"]),
        "key": document["key"],
        "value": document["value"],
        "created_at": document.get("created_at") or held.created_at,
        "updated_at": document.get("updated_at") or held.updated_at,
    }


def _texts(value: Mapping[str, Any], paths: Sequence[str]) -> Iterator[str]:
    for path in paths:
        if path == WHOLE_PATH:
            yield whole_text(value)
        else:
            yield from get_text_at_path(value, tokenize_path(path))


def _common_prefix(conditions: Sequence[MatchCondition]) -> tuple[str, ...]:
    """The labels that all matching namespaces begin with, up to the first wildcard."""
    for condition in conditions:
        if condition.match_type == "prefix":
            wild = condition.path.index("*") if "*" in condition.path else len(condition.path)
            return tuple(condition.path[:wild])
    return ()


def _fits(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    """Whether a namespace begins or ends with a path, in which `*` matches any label."""
    path = condition.path
    if len(path) > len(namespace):
        return False
    side: Literal[1, -1] = 1 if condition.match_type == "prefix" else -1
    labels = zip(namespace[::side], path[::side], strict=False)
    return all(wanted in ("*", label) for label, wanted in labels)
