"""Windows are stored exactly, continue after a restart, and no save overwrites another one's."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from mnemic.context import store
from mnemic.context.saved_rows import Described
from mnemic.context.step import Admission, Epoch, Fault, SavedObject, SavedWindow, Step, Transition
from mnemic.context.store import content_hash, load_window
from mnemic.db.database import TenantDatabase
from mnemic.errors import ConflictError, InvalidInputError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.scope import Scope
from tests.context.saving import load_contents, save_step

ALICE = Scope("alice", "_global", "test")
AWKWARD = "NUL \0, a lone surrogate \ud83d, and 1.0\r\n"


def an_object(key: str, text: str, **fields: object) -> SavedObject:
    made = SavedObject(
        key=key,
        type="file",
        tool="read",
        source_key=f"/src/{key}.py",
        content_hash=content_hash(text),
        tokens=(100, 30, 5, 1, 0),
        level=0,
        sent_text=None,
        first_call=0,
        last_use=0,
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def a_window(*objects: SavedObject, **fields: object) -> SavedWindow:
    return replace(SavedWindow(objects=objects, calls=1, model="m"), **fields)  # type: ignore[arg-type]


async def test_a_window_is_loaded_as_it_was_saved(tenant_database: TenantDatabase) -> None:
    first = an_object("a", AWKWARD, level=2, sent_text=f"short {AWKWARD}", is_error=True, faults=2)
    second = an_object("b", "plain", is_pinned=True, superseded_by="a", last_use=3)
    window = a_window(
        first,
        second,
        related=(("a", "b", "depends_on"),),
        epoch=2,
        calls=4,
        tokens_per_char=0.31,
        sent_at=datetime(2026, 11, 18, 12, tzinfo=UTC),
        saved_usd=0.25,
    )
    step = Step(
        call=3,
        tokens=35,
        zone="warning",
        admissions=(Admission("a", 2, 0.4, {"type": 0.3, "novelty": 0.1}, 0.5, "low score"),),
        transitions=(Transition("b", 1, 0, "fault"),),
        epoch=Epoch(2, "pressure", 1000, 400, 0.2),
    )
    contents = {"a": AWKWARD, "b": "plain"}
    saved = await save_step(
        tenant_database,
        ALICE,
        "s",
        step,
        window,
        contents,
        faults=[Fault("b", "micro", "where?", 12, ("b",))],
        described={"a": Described("one line", ("name",), ("tag",))},
    )
    assert saved == replace(window, version=1)
    assert await load_window(tenant_database, ALICE, "s") == saved
    assert await load_contents(tenant_database, ALICE, "s") == contents
    assert await load_contents(tenant_database, ALICE, "s", ["b", "x"]) == {"b": "plain"}
    assert await load_window(tenant_database, ALICE, "another") is None
    assert await load_window(tenant_database, replace(ALICE, owner="bob"), "s") is None


async def test_objects_that_a_proxy_saved_are_described_when_they_are_looked_at(
    memory: AsyncMemory, tenant_database: TenantDatabase
) -> None:
    scope = Scope(memory.owner, "_global", "test")
    texts = {key: f"{key}: def some_function_{key}(): ...\n" * 40 for key in ("a", "b")}
    objects = [an_object(key, text, is_pinned=True) for key, text in texts.items()]
    window = a_window(objects[0], replace(objects[1], tool="mcp__mnemic__recall"))
    await save_step(tenant_database, scope, "s", None, window, texts)
    first, second = await memory.context("s").objects()
    assert "some_function_a" in first.names
    assert first.line
    assert (first.is_recalled, second.is_recalled) == (False, True)
    assert len((await memory.context("s").close()).memory_ids) == 1


async def test_only_changes_are_written_in_order(tenant_database: TenantDatabase) -> None:
    first, second = an_object("b", "1"), an_object("a", "2")
    saved = await save_step(tenant_database, ALICE, "s", None, a_window(first, second), {"b": "1", "a": "2"})
    third = an_object("0", "1")
    changed = replace(second, level=1, sent_text="2…")
    saved = await save_step(
        tenant_database, ALICE, "s", None, a_window(first, changed, third), {"0": "1"}, previous=saved
    )
    assert await load_window(tenant_database, ALICE, "s") == saved
    assert [item.key for item in saved.objects] == ["b", "a", "0"]
    # An object that the client removed leaves the window; its text stays.
    saved = await save_step(tenant_database, ALICE, "s", None, a_window(third), {}, previous=saved)
    assert await load_window(tenant_database, ALICE, "s") == saved
    assert await load_contents(tenant_database, ALICE, "s", ["b"]) == {"b": "1"}


async def test_no_save_overwrites_another(tenant_database: TenantDatabase) -> None:
    start = await save_step(tenant_database, ALICE, "s", None, a_window(an_object("a", "1")), {"a": "1"})
    mine = a_window(an_object("a", "1"), an_object("b", "2"))
    theirs = a_window(an_object("a", "1"), an_object("c", "3"))
    kept = await save_step(tenant_database, ALICE, "s", None, mine, {"b": "2"}, previous=start)
    for outdated in (start, None):
        with pytest.raises(ConflictError, match="changed by another process"):
            await save_step(
                tenant_database, ALICE, "s", None, theirs, {"a": "1", "c": "3"}, previous=outdated
            )
    assert await load_window(tenant_database, ALICE, "s") == kept
    with pytest.raises(ConflictError, match="changed by another process"):
        await save_step(tenant_database, ALICE, "erased", None, mine, {"b": "2"}, previous=start)
    assert await load_window(tenant_database, ALICE, "erased") is None


async def test_limits_are_errors_before_anything_is_written(
    tenant_database: TenantDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "SESSIONS_MAX", 1)
    monkeypatch.setattr(store, "OBJECTS_MAX", 1)
    monkeypatch.setattr(store, "CONTENT_MAX_BYTES", 3)
    one = a_window(an_object("a", "1"))
    with pytest.raises(InvalidInputError, match="text of the object 'a' is missing"):
        await save_step(tenant_database, ALICE, "s", None, one, {})
    with pytest.raises(InvalidInputError, match="has 4 bytes; the limit is 3"):
        await save_step(tenant_database, ALICE, "s", None, one, {"a": "1234"})
    with pytest.raises(InvalidInputError, match="key of an object"):
        await save_step(tenant_database, ALICE, "s", None, a_window(an_object("\0", "1")), {"\0": "1"})
    with pytest.raises(ConflictError, match="2 objects; the limit is 1"):
        await save_step(
            tenant_database, ALICE, "s", None, a_window(an_object("a", "1"), an_object("b", "1")), {}
        )
    with pytest.raises(InvalidInputError, match="session must have"):
        await save_step(tenant_database, ALICE, "s" * 300, None, one, {"a": "1"})
    assert await load_window(tenant_database, ALICE, "s") is None
    saved = await save_step(tenant_database, ALICE, "s", None, one, {"a": "1"})
    with pytest.raises(ConflictError, match="delete some of them"):
        await save_step(tenant_database, ALICE, "s2", None, one, {"a": "1"})
    assert (await save_step(tenant_database, ALICE, "s", None, one, {}, previous=saved)).version == 2
