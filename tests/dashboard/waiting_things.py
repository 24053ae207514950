"""Owners with things to review and to clean up, and forms that are sent as a browser does."""

import re
from html import unescape
from typing import Any
from uuid import UUID, uuid4

import httpx

from mnemic.sdk.memory import AsyncMemory
from mnemic.types.memory import MemoryRecord
from tests.dashboard.running import Dashboard

SOON = "2020-01-01T00:00:00Z"


def fresh_owner(dashboard: Dashboard) -> AsyncMemory:
    """The memory of an owner that no other test uses."""
    return dashboard.memory.scope(owner=f"owner {uuid4()}")


def near_duplicates(dashboard: Dashboard, own: AsyncMemory, name: str = "Alice") -> tuple[UUID, UUID]:
    """The older and the newer of two near duplicates."""
    older = dashboard.run(own.retain(f"{name} drinks green tea every morning.", tags=["drinks"]))
    newer = dashboard.run(own.retain(f"Every morning {name} drinks green tea.", tags=["habits"]))
    dashboard.run(own.memories.near_duplicates())
    return older.memory_ids[0], newer.memory_ids[0]


def contradiction(dashboard: Dashboard, own: AsyncMemory) -> tuple[UUID, UUID]:
    """A memory and a newer one that gives another value of the same attribute."""
    older = dashboard.run(own.retain("My phone number is 555-1234.", at="2026-01-01"))
    newer = dashboard.run(own.retain("My phone number is 555-9876.", at="2026-05-01"))
    pairs = [(each.memory_id, each.outdated_by) for each in dashboard.run(own.memories.outdated())]
    assert pairs == [(older.memory_ids[0], newer.memory_ids[0])]
    return pairs[0]


def quarantined(dashboard: Dashboard, own: AsyncMemory) -> tuple[UUID, UUID]:
    """An anchored statement and a claim against it that waits for review."""

    def say(text: str) -> None:
        turn = {"role": "user", "name": "Ann", "content": text}
        dashboard.run(own.retain(turn, conversation=f"talk {uuid4()}"))
        dashboard.run(own.consolidate())

    say("I live in Berlin.")
    known: UUID = dashboard.run(own.statements.list())[0].memory_id
    dashboard.run(own.memories.update(known, anchored=True))
    say("I live in Lisbon.")
    # Compare now, so that the background task does not while a test looks.
    dashboard.run(own.memories.near_duplicates())
    (found,) = dashboard.run(own.memories.list(statuses=["pending_review"]))
    claim: UUID = found.memory_id
    return known, claim


def proposals(dashboard: Dashboard, own: AsyncMemory, names: tuple[str, ...] = ("Ann", "Ben", "Cleo")) -> Any:
    """A staged run of the curator, with one supersede for each name."""
    for name in names:
        older, newer = dashboard.run(
            own.retain([f"{name} lives in Berlin.", f"{name} has moved to Lisbon."])
        ).memory_ids
        dashboard.run(own.memories.decide_outdated(older, newer, "outdated"))
    run = dashboard.run(own.curation.propose(kinds=["supersede"]))
    assert len(run.changes) == len(names)
    return run


def expired(dashboard: Dashboard, own: AsyncMemory, count: int = 3) -> list[UUID]:
    """Memories that have expired."""
    texts = [f"The shop number {number} is closed today." for number in range(count)]
    return list(dashboard.run(own.retain(texts, expires_at=SOON)).memory_ids)


def state(dashboard: Dashboard, own: AsyncMemory, *ids: UUID) -> list[tuple[object, ...]]:
    """What a decision may change, of each memory."""
    records: list[MemoryRecord] = [dashboard.run(own.memories.get(each)) for each in ids]
    return [
        (
            each.status,
            each.superseded_by,
            each.merged_into,
            each.valid_to,
            each.tags,
            each.evidence,
            each.outdated_by,
        )
        for each in records
    ]


def text_of(html: str) -> str:
    """The words of a page, as a reader sees them."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def undo_of(html: str) -> tuple[str, dict[str, str]]:
    """Address and fields of the undo in the notice of a page."""
    (form,) = re.findall(r'<div class="notice".*?</form>', html, re.DOTALL)
    (action,) = re.findall(r'action="([^"]+)"', form)
    fields = dict(re.findall(r'name="([^"]+)" value="([^"]*)"', form))
    return unescape(action), {name: unescape(value) for name, value in fields.items()}


def send(client: httpx.Client, path: str, owner: str | None, fields: Any) -> str:
    """Send a form and follow to the page behind it; returns that page."""
    answer = client.post(path, params={"owner": owner}, data=fields)
    assert answer.status_code == 303, answer.text
    shown = client.get(answer.headers["location"])
    assert shown.status_code == 200, shown.text
    return shown.text


def undo(client: httpx.Client, html: str) -> str:
    """Press the undo of a notice."""
    action, fields = undo_of(html)
    answer = client.post(action, data=fields)
    assert answer.status_code == 303, answer.text
    return client.get(answer.headers["location"]).text
