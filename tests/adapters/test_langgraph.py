"""`MnemicStore` does what LangGraph's own store does: the same calls on both, with the same answers."""

import sys
from typing import Any

import pytest
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from mnemic import Memory
from mnemic.adapters import langgraph_items
from mnemic.adapters.langgraph import MnemicStore
from mnemic.errors import ConfigurationError, InvalidInputError


@pytest.fixture(params=["their own", "ours"])
def store(request: pytest.FixtureRequest, sync_memory: Memory) -> BaseStore:
    """LangGraph's store, to validate the test, and ours."""
    return InMemoryStore() if request.param == "their own" else MnemicStore(sync_memory)


@pytest.fixture
def ours(sync_memory: Memory) -> MnemicStore:
    return MnemicStore(sync_memory)


def fill(store: BaseStore) -> None:
    store.put(("users", "alice"), "a", {"text": "tea", "score": 1, "tags": ["x"], "deep": {"k": 1}})
    store.put(("users", "alice"), "b", {"text": "coffee", "score": 5})
    store.put(("users", "bob"), "a", {"text": "milk", "score": "3"})
    store.put(("users",), "root", {"text": "water"})
    store.put(("users2", "alice"), "a", {"text": "juice", "score": 9})


def keys(found: Any) -> list[tuple[tuple[str, ...], str]]:
    return sorted((item.namespace, item.key) for item in found)


def test_a_put_item_is_returned(store: BaseStore) -> None:
    value = {"text": "tea", "n": 1.5, "flag": True, "none": None, "list": [1, {"a": "ä"}]}
    store.put(("users", "alice"), "prefs", value)
    item = store.get(("users", "alice"), "prefs")
    assert item is not None
    assert (item.namespace, item.key, item.value) == (("users", "alice"), "prefs", value)
    assert item.created_at.tzinfo is not None
    assert item.updated_at >= item.created_at
    assert store.get(("users", "alice"), "other") is None
    assert store.get(("users",), "prefs") is None
    assert store.get(("users", "alice", "prefs"), "prefs") is None


def test_putting_again_replaces_and_deleting_removes(store: BaseStore) -> None:
    store.put(("a",), "k", {"v": 1, "old": True})
    store.put(("a",), "k", {"v": 2})
    item = store.get(("a",), "k")
    assert item is not None
    assert item.value == {"v": 2}
    store.delete(("a",), "k")
    store.delete(("a",), "k")
    assert store.get(("a",), "k") is None
    assert store.search(("a",)) == []


def test_searching_goes_by_prefix(store: BaseStore) -> None:
    fill(store)
    assert keys(store.search(("users",))) == [
        (("users",), "root"),
        (("users", "alice"), "a"),
        (("users", "alice"), "b"),
        (("users", "bob"), "a"),
    ]
    assert keys(store.search(("users", "alice"))) == [(("users", "alice"), "a"), (("users", "alice"), "b")]
    assert len(store.search(())) == 5
    assert store.search(("nobody",)) == []
    pages = [store.search((), limit=2, offset=offset) for offset in (0, 2, 4, 6)]
    assert [len(page) for page in pages] == [2, 2, 1, 0]
    assert keys(item for page in pages for item in page) == keys(store.search(()))


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        ({"text": "tea"}, 1),
        ({"score": 1, "text": "coffee"}, 0),
        ({"tags": ["x"]}, 1),
        ({"tags": ["x", "y"]}, 0),
        ({"deep": {"k": 1}}, 1),
        ({"deep": {"k": {"$gt": 1}}}, 0),
        ({"text": {"$ne": "tea"}}, 3),
        ({"text": {"$eq": "milk"}}, 1),
        ({}, 4),
    ],
)
def test_filters_choose_by_value(store: BaseStore, wanted: dict[str, Any], count: int) -> None:
    fill(store)
    assert len(store.search(("users",), filter=wanted)) == count


@pytest.mark.parametrize(
    ("wanted", "count"), [({"score": {"$gte": 1}}, 2), ({"score": {"$gt": 1, "$lte": 5}}, 1)]
)
def test_filters_compare_numbers(store: BaseStore, wanted: dict[str, Any], count: int) -> None:
    fill(store)
    assert len(store.search(("users", "alice"), filter=wanted)) == count


def test_a_value_that_is_not_a_number_matches_no_comparison(ours: MnemicStore) -> None:
    fill(ours)
    assert keys(ours.search(("users",), filter={"score": {"$lt": 4}})) == [
        (("users", "alice"), "a"),
        (("users", "bob"), "a"),
    ]
    with pytest.raises(InvalidInputError, match=r"cannot compare by '\$in'"):
        ours.search(("users",), filter={"score": {"$in": [1]}})


def test_namespaces_are_listed(store: BaseStore) -> None:
    fill(store)
    every = [("users",), ("users", "alice"), ("users", "bob"), ("users2", "alice")]
    assert store.list_namespaces() == every
    assert store.list_namespaces(prefix=("users",)) == every[:3]
    assert store.list_namespaces(suffix=("alice",)) == [("users", "alice"), ("users2", "alice")]
    assert store.list_namespaces(prefix=("*", "bob")) == [("users", "bob")]
    assert store.list_namespaces(prefix=("users",), suffix=("bob",)) == [("users", "bob")]
    assert store.list_namespaces(max_depth=1) == [("users",), ("users2",)]
    assert store.list_namespaces(limit=2, offset=1) == every[1:3]
    assert store.list_namespaces(prefix=("users", "alice", "x")) == []


def test_a_batch_reads_before_it_writes_and_the_last_put_wins(store: BaseStore) -> None:
    store.put(("a",), "k", {"v": 0})
    answers = store.batch(
        [
            PutOp(("a",), "k", {"v": 1}),
            GetOp(("a",), "k"),
            PutOp(("a",), "k", {"v": 2}),
            SearchOp(("a",)),
            ListNamespacesOp(match_conditions=(MatchCondition("prefix", ("a",)),)),
            PutOp(("b",), "gone", None),
        ]
    )
    assert [type(answer) for answer in answers[::2]] == [type(None), type(None), list]
    assert answers[1].value == {"v": 0}  # type: ignore[union-attr]
    assert answers[3][0].value == {"v": 0}  # type: ignore[index, union-attr]
    item = store.get(("a",), "k")
    assert item is not None
    assert item.value == {"v": 2}


async def test_everything_works_asynchronously(store: BaseStore) -> None:
    await store.aput(("a", "b"), "k", {"v": 1})
    item = await store.aget(("a", "b"), "k")
    assert item is not None
    assert item.value == {"v": 1}
    assert keys(await store.asearch(("a",))) == [(("a", "b"), "k")]
    assert await store.alist_namespaces() == [("a", "b")]
    await store.adelete(("a", "b"), "k")
    assert await store.aget(("a", "b"), "k") is None


@pytest.mark.parametrize("namespace", [(), ("a.b",), ("",), ("langgraph",)])
def test_bad_namespaces_are_refused(store: BaseStore, namespace: tuple[str, ...]) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.put(namespace, "k", {"v": 1})


def test_labels_cannot_reach_into_other_namespaces(store: BaseStore) -> None:
    store.put(("a", "b"), "k", {"v": 1})
    store.put(("a/b",), "k", {"v": 2})
    store.put(("a%2Fb",), "k", {"v": 3})
    store.put(("a",), "b//k", {"v": 4})
    found = [store.get(*place) for place in [(("a", "b"), "k"), (("a/b",), "k"), (("a%2Fb",), "k")]]
    assert [item.value["v"] for item in found if item is not None] == [1, 2, 3]
    assert keys(store.search(("a",))) == [(("a",), "b//k"), (("a", "b"), "k")]


def test_a_query_finds_by_words_and_meaning_below_a_prefix(ours: MnemicStore) -> None:
    ours.put(("users", "alice"), "a", {"text": "Alice plays the cello in Berlin", "kind": "hobby"})
    ours.put(("users", "alice"), "b", {"text": "Alice drinks oat milk", "kind": "food"})
    ours.put(("users", "bob"), "a", {"text": "Bob plays the cello, too", "kind": "hobby"})
    found = ours.search(("users", "alice"), query="Who plays the cello?")
    assert (found[0].key, found[0].value["kind"]) == ("a", "hobby")
    assert {item.namespace for item in found} == {("users", "alice")}
    assert found[0].score is not None
    assert 0 <= found[0].score <= 1
    assert keys(ours.search(("users",), query="cello", filter={"kind": "hobby"})) == [
        (("users", "alice"), "a"),
        (("users", "bob"), "a"),
    ]
    assert len(ours.search((), query="cello", limit=1)) == 1
    first, second = (ours.search((), query="cello", limit=1, offset=offset) for offset in (0, 1))
    assert first[0].namespace != second[0].namespace


def test_items_with_the_same_words_are_all_found(ours: MnemicStore) -> None:
    for name in ("alice", "bob", "carol"):
        ours.put(("users", name), "drink", {"text": "oat milk"})
    assert {item.namespace[1] for item in ours.search(("users",), query="oat milk")} == {
        "alice",
        "bob",
        "carol",
    }


def test_a_query_finds_the_current_items(ours: MnemicStore, sync_memory: Memory) -> None:
    for drink in ("green tea", "black coffee", "green tea"):
        ours.put(("a",), "drink", {"text": drink})
        assert [item.value["text"] for item in ours.search(("a",), query=drink)] == [drink]
        assert len(sync_memory.memories.list()) == 1
    ours.delete(("a",), "drink")
    assert ours.search(("a",), query="green tea") == []
    assert sync_memory.memories.list() == []


def test_a_query_finds_only_indexed_fields(ours: MnemicStore, sync_memory: Memory) -> None:
    value = {"title": "cello", "body": {"parts": [{"text": "violin"}, {"text": "viola"}]}, "other": "drums"}
    ours.put(("a",), "not", value, index=False)
    assert ours.search(("a",), query="cello") == []
    ours.put(("a",), "some", value, index=["title", "body.parts[*].text"])
    (record,) = sync_memory.memories.list()
    assert record.content == "cello\nviolin\nviola\n(a/some)"
    chosen = MnemicStore(sync_memory, fields=["other"])
    chosen.put(("a",), "some", value)
    (record,) = sync_memory.memories.list()
    assert record.content == "drums\n(a/some)"


def test_a_long_text_is_found_once(ours: MnemicStore) -> None:
    ours.put(("a",), "long", {"text": "The cello is old. " * 2_000})
    assert len(ours.search(("a",), query="cello", limit=10)) == 1


def test_time_to_live_ends_an_item(sync_memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    store = MnemicStore(sync_memory, ttl={"default_ttl": 5, "refresh_on_read": False})
    store.put(("a",), "short", {"text": "tea"}, ttl=1)
    store.put(("a",), "default", {"text": "tea"})
    store.put(("a",), "long", {"text": "tea"}, ttl=None)
    assert len(store.search(("a",))) == 3
    monkeypatch.setattr(langgraph_items, "MINUTE_S", -60.0)
    store.put(("a",), "short", {"text": "tea"}, ttl=1)
    assert store.get(("a",), "short") is None
    assert keys(store.search(("a",), query="tea")) == [(("a",), "default"), (("a",), "long")]
    assert keys(store.search(("a",))) == [(("a",), "default"), (("a",), "long")]
    assert store.sweep_ttl() == 1
    assert len(sync_memory.state.list()) == 2
    assert len(sync_memory.memories.list()) == 2


def test_reading_refreshes_the_time_to_live(ours: MnemicStore, sync_memory: Memory) -> None:
    ours.put(("a",), "k", {"v": 1}, ttl=1)

    def expires_at() -> str:
        (held,) = sync_memory.state.list()
        return str(held.document["expires_at"])

    first = expires_at()
    ours.get(("a",), "k", refresh_ttl=False)
    assert expires_at() == first
    ours.get(("a",), "k")
    second = expires_at()
    ours.search(("a",), refresh_ttl=True)
    assert first < second < expires_at()


@pytest.mark.parametrize("ttl", [0, -1, float("inf"), float("nan")])
def test_an_invalid_ttl_is_refused_before_anything_is_stored(
    ours: MnemicStore, sync_memory: Memory, ttl: float
) -> None:
    with pytest.raises(InvalidInputError, match="ttl must be"):
        ours.put(("a",), "k", {"text": "tea"}, ttl=ttl)
    assert sync_memory.memories.list() == []


@pytest.mark.parametrize("value", [{"v": float("nan")}, {"v": object()}, {"v": "x" * (1 << 20)}])
def test_invalid_json_is_refused_before_anything_is_stored(
    ours: MnemicStore, sync_memory: Memory, value: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInputError):
        ours.put(("a",), "k", value)
    assert (sync_memory.memories.list(), sync_memory.state.list()) == ([], [])


def test_owners_do_not_see_each_other(ours: MnemicStore, sync_memory: Memory) -> None:
    fill(ours)
    bobs = MnemicStore(sync_memory.scope(owner="bob"))
    assert (bobs.search(()), bobs.search((), query="tea"), bobs.list_namespaces()) == ([], [], [])


def test_a_memory_without_an_owner_is_refused(folder: Any) -> None:
    with Memory(data_dir=folder, embedder="test") as memory, pytest.raises(InvalidInputError, match="owner"):
        MnemicStore(memory)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "mnemic.adapters.langgraph")
    monkeypatch.setitem(sys.modules, "langgraph.store.base", None)
    with pytest.raises(ConfigurationError, match="pip install langgraph-checkpoint"):
        __import__("mnemic.adapters.langgraph")
