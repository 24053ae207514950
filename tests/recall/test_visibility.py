"""Recall returns exactly the memories that it may: random stores, compared with `visible_model`."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any, LiteralString
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemic.db.database import Database
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.memory import MemoryRecord
from tests.conftest import AppConnection
from tests.opened import core_of, opened
from tests.recall.visible_model import Asked, Granted, visible

TENANTS = 2
OWNERS = ("alice", "bob", "carol")
# Drawn more often, so that requests match stored and granted memories.
TENANT = st.sampled_from([0, 0, 0, 1])
READER = st.sampled_from(["alice", "alice", "bob"])
CHANNELS = ("_global", "work", "home")
CATEGORIES = ("factual", "preference", "episodic")
TAGS = ("red", "blue")
CONVERSATIONS = ("monday", "friday")
CONFIDENCES = (0.25, 0.7, 1.0)
ROLES = (None, "user", "assistant")
NAMES = (None, "Ada", "ada")
SOURCES = ("user_provided", "imported")
METADATA: tuple[dict[str, Any], ...] = (
    {},
    {"project": "x", "cups": 2},
    {"project": "y", "about": {"place": "Bern", "labels": ["a", "b"]}, "document": "guide"},
    {"document": "manual", "project": None},
)
WANTED_METADATA: tuple[dict[str, Any], ...] = (
    {},
    {"project": "x"},
    {"project": None},
    {"about": {"labels": ["b"]}},
    {"about": {"place": "Bern"}, "project": "y"},
    {"about": {"place": "Rome"}},
    {"cups": "2"},
)
YEARS = [datetime(year, 1, 1, tzinfo=UTC) for year in (2020, 2021, 2022, 2100)]
STATUSES = ("active", "superseded", "pending_review", "archived", "merged")
FATES = (
    *(
        "none",
        "none",
        "none",
        "superseded",
        "forgotten",
        "restored",
        "expired",
        "moved",
        "confidence",
        "retagged",
    ),
    *STATUSES[2:],
)
TECHNIQUES = (
    ("text",),
    ("text", "neighbours"),
    ("vector", "text", "graph", "time", "neighbours"),
)

# Only curation will do this, which does not exist yet; the database keeps the earlier version in any case.
SET_STATUS = "UPDATE state.memories SET status = %s WHERE memory_id = %s"
MOVE = "UPDATE state.memories SET channel = %s WHERE memory_id = %s"
EXPIRE_GRANT = (
    "UPDATE state.grants SET created_at = created_at - interval '1 h', expires_at = created_at"
    " WHERE grant_id = %s"
)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), strategy)


def some(values: Sequence[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=2, unique=True).map(tuple)


PERIOD_LIST = [(None, None), (None, 1), (0, 1), (2, None), (3, None), (0, 3)]
WINDOWS = [(1, None), (2, None), (None, 1), (None, 2), (1, 2)]
MEMORIES = st.fixed_dictionaries(
    {
        "tenant": TENANT,
        "owner": st.sampled_from(OWNERS),
        "channel": st.sampled_from(CHANNELS),
        "category": st.sampled_from(CATEGORIES),
        "tags": st.lists(st.sampled_from(TAGS), max_size=2, unique=True),
        "conversation": maybe(st.sampled_from(CONVERSATIONS)),
        "confidence": st.sampled_from(CONFIDENCES),
        "at": maybe(st.sampled_from(YEARS[:3])),
        "period": st.sampled_from(PERIOD_LIST),
        "expires_at": st.sampled_from([None, None, YEARS[0], YEARS[3]]),
        "role": st.sampled_from(ROLES),
        "name": st.sampled_from(NAMES),
        "source": st.sampled_from(SOURCES),
        "metadata": st.sampled_from(METADATA),
        "fate": st.sampled_from(FATES),
    }
)
UNLIMITED: dict[str, Any] = {"channel": None, "categories": None, "tags": None, "conversation": None}
SCOPES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"channel": st.sampled_from(CHANNELS)}),
    st.fixed_dictionaries({"categories": some(CATEGORIES)}),
    st.fixed_dictionaries({"tags": some(TAGS)}),
    st.fixed_dictionaries({"conversation": st.sampled_from(CONVERSATIONS)}),
)
ENDS = (
    *("active", "active", "active", "active", "active"),
    *("offered", "revoked", "expired", "dropped", "dropped offer"),
)


def together(*parts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Merge some of the dictionaries, later ones win. All filters at once would leave nothing."""
    return st.tuples(*parts).map(lambda drawn: {key: value for part in drawn for key, value in part.items()})


GRANTS = together(
    st.fixed_dictionaries({"tenant": TENANT, "reader": READER, "end": st.sampled_from(ENDS)}),
    st.fixed_dictionaries({"giver": st.sampled_from(["carol", "carol", "bob"])}),
    st.just(UNLIMITED),
    SCOPES,
    SCOPES,
).filter(lambda grant: grant["giver"] != grant["reader"])
FILTERS = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"channels": some(CHANNELS)}),
    st.fixed_dictionaries({"categories": some(CATEGORIES)}),
    st.fixed_dictionaries({"tags": some(TAGS)}),
    st.fixed_dictionaries({"conversation": st.sampled_from(CONVERSATIONS)}),
    st.fixed_dictionaries({"window": st.sampled_from(WINDOWS)}),
    st.fixed_dictionaries({"min_confidence": st.sampled_from(CONFIDENCES)}),
    st.fixed_dictionaries({"statuses": some(STATUSES)}),
    st.fixed_dictionaries({"role": st.sampled_from(ROLES)}),
    st.fixed_dictionaries({"name": st.sampled_from(NAMES)}),
    st.fixed_dictionaries({"source": st.sampled_from(SOURCES)}),
    st.fixed_dictionaries({"metadata": st.sampled_from(WANTED_METADATA)}),
    st.fixed_dictionaries({"document": st.sampled_from(["guide", "manual"])}),
)
MOMENTS = (None, None, None, "before", "retained", "done", "later")
REQUESTS = together(
    st.fixed_dictionaries({"tenant": TENANT, "owner": READER, "channel": st.sampled_from(CHANNELS)}),
    st.fixed_dictionaries(
        {"moment": st.sampled_from(MOMENTS), "techniques": st.sampled_from(TECHNIQUES)},
    ),
    FILTERS,
    FILTERS,
)


@dataclass
class Store:
    """One example: the memories of two tenants, their changes, and the moments in between."""

    memories: list[AsyncMemory]
    admin: AppConnection
    histories: list[list[Sequence[MemoryRecord]]]
    grants: list[list[Granted]]
    moments: dict[str | None, datetime | None]

    async def fill(self, items: Sequence[dict[str, Any]]) -> None:
        """Retain everything, then apply each memory's change."""
        ids = [await self._retain(number, item) for number, item in enumerate(items)]
        self.moments["retained"] = datetime.now(UTC)
        kept = [
            (item["tenant"], item["owner"], memory_id) for item, memory_id in zip(items, ids, strict=True)
        ]
        for (tenant, owner, memory_id), item in zip(list(kept), items, strict=True):
            successor = await self._meet(self.memories[tenant].scope(owner=owner), memory_id, item["fate"])
            kept += [(tenant, owner, successor)] if successor is not None else []
        self.moments["done"] = datetime.now(UTC)
        for tenant, owner, memory_id in kept:
            history = await self.memories[tenant].memories.history(memory_id, owner=owner)
            self.histories[tenant].append(history)

    async def _retain(self, number: int, item: dict[str, Any]) -> UUID:
        starts, ends = (None if place is None else YEARS[place] for place in item["period"])
        fields = {key: item[key] for key in item if key not in ("tenant", "period", "fate")}
        memory = self.memories[item["tenant"]]
        kept = await memory.retain(f"zebra number {number}", valid_from=starts, valid_to=ends, **fields)
        memory_id: UUID = kept.memory_ids[0]
        return memory_id

    async def _meet(self, memory: AsyncMemory, memory_id: UUID, fate: str) -> UUID | None:
        """Apply a change to a memory; returns the memory that replaces it, if any."""
        match fate:
            case "superseded":
                old = await memory.memories.get(memory_id)
                is_future = old.valid_from == YEARS[3]
                moment = YEARS[3] + timedelta(hours=1) if is_future else None
                new = await memory.memories.supersede(
                    memory_id, f"zebra behind {memory_id}", valid_from=moment
                )
                return new.memory_id
            case "forgotten" | "restored":
                await memory.memories.forget(memory_id)
                if fate == "restored":
                    await memory.memories.restore(memory_id)
            case "expired":
                await memory.memories.update(memory_id, expires_at=datetime.now(UTC))
            case "confidence":
                await memory.memories.update(memory_id, confidence=0.5)
            case "retagged":
                await memory.memories.update(
                    memory_id, tags=["red"], category="preference", metadata=METADATA[2]
                )
            case "moved":
                await _execute(memory, MOVE, "work", memory_id)
            case "pending_review" | "archived" | "merged":
                await _execute(memory, SET_STATUS, fate, memory_id)
        return None

    async def share(self, items: Sequence[dict[str, Any]]) -> None:
        for item in items:
            giver, reader = item["giver"], item["reader"]
            scope = {key: item[key] for key in ("channel", "categories", "tags", "conversation")}
            shares = self.memories[item["tenant"]].shares
            made = await shares.grant(
                reader, owner=giver, expires_at=datetime.now(UTC) + timedelta(days=1), **scope
            )
            if item["end"] not in ("offered", "dropped offer"):
                await shares.accept(made.grant_id, owner=reader)
            if item["end"] in ("dropped", "dropped offer"):
                await shares.drop(made.grant_id, owner=reader)
            elif item["end"] == "revoked":
                await shares.revoke(made.grant_id, owner=giver)
            elif item["end"] == "expired":
                self.admin.execute(EXPIRE_GRANT, [made.grant_id])
            is_active = item["end"] == "active"
            granted = Granted(made.grant_id, giver, reader, **scope, is_active=is_active)
            self.grants[item["tenant"]].append(granted)

    def asked(self, request: dict[str, Any]) -> Asked:
        since, until = (
            None if place is None else YEARS[place] for place in request.get("window", (None, None))
        )
        given = {
            key: request[key] for key in request if key not in ("tenant", "moment", "techniques", "window")
        }
        return Asked(**given, since=since, until=until, as_of=self.moments[request["moment"]])


async def _execute(memory: AsyncMemory, statement: LiteralString, *parameters: object) -> None:
    async with core_of(memory).storage.tenant_database.transaction() as transaction:
        await transaction.connection.execute(statement, parameters)


async def open_store(database: Database, admin: AppConnection) -> Store:
    tenants = [await database.open_tenant(f"tenant {uuid4()}") for _ in range(TENANTS)]
    return Store(
        memories=[opened(database, tenant, embedder="test") for tenant in tenants],
        admin=admin,
        histories=[[] for _ in tenants],
        grants=[[] for _ in tenants],
        moments={None: None, "before": datetime.now(UTC), "later": YEARS[3] + timedelta(days=1)},
    )


async def check(store: Store, request: dict[str, Any]) -> None:
    asked = store.asked(request)
    tenant = request["tenant"]
    found = await store.memories[tenant].recall(
        "zebra", **vars(asked), limit=1000, refuse_below=0, techniques=request["techniques"], explain=True
    )
    expected = visible(store.histories[tenant], store.grants[tenant], asked, datetime.now(UTC))
    assert {hit.memory.memory_id for hit in found} == expected.keys()
    assert len(found) == len(expected), "each memory comes once"
    for hit in found:
        assert hit.explain is not None
        assert hit.explain.grant_id in expected[hit.memory.memory_id]


@given(
    memories=st.lists(MEMORIES, min_size=6, max_size=16),
    grants=st.lists(GRANTS, max_size=4),
    requests=st.lists(REQUESTS, min_size=12, max_size=24),
)
@settings(
    max_examples=60 if "SLOW_TESTS" in os.environ else 10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    print_blob=True,
)
async def test_recall_gives_exactly_what_the_rules_let_through(
    shared_database: Database,
    superuser: AppConnection,
    memories: list[dict[str, Any]],
    grants: list[dict[str, Any]],
    requests: list[dict[str, Any]],
) -> None:
    store = await open_store(shared_database, superuser)
    await store.fill(memories)
    await store.share(grants)
    for request in requests:
        await check(store, request)


async def test_the_same_store_seen_from_every_side(
    shared_database: Database, superuser: AppConnection
) -> None:
    """One large store with all changes; each owner recalls without filters in each channel."""
    store = await open_store(shared_database, superuser)
    places = [
        (tenant, owner, channel) for tenant in range(TENANTS) for owner in OWNERS for channel in CHANNELS
    ]
    plain = {"category": "factual", "tags": [], "confidence": 1.0, "at": None, "period": (None, None)}
    await store.fill(
        [
            {"tenant": tenant, "owner": owner, "channel": channel, **plain}
            | {"conversation": None, "expires_at": None, "fate": fate}
            for tenant, owner, channel in places
            for fate in dict.fromkeys(FATES)
        ]
    )
    for tenant, owner, channel in places:
        for statuses in (None, *((status,) for status in STATUSES)):
            await check(
                store,
                {"tenant": tenant, "owner": owner, "channel": channel, "moment": None}
                | {"techniques": TECHNIQUES[-1], "statuses": statuses},
            )


def varied(owner: str) -> list[dict[str, Any]]:
    """Active memories of one owner: one for each combination that filters and grants distinguish."""
    places = product(CHANNELS, CATEGORIES[:2], ([], ["red"], ["red", "blue"]), (None, "monday"))
    return [
        {"tenant": 0, "owner": owner, "channel": channel, "category": category, "tags": tags}
        | {
            "conversation": conversation,
            "confidence": CONFIDENCES[number % 3],
            "at": (*YEARS[:3], None)[number % 4],
            "role": ROLES[number % 3],
            "name": NAMES[number // 2 % 3],
            "source": SOURCES[number // 3 % 2],
            "metadata": METADATA[number % 4],
        }
        | {"period": PERIOD_LIST[number % 5], "expires_at": None, "fate": "none"}
        for number, (channel, category, tags, conversation) in enumerate(places)
    ]


EACH_FILTER: list[dict[str, Any]] = [
    {},
    *({"channels": channels} for channels in (("work",), ("work", "_global"), ("home",), ("home", "work"))),
    *({"categories": categories} for categories in (("factual",), ("factual", "preference"), ("episodic",))),
    *({"tags": tags} for tags in (("red",), ("blue",), ("red", "blue"))),
    *({"conversation": conversation} for conversation in CONVERSATIONS),
    *({"window": window} for window in WINDOWS),
    *({"min_confidence": confidence} for confidence in CONFIDENCES),
    *({"moment": moment} for moment in ("before", "retained", "later")),
    {"statuses": ("archived",)},
    *({"role": role} for role in ROLES),
    *({"name": name} for name in NAMES),
    *({"source": source} for source in (*SOURCES, "inferred")),
    *({"metadata": metadata} for metadata in WANTED_METADATA),
    *({"document": document} for document in ("guide", "Guide")),
    {"document": "guide", "metadata": {"project": "y"}, "tags": ("red",)},
    *({"moment": "retained", "metadata": metadata} for metadata in WANTED_METADATA),
    {"moment": "retained", "role": "user", "source": "imported"},
]


@pytest.mark.parametrize("channel", CHANNELS)
async def test_each_filter_lets_through_what_it_should(
    shared_database: Database, superuser: AppConnection, channel: str
) -> None:
    store = await open_store(shared_database, superuser)
    await store.fill(varied("alice"))
    for wanted in EACH_FILTER:
        request = {"tenant": 0, "owner": "alice", "channel": channel, "moment": None, **wanted}
        await check(store, {**request, "techniques": TECHNIQUES[-1]})


@pytest.mark.parametrize("end", ["active", "revoked", "expired"])
async def test_each_grant_opens_what_it_should(
    shared_database: Database, superuser: AppConnection, end: str
) -> None:
    """Every scope has a separate reader, who has no memories."""
    store = await open_store(shared_database, superuser)
    await store.fill(varied("bob"))
    scopes: list[dict[str, Any]] = [
        {},
        {"channel": "home"},
        {"categories": ("preference",)},
        {"tags": ("blue",)},
        {"tags": ("red", "blue")},
        {"conversation": "monday"},
        {"channel": "work", "categories": ("factual", "episodic"), "tags": ("red",)},
    ]
    for number, scope in enumerate(scopes):
        grant = {"tenant": 0, "giver": "bob", "reader": f"reader {number}", "end": end}
        await store.share([{**UNLIMITED, **grant, **scope}])
    # An ended grant opens nothing, whatever its scope: all filters for the widest one, and each scope once.
    widest_first = product(range(len(scopes)), EACH_FILTER if end == "active" else [{}])
    for number, wanted in (*widest_first, *((0, each) for each in EACH_FILTER if end != "active")):
        request = {"tenant": 0, "owner": f"reader {number}", "channel": "work", "moment": None, **wanted}
        await check(store, {**request, "techniques": TECHNIQUES[-1]})
