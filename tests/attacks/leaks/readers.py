"""A giver, a reader, secrets of the giver, and the complete answers to the reader."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from mnemic.sdk.memory import AsyncMemory
from mnemic.types.recalled import Explanation, Hit, Recalled
from mnemic.types.share import Grant
from tests.accepted_grants import accepted_grant

GIVER, READER = "bob", "alice"

# Recency is 0 for events that long ago, so that answers do not depend on when they are given.
LONG_AGO = datetime(1991, 3, 5, 12, tzinfo=UTC)
TOMORROW = datetime.now(UTC) + timedelta(days=1)
MARKED: Mapping[str, Any] = {
    "channel": "trip",
    "category": "preference",
    "tags": ["shared"],
    "conversation": "rome",
}
"""What granted memories have; each grant asks for one of these fields."""
UNMARKED: Mapping[str, Any] = {
    "channel": "diary",
    "category": "factual",
    "tags": ["private"],
    "conversation": "doctor",
}
GRANTS: Mapping[str, Mapping[str, Any]] = {
    "tags": {"tags": ["shared"]},
    "category": {"categories": ["preference"]},
    "channel": {"channel": "trip"},
    "conversation": {"conversation": "rome"},
}

GRANTED = (
    "We want to see the museum of the popes first.",
    "The hotel near the station has a quiet garden.",
    "Carla prefers trains, she is afraid of planes.",
    "For dinner we like the small place behind the market.",
    "The museum is closed on Mondays, so we go on Tuesday.",
    "Nobody likes to get up before eight.",
    "The garden of the hotel opens in March.",
    "We bought tickets for the train to Naples.",
)
SECRETS = (
    "Zebulon owes me eleven thousand for the museum tickets.",
    "The doctor says that the kidney stones are back.",
    "Zebulon and Carla met at the hotel in March.",
    "We want to see the museum of the popes first, said Zebulon.",
    "Zebulon wants the divorce, the lawyer is Quentin Oyelaran.",
    "Dinner, market, garden, train, hotel, museum, station, tickets.",
    "My password for the bank is swordfish.",
    "The train to Naples was where Zebulon told me.",
    "The hotel near the station has a quiet garden and a thief.",
    "Zebulon is afraid of Mondays.",
)
QUERIES = (
    "Who is Zebulon, and where are Quentin Oyelaran and the kidney stones?",
    "Which museum do we want to see?",
    "hotel garden station",
    'Did anybody say "train to Naples"?',
    "What happened in March 1991?",
)
CHANNELS = ["trip", "diary", "_global"]
OPTIONS: tuple[Mapping[str, Any], ...] = (
    {},
    {"refuse_below": 0, "limit": 40, "include": ["neighbours", "entities"], "channels": CHANNELS},
    {"refuse_below": 0, "limit": 2, "techniques": ["vector"], "channels": CHANNELS},
    {"refuse_below": 0, "techniques": ["text", "graph"], "channels": CHANNELS},
    {"refuse_below": 0, "as_of": TOMORROW, "statuses": ["active", "superseded"], "channels": CHANNELS},
    {"refuse_below": 0, "metadata": {"place": {"city": "Rome"}}, "min_score": 0.1, "channels": CHANNELS},
    {"metadata": {"place": {}}, "as_of": TOMORROW, "strict": True, "channels": CHANNELS},
)
USAGE = ("retrieval_count", "last_retrieved_at")
"""Fields that recall itself changes."""


def turns(texts: Sequence[str], fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Texts as turns of a conversation, a day apart."""
    return [
        {"content": text, "at": LONG_AGO + timedelta(days=number), "metadata": {"place": {"city": "Rome"}}}
        | {key: fields[key] for key in ("category", "tags")}
        for number, text in enumerate(texts)
    ]


async def store(
    memory: AsyncMemory, owner: str, texts: Sequence[str], fields: Mapping[str, Any]
) -> list[UUID]:
    kept = await memory.retain(
        turns(texts, fields), owner=owner, channel=fields["channel"], conversation=fields["conversation"]
    )
    return list(kept.memory_ids)


async def give(memory: AsyncMemory, **scope: Any) -> Grant:
    return await accepted_grant(memory, READER, owner=GIVER, **scope)


async def keep_secrets(memory: AsyncMemory, fields: Mapping[str, Any]) -> list[UUID]:
    """Store the secrets, with entities that occur in granted memories, too; forget one, replace another."""
    ids = await store(memory, GIVER, SECRETS, fields)
    bob = memory.scope(owner=GIVER)
    await add_entities(bob)
    await bob.memories.forget(ids[1])
    await bob.memories.supersede(ids[2], "Zebulon and Carla met in the museum in March.")
    return ids


async def add_entities(bob: AsyncMemory) -> None:
    zebulon = await bob.entities.upsert("person", "Zebulon", aliases=["the hotel"])
    museum = await bob.entities.upsert("place", "museum", aliases=["Quentin Oyelaran"])
    await bob.entities.relate(zebulon, museum, "owns")


async def answers(memory: AsyncMemory, queries: Sequence[str] = QUERIES) -> dict[str, Any]:
    """The complete answers to a reader, by call."""
    reader = memory.scope(owner=READER)
    return {
        f"{query} {sorted(options.items(), key=str)}": seen(
            await reader.recall(query, explain=True, **options)
        )
        for query in queries
        for options in OPTIONS
    }


def seen(recalled: Recalled) -> Any:
    """Everything in an answer except how long it took."""
    assert isinstance(recalled.text, str)  # It is packed when it is read.
    return plain({name: value for name, value in asdict(recalled).items() if name != "timings"})


def plain(value: Any) -> Any:
    """Without usage counts, and with sums rounded: their last digits depend on the order of rows."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if key not in USAGE}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return round(value, 9) if isinstance(value, float) else value


async def open_trip(memory: AsyncMemory) -> list[UUID]:
    """Memories of both owners; the reader's are about something else."""
    await memory.retain(
        ["My tractor is green.", "The museum in my village is small."], owner=READER, at=LONG_AGO
    )
    return await store(memory, GIVER, GRANTED, MARKED)


def check_equal(subtests: pytest.Subtests, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    for call, answer in before.items():
        with subtests.test(call):
            assert after[call] == answer


def why(hit: Hit) -> Explanation:
    assert hit.explain is not None
    return hit.explain
