"""`mnemic demo`: what Mnemic does, on the embedded server, in a folder that is thrown away.

It remembers three short conversations of the spring of 2026 and asks about them, as if it were 8 April 2026.
Unless the settings name another embedder it is the local one: then everybody sees the same.
"""

import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, TypeVar

import typer

from mnemic import Memory
from mnemic.cli.demo_dashboard import show_dashboard
from mnemic.cli.options import Embedder
from mnemic.cli.output import out, print_line
from mnemic.cli.recall_output import print_explanations, print_found
from mnemic.cli.serve import DEFAULT_PORT
from mnemic.db.embedded import stop
from mnemic.types.recalled import Recalled

Answer = TypeVar("Answer")

ASKED_AT = "2026-04-08T09:00:00Z"
HITS_SHOWN = 3
NEXT_COMMANDS = (
    'retain "Alice plays the cello." --owner mnemic-demo',
    'recall "Which instrument does Alice play?" --owner mnemic-demo --explain',
    "erase --owner mnemic-demo",
)
CONVERSATIONS: dict[str, list[tuple[str, str, str]]] = {
    "a new job": [
        ("2026-02-17T18:02:00Z", "Alice", "I got the job at Acme! I start on the first of March."),
        ("2026-02-17T18:02:10Z", "assistant", "Congratulations! Will you have to move?"),
        ("2026-02-17T18:03:00Z", "Alice", "Yes, to Berlin. I am looking for a flat near the Spree."),
    ],
    "the bike": [
        ("2026-03-21T09:00:00Z", "Alice", "The flat is great, but my bike was stolen last night."),
        ("2026-03-21T09:00:10Z", "assistant", "I am sorry. Was it insured?"),
        ("2026-03-21T09:01:00Z", "Alice", "Luckily yes. By the way, I am allergic to peanuts."),
        ("2026-03-21T09:01:10Z", "assistant", "Noted. For tonight I suggest a lentil curry with spinach."),
    ],
    "an evening out": [
        ("2026-04-01T20:15:00Z", "Alice", "Bob and I went to the Pergamon museum and then had ramen."),
        ("2026-04-01T20:15:10Z", "assistant", "That sounds like a good evening!"),
        ("2026-04-01T20:16:00Z", "Alice", "He wants to teach me the cello. My first lesson is on Friday."),
    ],
}
MOVES = (
    ("2026-04-02T08:00:00Z", "I live in Berlin now, right by the Spree."),
    ("2026-04-07T19:30:00Z", "I moved to Paris. Acme has an office there."),
)


def demo(
    ui: Annotated[bool, typer.Option("--ui", help="Open the dashboard over a year of stored story.")] = False,
    data_dir: Annotated[
        Path | None, typer.Option(help="With --ui: keep the story in this folder. Default: a temporary one.")
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="With --ui: port; 0 chooses a free one.")
    ] = DEFAULT_PORT,
    embedder: Embedder = None,
) -> None:
    """Show retain, recall, explain, refusal and learning on an embedded PostgreSQL, in a temporary folder."""
    if ui:
        show_dashboard(data_dir, port, embedder)
        return
    with TemporaryDirectory(prefix="mnemic-demo-") as folder:
        _heading("A PostgreSQL of its own")
        with _timed("Memory(data_dir=…)", lambda: Memory(data_dir=folder)) as memory:
            alice = memory.scope(owner="alice")
            _remember(alice)
            _recall_and_explain(alice)
            _ask_about_time(alice)
            _refuse(alice)
            _learn(alice)
            _isolate_and_erase(memory, folder)
        stop(Path(folder))  # The folder is deleted next, so the server must have stopped.
    _show_next_steps()


def _remember(alice: Memory) -> None:
    _heading("Remember")
    for conversation in CONVERSATIONS:
        turns = list(_turns(conversation))
        _timed(
            f"retain({len(turns)} turns, conversation={conversation!r})",
            partial(alice.retain, turns, conversation=conversation),
        )
    again = _timed(
        "retain(the same fact twice)", lambda: alice.retain(["Alice likes tea.", "Alice likes tea."])
    )
    out.print(f"stored {again.stored_count}, recognised {again.duplicate_count}")


def _turns(conversation: str) -> Iterator[dict[str, Any]]:
    for at, who, content in CONVERSATIONS[conversation]:
        speaker = {"role": "assistant"} if who == "assistant" else {"role": "user", "name": who}
        yield {**speaker, "at": at, "content": content}


def _recall_and_explain(alice: Memory) -> None:
    _heading("Recall")
    found = _ask(alice, "What is Alice allergic to?")
    _heading("Explain: why is the first hit the first?")
    print_explanations(found.hits[:1])


def _ask_about_time(alice: Memory) -> None:
    _heading(f"Time, asked on {ASKED_AT[:10]}")
    _ask(alice, "Where did I go last week?")
    _ask(alice, "What was stolen from me in March?")


def _refuse(alice: Memory) -> None:
    _heading("Refuse: better no answer than a wrong one")
    _ask(alice, "Which football club do I support?", strict=True)


def _learn(alice: Memory) -> None:
    _heading("Learn: facts from what was said, without a model")
    for at, said in MOVES:
        turn = {"role": "user", "name": "Alice", "at": at, "content": said}
        alice.retain([turn], conversation=f"chat of {at[:10]}")
        learnt = _timed("consolidate()", alice.consolidate)
        out.print(
            f"{said!r}: facts learnt: {learnt.statement_count}, superseded: {learnt.superseded_count}",
            markup=False,
        )
    _heading("Facts change, what was known stays")
    found = alice.recall("Where does Alice live?", source="extracted", at=ASKED_AT, limit=1)
    for version in alice.memories.list(statuses=["active", "superseded"]):
        if version.source == "extracted" and "lives in" in version.content:
            until = f"until {version.valid_to:%Y-%m-%d}" if version.valid_to else "current"
            out.print(f"{version.content} ({version.status}, {until})", markup=False)
    _heading("Why do you believe this?")
    out.print(alice.memories.why(found.hits[0].memory.memory_id).text, markup=False, soft_wrap=True)


def _isolate_and_erase(memory: Memory, folder: str) -> None:
    _heading("Tenants are isolated; an owner can be erased")
    with Memory(data_dir=folder, tenant="other") as other:
        seen = other.recall("What is Alice allergic to?", owner="alice")
    stored = memory.admin.stats().memory_count
    out.print(f"this tenant holds {stored} memories, another one finds {len(seen)}")
    receipt = _timed("erase(alice)", lambda: memory.admin.erase("alice"))
    left = memory.memories.list(owner="alice", statuses=None, include_forgotten=True)
    out.print(f"{receipt.row_count} rows are gone, {len(left)} are left")


def _show_next_steps() -> None:
    _heading("Next")
    out.print("Try it on a memory that is kept; the last command erases it again:")
    for arguments in NEXT_COMMANDS:
        out.print(f"{_called_as()} {arguments}", style="bold", markup=False, soft_wrap=True)
    print_line(
        "docs/tutorial.md takes half an hour, docs/README.md lists all pages, "
        f"{_called_as()} --help all commands."
    )


def _called_as() -> str:
    """How to call `mnemic` from the reader's folder: by its name only where the shell would find this one."""
    called, found = Path(sys.argv[0]), shutil.which("mnemic")
    is_found = found is not None and called.exists() and Path(found).samefile(called)
    return "mnemic" if is_found else shlex.quote(str(called))


def _ask(alice: Memory, query: str, *, strict: bool = False) -> Recalled:
    found = _timed(
        f"recall({query!r}{', strict=True' if strict else ''})",
        lambda: alice.recall(query, limit=HITS_SHOWN, at=ASKED_AT, explain=True, strict=strict),
    )
    print_found(found, alice.owner)
    return found


def _heading(title: str) -> None:
    out.print(f"\n[bold cyan]{title}[/]")


def _timed(title: str, act: Callable[[], Answer]) -> Answer:
    started_s = time.perf_counter()
    answer = act()
    out.print(title, style="bold", markup=False, end=" ")
    out.print(f"[dim]{(time.perf_counter() - started_s) * 1000:.0f} ms[/]")
    return answer
