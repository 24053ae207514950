"""One memory: its versions, where it comes from, what became of it, and the acts that change it."""

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from mnemic.dashboard.fields import Fields
from mnemic.dashboard.pages import Answer, Redirected, Shown, Undo, View
from mnemic.dashboard.visit import Visit
from mnemic.errors import ConflictError, NotFoundError
from mnemic.types.checks import check_id
from mnemic.types.memory import CATEGORIES, CONTENT_MAX_CHARACTERS, MemoryRecord, MemoryRelationship

TURNS_AROUND = 3
"""Turns that are shown before and after the memory."""
VERSIONS_SHOWN = 20
RELATED_SHOWN = 30
VERSION_MAX = 999_999_999
COMPARED = (
    "category",
    "status",
    "tags",
    "confidence",
    "anchored",
    "at",
    "valid_from",
    "valid_to",
    "expires_at",
    "deleted_at",
)
"""Fields whose changes the history names."""


async def show(visit: Visit) -> Answer:
    """Show the memory, or one of its versions."""
    memory_id, calls = _memory_id(visit), visit.memory.memories
    versions, why, related, mentioned = await asyncio.gather(
        calls.history(memory_id),
        calls.why(memory_id),
        calls.related(memory_id, limit=RELATED_SHOWN),
        visit.memory.entities.mentioned(memory_id),
    )
    latest = versions[-1]
    record = _version(
        versions, visit.query.whole_number("version", default=latest.version, low=1, high=VERSION_MAX)
    )
    turns, others = await asyncio.gather(_turns(visit, latest), _others(visit, related, memory_id))
    return Shown(
        "memory.html",
        {
            "record": record,
            "latest": latest,
            "is_latest": record.version == latest.version,
            "changes": _changes(versions)[-VERSIONS_SHOWN:],
            "version_count": len(versions),
            "why": why,
            # What was read in the text of a memory may be the memory itself.
            "derived": [each for each in why.derived if each.memory_id != memory_id],
            "related": others,
            "mentioned": mentioned,
            "turns": turns,
            "categories": CATEGORIES,
        },
    )


async def edit(visit: Visit) -> Answer:
    """Change the text or the category; the earlier version is kept."""
    form, memory_id = await visit.form(), _memory_id(visit)
    before = await visit.memory.memories.get(memory_id)
    category: Any = form.choice("category", CATEGORIES, default=before.category)
    content = _content(form)
    seen = form.whole_number("version", default=before.version, low=1, high=VERSION_MAX)
    if seen != before.version:
        raise ConflictError(
            f"Somebody saved version {before.version} while you edited version {seen}. Nothing was changed: "
            "copy your text, load the page again, and edit the current version."
        )
    changed = await visit.memory.memories.update(
        memory_id,
        # Browsers change line ends and blanks around the text, which nobody edited.
        content=content if content != _line_ends(before.content).strip() else None,
        category=category,
        reason=form.text("reason"),
    )
    if changed.version == before.version:
        return _back(visit, memory_id, "Nothing was changed: text and category are the same.")
    undo = _undo(visit, memory_id, "revert", version=str(before.version))
    return _back(visit, memory_id, f"Saved as version {changed.version}.", undo)


async def anchor(visit: Visit) -> Answer:
    """Anchor the memory, or take the anchor away."""
    form, memory_id = await visit.form(), _memory_id(visit)
    wanted = form.choice("anchored", ("yes", "no"), default="yes") == "yes"
    await visit.memory.memories.update(memory_id, anchored=wanted, reason=form.text("reason"))
    undo = _undo(visit, memory_id, "anchor", anchored="no" if wanted else "yes")
    text = "Anchored: cleanup never archives it, and claims against it wait for review."
    return _back(visit, memory_id, text if wanted else "No longer anchored.", undo)


async def forget(visit: Visit) -> Answer:
    """Stop recalling the memory."""
    form, memory_id = await visit.form(), _memory_id(visit)
    await visit.memory.memories.forget(memory_id, reason=form.text("reason"))
    return _back(visit, memory_id, "Forgotten: it is no longer recalled.", _undo(visit, memory_id, "restore"))


async def restore(visit: Visit) -> Answer:
    """Make the memory active again."""
    form, memory_id = await visit.form(), _memory_id(visit)
    await visit.memory.memories.restore(memory_id, reason=form.text("reason"))
    return _back(visit, memory_id, "Restored: it is recalled again.", _undo(visit, memory_id, "forget"))


async def revert(visit: Visit) -> Answer:
    """Make an earlier version the current one."""
    form, memory_id = await visit.form(), _memory_id(visit)
    form.required("version")
    version = form.whole_number("version", default=0, low=1, high=VERSION_MAX)
    before = await visit.memory.memories.get(memory_id)
    await visit.memory.memories.revert(memory_id, version, reason=form.text("reason"))
    undo = _undo(visit, memory_id, "revert", version=str(before.version))
    return _back(visit, memory_id, f"Version {version} is the current one again.", undo)


async def supersede(visit: Visit) -> Answer:
    """Replace the memory by a new one."""
    form, memory_id = await visit.form(), _memory_id(visit)
    new = await visit.memory.memories.supersede(
        memory_id, _content(form), valid_from=form.time("valid_from"), reason=form.text("reason")
    )
    return _back(visit, new.memory_id, "This memory took the place of the old one, which is kept.")


async def tag(visit: Visit) -> Answer:
    """Add a tag."""
    form, memory_id = await visit.form(), _memory_id(visit)
    name = form.required("tag")
    await visit.memory.memories.tag(memory_id, name)
    return _back(visit, memory_id, f"Tagged {name}.", _undo(visit, memory_id, "untag", tag=name))


async def untag(visit: Visit) -> Answer:
    """Remove a tag."""
    form, memory_id = await visit.form(), _memory_id(visit)
    name = form.required("tag")
    await visit.memory.memories.untag(memory_id, name)
    return _back(visit, memory_id, f"Removed the tag {name}.", _undo(visit, memory_id, "tag", tag=name))


def _content(form: Fields) -> str:
    """The text of a memory; browsers send every line end of a text area as two characters."""
    return _line_ends(form.required("content", max_characters=2 * CONTENT_MAX_CHARACTERS))


def _line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _memory_id(visit: Visit) -> UUID:
    return check_id("memory_id", visit.path["memory_id"])


def _version(versions: Sequence[MemoryRecord], wanted: int) -> MemoryRecord:
    for each in versions:
        if each.version == wanted:
            return each
    raise NotFoundError(f"This memory has no version {wanted}: it has 1 to {versions[-1].version}.")


async def _turns(visit: Visit, record: MemoryRecord) -> Sequence[MemoryRecord]:
    """The turns around the memory, if it was said in a conversation."""
    if record.conversation is None or record.position is None:
        return ()
    return await visit.memory.conversations.turns(
        record.conversation,
        from_position=max(0, record.position - TURNS_AROUND),
        limit=2 * TURNS_AROUND + 1,
    )


async def _others(
    visit: Visit, related: Sequence[MemoryRelationship], memory_id: UUID
) -> list[tuple[str, MemoryRecord]]:
    """The other end of each relationship, with its kind as it reads from this memory."""
    if not related:
        return []
    ends = [
        (_kind(each, memory_id), each.to_id if each.from_id == memory_id else each.from_id)
        for each in related
    ]
    records = await visit.memory.memories.list(
        ids=list({end for _, end in ends}), statuses=None, include_forgotten=True, limit=RELATED_SHOWN
    )
    known = {each.memory_id: each for each in records}
    return [(kind, known[end]) for kind, end in ends if end in known]


def _kind(relationship: MemoryRelationship, memory_id: UUID) -> str:
    kind = relationship.kind.replace("_", " ")
    return kind if relationship.from_id == memory_id else f"{kind} this"


def _changes(
    versions: Sequence[MemoryRecord],
) -> list[tuple[MemoryRecord, MemoryRecord | None, list[tuple[str, str, str]]]]:
    """Each version with the one before it, and the fields other than the text that changed."""
    pairs = zip(versions, (None, *versions), strict=False)
    return [(each, before, [] if before is None else _fields(before, each)) for each, before in pairs]


def _fields(before: MemoryRecord, after: MemoryRecord) -> list[tuple[str, str, str]]:
    pairs = ((name, getattr(before, name), getattr(after, name)) for name in COMPARED)
    return [(name.replace("_", " "), _text(old), _text(new)) for name, old, new in pairs if old != new]


def _text(value: Any) -> str:
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(value)
    return f"{value:%-d %b %Y, %H:%M}" if hasattr(value, "strftime") else str(value)


def _back(visit: Visit, memory_id: UUID, notice: str, undo: Undo | None = None) -> Redirected:
    return Redirected(visit.url(f"memories/{memory_id}"), notice, undo)


def _undo(visit: Visit, memory_id: UUID, act: str, **fields: str) -> Undo:
    return Undo(visit.url(f"memories/{memory_id}/{act}"), fields)


VIEWS = (
    View("GET", "/memories/{memory_id}", show, call="memories.get"),
    View("POST", "/memories/{memory_id}/edit", edit, call="memories.update"),
    View("POST", "/memories/{memory_id}/anchor", anchor, call="memories.update"),
    View("POST", "/memories/{memory_id}/forget", forget, call="memories.forget"),
    View("POST", "/memories/{memory_id}/restore", restore, call="memories.restore"),
    View("POST", "/memories/{memory_id}/revert", revert, call="memories.revert"),
    View("POST", "/memories/{memory_id}/supersede", supersede, call="memories.supersede"),
    View("POST", "/memories/{memory_id}/tag", tag, call="memories.tag"),
    View("POST", "/memories/{memory_id}/untag", untag, call="memories.untag"),
)
