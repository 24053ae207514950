"""A place whose every text tries to run a script on the page that shows it.

Each payload says where it stands ("x-tag"), so that a test can see which ones a page has shown.
"""

from pathlib import Path

from mnemic import Memory
from mnemic.cli.story.parts import (
    Conversation,
    Document,
    Entity,
    Goal,
    JobPart,
    Note,
    Story,
    Strategy,
    dialogue,
)
from mnemic.cli.story.storing import store_stories
from tests.dashboard.place import draft_of

MARKED = "data-injected"


# What pages show; texts of other kinds are stored, too.
KINDS = (
    "owner", "turn", "answer", "speaker", "conversation", "content", "tag", "guess", "anchored", "category",
    "entity", "attribute", "fact", "alias", "relation", "changed fact", "goal", "document", "chunk",
    "payload", "error", "reason", "metadata", "value", "channel", "key", "schedule",
)  # fmt: skip


def hostile(kind: str) -> str:
    """A text that leaves attributes, elements and templates behind, and runs a script if it gets a chance."""
    return (
        f"x-{kind}'\"><i {MARKED}></i><script>injected()</script><img src=x onerror=injected()>"
        "{{7*7}}<svg/onload=injected()>"
    )


def short(kind: str) -> str:
    """The same for names of which only 64 characters may be used."""
    return f"x-{kind}'\"><i {MARKED}></i><svg/onload=injected()>"


def script_url(kind: str) -> str:
    """A text that is a script if a page makes it a link."""
    return f"javascript:injected('x-{kind}')"


OWNER = hostile("owner")
STORY = Story(
    owner=OWNER,
    conversations=(
        Conversation(
            hostile("conversation"),
            3,
            dialogue(
                hostile("speaker"),
                (f"I live in Bergen {hostile('turn')}.", f"I work at {hostile('answer')}"),
                ("My cat is called Pixel.", hostile("answer")),
            ),
            (hostile("tool"),),
            True,
        ),
    ),
    notes=(
        Note(f"The rent is 700 euros. {hostile('content')}", 200, "factual", (short("tag"),)),
        Note(f"The rent is 800 euros. {hostile('content')}", 100, "factual", (short("tag"),)),
        Note(hostile("guess"), 300, "factual", (script_url("tag"),), 0.3),
        Note(hostile("forgotten"), 300, "factual"),
        Note(script_url("content"), 10, "preference"),
    ),
    anchored=(hostile("anchored"),),
    entities=(
        Entity(
            short("category"), hostile("entity"), {short("attribute"): hostile("fact")}, (hostile("alias"),)
        ),
        Entity("person", script_url("entity"), {"website": script_url("fact")}),
    ),
    relations=((hostile("entity"), short("relation"), script_url("entity")),),
    changed_facts=((hostile("entity"), short("attribute"), hostile("changed fact")),),
    goals=(Goal(hostile("goal"), 5),),
    strategies=(Strategy(hostile("task"), hostile("strategy"), (hostile("tool"),), True),),
    documents=(Document(f"{hostile('document')}.md", hostile("title"), f"# Head\n\n{hostile('chunk')}"),),
    jobs=(JobPart("x-job.type", {"payload": hostile("payload")}, hostile("error")),),
    questions=(hostile("question"),),
    corrections=(
        (
            f"The rent is 700 euros. {hostile('content')}",
            f"The rent is 710. {hostile('content')}",
            hostile("reason"),
        ),
    ),
    forgotten=((hostile("forgotten"), hostile("reason")),),
)


def fill(data_dir: Path, tenant: str) -> None:
    """Fill a tenant with attacks."""
    with Memory(data_dir=data_dir, tenant=tenant, embedder="test") as memory:
        store_stories(memory, draft_of(data_dir, tenant), [STORY])
        owner = memory.scope(owner=OWNER)
        owner.retain(
            {
                "content": "Metadata.",
                "metadata": {hostile("metadata"): hostile("value")},
                "external_id": hostile("id"),
            }
        )
        owner.retain("In a channel.", channel=hostile("channel"))
        first, second = owner.memories.list(limit=2)
        owner.memories.relate(first.memory_id, second.memory_id, "supports")
        owner.memories.decide_outdated(
            first.memory_id, second.memory_id, "outdated", reason=hostile("reason")
        )
        owner.shares.grant(hostile("reader"), reason=hostile("reason"), tags=[short("tag")])
        memory.keys.create(role="write", name=hostile("key"), owner=OWNER)
        memory.schedules.set(
            hostile("schedule"), "x-job.type", every_s=3_600, payload={"a": hostile("payload")}
        )
        owner.errors.record(hostile("kind"), hostile("message"))
        owner.state.set("a", hostile("state"))
