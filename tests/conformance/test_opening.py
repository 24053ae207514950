"""Opening, scoping and closing are the same on every transport."""

from typing import Any

import pytest

from mnemic import AsyncMemory, Memory
from mnemic.errors import ClosedError, ConfigurationError
from tests.conformance.conftest import TENANT, Options


async def test_the_tenant_is_available(memory: Any) -> None:
    assert memory.tenant.name == TENANT


async def test_a_scope_is_a_view_with_other_defaults(memory: Any, owner: str) -> None:
    view = memory.scope(channel="büro", process="mailer/ü")
    assert (view.owner, view.channel, view.process) == (owner, "büro", "mailer/ü")
    (memory_id,) = (await view.retain("Tea")).memory_ids
    stored = await memory.memories.get(memory_id)
    assert (stored.owner, stored.channel, stored.process) == (owner, "büro", "mailer/ü")
    assert (await memory.recall("tea")).refused
    assert len(await view.recall("tea")) == 1
    other = memory.scope(owner=f"not {owner}")
    assert await other.memories.list() == []
    assert len(await other.memories.list(owner=owner)) == 1
    await view.aclose()
    assert len(await memory.memories.list()) == 1


async def test_a_closed_memory_is_an_error(options: Options, owner: str) -> None:
    memory = AsyncMemory(owner=owner, **options)
    with pytest.raises(ClosedError, match="not open yet"):
        await memory.memories.list()
    await memory.open()
    await memory.open()
    assert await memory.memories.list() == []
    await memory.aclose()
    await memory.aclose()
    for call in (memory.memories.list(), memory.recall("x"), memory.retain_many(["x"]), memory.open()):
        with pytest.raises(ClosedError, match=r"^This Memory is closed\. Open a new one\.$"):
            await call
    with pytest.raises(ClosedError):
        _ = memory.tenant


def test_a_closed_synchronous_memory_is_an_error(options: Options, owner: str) -> None:
    with Memory(owner=owner, **options) as memory:
        assert memory.memories.list() == []
    with pytest.raises(ClosedError):
        memory.memories.list()


async def test_another_tenant_needs_another_key(options: Options, owner: str, transport: str) -> None:
    if transport == "http":
        with pytest.raises(ConfigurationError, match="the key decides"):
            async with AsyncMemory(**options, tenant="another"):
                pass
        return
    async with AsyncMemory(**{**options, "tenant": "another"}, owner=owner) as memory:
        assert memory.tenant.name == "another"
