"""The synchronous `Memory` follows events, too: in a loop, and by a plain function in a thread."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic import Memory
from mnemic.config import Settings
from mnemic.errors import ClosedError, MnemicError
from mnemic.types.event import Event
from tests.running_folder import running
from tests.waiting import wait_until
from tests.webhooks.receiving import Receiver, receiving


@pytest.fixture(scope="module")
def folder(memory_dir: Path) -> Iterator[Path]:
    yield from running(memory_dir / "events")


@pytest.fixture
def memory(folder: Path, request: pytest.FixtureRequest) -> Iterator[Memory]:
    with Memory(data_dir=folder, tenant=request.node.name, owner="alice", embedder="test") as memory:
        yield memory


def test_a_loop_follows_and_its_cursor_is_stored(memory: Memory) -> None:
    for number in range(3):
        memory.state.set(f"key {number}", number)
    seen = []
    for event in memory.events.subscribe("loop", start="beginning"):
        seen.append(event.subject)
        if len(seen) == 2:
            break
    assert seen == ["key 0", "key 1"]
    assert next(memory.events.subscribe("loop")).subject == "key 1"
    (consumer,) = memory.events.consumers()
    assert (consumer.position, consumer.behind) == (1, 2)


def test_a_loop_in_a_thread_waits_for_events(memory: Memory) -> None:
    seen: list[str] = []

    def follow() -> None:
        for event in memory.events.subscribe(start="beginning"):
            seen.append(event.subject)
            if event.subject == "last":
                return

    thread = threading.Thread(target=follow)
    thread.start()
    memory.state.set("first", 1)
    wait_until(lambda: seen == ["first"])
    memory.state.set("last", 1)
    thread.join(timeout=60)
    assert seen == ["first", "last"]


def test_a_plain_handler_may_call_the_memory_and_ends_with_it(folder: Path) -> None:
    seen: list[object] = []
    ended: list[BaseException] = []
    memory = Memory(data_dir=folder, tenant="handler", owner="alice", embedder="test")

    def handle(event: Event) -> None:
        document = memory.state.get(event.subject)
        seen.append(document.document if document else None)

    def call() -> None:
        try:
            memory.events.on(handle, start="beginning")
        except MnemicError as error:
            ended.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    memory.state.set("key", "value")
    wait_until(lambda: seen == ["value"])
    memory.close()
    thread.join(timeout=60)
    assert [type(error) for error in ended] == [ClosedError]


def test_an_embedded_memory_sends_by_itself_also_when_opened_later(folder: Path) -> None:
    settings = Settings(
        data_dir=folder, tenant="sender", owner="alice", embedder="test", webhook_private_addresses=True
    )
    with receiving() as receiver:
        with Memory(settings=settings) as memory:
            memory.webhooks.create(receiver.url)
            memory.state.set("first", 1)
            wait_until(lambda: subjects_of(receiver) == {"first"})
        with Memory(settings=settings) as memory:
            memory.state.set("second", 1)
            wait_until(lambda: subjects_of(receiver) == {"first", "second"})
    # Closing may come between the answer and our note of it: then it is sent again, with the same id.
    assert len({request.headers["webhook-id"] for request in receiver.received}) == 2


def subjects_of(receiver: Receiver) -> set[str]:
    return {request.message["data"]["subject"] for request in receiver.received}
