"""`mnemic demo`: what Mnemic does, on the embedded server, in a folder that is thrown away."""

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from mnemic import Memory
from mnemic.cli.output import out, table
from mnemic.db.embedded import stop

Answer = TypeVar("Answer")

CONVERSATION = [
    {"role": "user", "name": "Alice", "content": "I moved to Berlin in March.", "at": "2026-03-20T09:00:00Z"},
    {"role": "assistant", "content": "How do you like it there?", "at": "2026-03-20T09:00:05Z"},
    {
        "role": "user",
        "name": "Alice",
        "content": "Love it. I work at Acme now.",
        "at": "2026-03-20T09:01:00Z",
    },
]


def demo() -> None:
    """Show Mnemic at work on a real embedded PostgreSQL, in a folder that is thrown away."""
    with TemporaryDirectory(prefix="mnemic-demo-") as folder:
        with _timed("Memory(data_dir=…): a PostgreSQL of its own", lambda: Memory(data_dir=folder)) as memory:
            alice = memory.scope(owner="alice")
            _remember(alice)
            _change_a_mind(alice)
            _keep_apart(memory, folder)
            _erase(memory)
        stop(Path(folder))  # The folder goes next, so the server must be gone.
    out.print("\nGo on with [bold]docs/tutorial.md[/], or look around with [bold]mnemic --help[/] and")
    out.print("[bold]mnemic doctor[/]. Recall is the next part to be built: docs/roadmap.md says what there")
    out.print("is and what there is not yet.")


def _remember(alice: Memory) -> None:
    _timed(
        "retain: a conversation, embedded by the local model",
        lambda: alice.retain(CONVERSATION, conversation="c-1"),
    )
    again = _timed(
        "retain: the same fact twice", lambda: alice.retain(["Alice likes tea.", "Alice likes tea."])
    )
    out.print(f"  stored {again.stored_count}, recognised {again.duplicate_count}")
    alice.entities.upsert("person", "Alice", facts={"employer": "Acme"}, aliases=["Al"])
    turns = table("place", "who", "what was said")
    for turn in alice.conversations.turns("c-1"):
        turns.add_row(str(turn.position), turn.name or turn.role or "", turn.content)
    out.print(turns)


def _change_a_mind(alice: Memory) -> None:
    (first,) = alice.retain("Alice lives in Berlin.", valid_from="2026-03-01T00:00:00Z").memory_ids
    new = _timed(
        "supersede: the world changed",
        lambda: alice.memories.supersede(first, "Alice lives in Paris.", valid_from="2026-10-01T00:00:00Z"),
    )
    history = table("version", "status", "valid from", "valid to", "content")
    for version in [*alice.memories.history(first), *alice.memories.history(new.memory_id)]:
        dates = [f"{date:%Y-%m-%d}" if date else "" for date in (version.valid_from, version.valid_to)]
        history.add_row(str(version.version), version.status, *dates, version.content)
    out.print(history)


def _keep_apart(memory: Memory, folder: str) -> None:
    with _timed(
        "A second tenant in the same database", lambda: Memory(data_dir=folder, tenant="other")
    ) as other:
        seen = other.memories.list(owner="alice", statuses=None)
    out.print(
        f"  {memory.tenant.name} holds {memory.admin.stats().memory_count} memories; other sees {len(seen)}"
    )


def _erase(memory: Memory) -> None:
    receipt = _timed("erase: everything about an owner", lambda: memory.admin.erase("alice"))
    left = memory.memories.list(owner="alice", statuses=None, include_forgotten=True)
    out.print(f"  {receipt.row_count} rows are gone, {len(left)} are left")


def _timed(title: str, act: Callable[[], Answer]) -> Answer:
    started = time.perf_counter()
    answer = act()
    out.print(f"[bold]{title}[/] [dim]{(time.perf_counter() - started) * 1000:.0f} ms[/]")
    return answer
