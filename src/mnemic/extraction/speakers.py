"""Who speaks in a source, and about whom that speaker may testify.

A user, or a speaker known by name, testifies about anything except what another speaker of the same
conversation is, has or likes. An assistant, a tool or a system prompt testifies only about itself: most false
memories are claims of assistants about their users.
"""

from collections.abc import Collection
from typing import Literal

from mnemic.extraction.protocol import SourceText

USER_SUBJECT = "The user"

_USER_ROLES = frozenset({"user", "human", "customer", "client", "me", "owner"})
_MACHINE_ROLES = frozenset(
    {"assistant", "ai", "bot", "model", "system", "developer", "tool", "function", "agent", "chatbot"}
)

Speaker = Literal["user", "named", "machine", "note", "document"]


def speaker_of(source: SourceText) -> Speaker:
    """What kind of speaker a source has; an unknown role without a name counts as a machine."""
    role = source.role.casefold().strip() if source.role is not None else None
    name = source.name.casefold().strip() if source.name is not None else None
    if role in _MACHINE_ROLES or name in _MACHINE_ROLES:
        return "machine"
    if role in _USER_ROLES:
        return "user"
    if name is not None:
        return "user" if name in _USER_ROLES else "named"
    if role is not None:
        return "machine"
    return "document" if source.is_document else "note"


def self_name(source: SourceText) -> str | None:
    """What "I" in a source is called; None if it must not be understood: in documents and of machines."""
    speaker = speaker_of(source)
    if speaker in ("machine", "document"):
        return None
    has_name = source.name is not None and source.name.casefold().strip() not in _USER_ROLES
    return source.name if has_name else USER_SUBJECT


def is_testimony(subject: str, source: SourceText, speakers: Collection[str]) -> bool:
    """Whether the speaker of a source may testify about a subject.

    `speakers` are the names of all speakers of the batch, in small letters.
    """
    about = _person(subject)
    if speaker_of(source) == "machine":
        own = {"assistant", "the assistant", (source.name or "assistant").casefold()}
        return about in own
    own_name = self_name(source)
    if own_name is not None and about == own_name.casefold():
        return True
    is_user_alone = speaker_of(source) in ("user", "note")
    return about not in speakers and (about not in ("the user", "user") or is_user_alone)


def _person(subject: str) -> str:
    """The first person of a subject: "the user" of "The user's sister"."""
    plain = subject.casefold().strip().replace("’", "'")
    return plain.partition("'s ")[0].removesuffix("'s") if "'s" in plain else plain
