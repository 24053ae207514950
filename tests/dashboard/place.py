"""Filled places: small, but with a thing of every kind; and one whose every text is an attack on the page."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from mnemic import Memory
from mnemic.cli.story.helpdesk import HELPDESK
from mnemic.cli.story.mara import MARA
from mnemic.cli.story.parts import Conversation, Story, dialogue
from mnemic.cli.story.river import RIVER
from mnemic.cli.story.storing import OpenDraft, store_stories

FIRST, LAST = 2, 2
# Near duplicates: with the test model only the same words have a similar meaning.
TWICE = tuple(
    Conversation(name, days, dialogue("Mara", ("The small kiln is on until nine.", "I will remind you.")))
    for name, days in (("kiln on Monday", 9.0), ("kiln on Tuesday", 8.0))
)
STORIES: tuple[Story, ...] = (
    replace(
        MARA,
        conversations=(*MARA.conversations[:FIRST], *MARA.conversations[-LAST:], *TWICE),
        questions=(MARA.questions[0], MARA.questions[-1]),
    ),
    replace(HELPDESK, conversations=HELPDESK.conversations[:FIRST], questions=HELPDESK.questions[:1]),
    replace(RIVER, documents=RIVER.documents[-1:], questions=()),
)
OWNERS = tuple(story.owner for story in STORIES)


def fill(data_dir: Path, tenant: str) -> None:
    """Fill a tenant with the small story."""
    with Memory(data_dir=data_dir, tenant=tenant, embedder="test") as memory:
        store_stories(memory, draft_of(data_dir, tenant), STORIES)


def draft_of(data_dir: Path, tenant: str) -> OpenDraft:
    """Opens the tenant in which the story is played before it is imported."""
    return partial(Memory, data_dir=data_dir, tenant=f"{tenant} draft", embedder="test")
