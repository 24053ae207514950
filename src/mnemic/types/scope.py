"""The scope of a call: owner, channel and process."""

from dataclasses import dataclass, replace
from uuid import UUID

from mnemic.errors import InvalidInputError, OwnerRequiredError

NAME_MAX_CHARACTERS = 256

GLOBAL_CHANNEL = "_global"
"""The channel of calls without one. Recall in any channel reads it, too."""

OWNER_REQUIRED = (
    "No owner: pass owner=…, use memory.scope(owner=…), or set MNEMIC_OWNER. "
    "Every memory belongs to an owner."
)
"""Message of the SDK; the command line and the server have their own."""


@dataclass(frozen=True)
class Scope:
    """tenant → **owner → channel** → conversation; the tenant is fixed when a `Memory` is opened.

    `owner` is an identity: an owner's memories are visible to others only with a recorded grant. `channel` is
    used for ranking and tracing and separates nothing, unless it is a branch (record/branches.py). `process`
    is the part of a system that writes. Calls over HTTP also have the API key and the request, which the
    audit log records.
    """

    owner: str | None
    channel: str
    process: str
    key_id: UUID | None = None
    request_id: str | None = None

    def __post_init__(self) -> None:
        for field in ("owner", "channel", "process"):
            value = getattr(self, field)
            if value is not None:
                check_name(field, value)

    def narrowed(
        self, *, owner: str | None = None, channel: str | None = None, process: str | None = None
    ) -> "Scope":
        """The same scope with the given values replaced."""
        return replace(
            self,
            owner=self.owner if owner is None else owner,
            channel=self.channel if channel is None else channel,
            process=self.process if process is None else process,
        )

    def require_owner(self) -> str:
        """The owner; OwnerRequiredError if there is none."""
        if self.owner is None:
            raise OwnerRequiredError(OWNER_REQUIRED)
        return self.owner


def check_name(field: str, value: object) -> str:
    """Refuse what cannot be a name: wrong type, empty, too long, or with control characters."""
    if not isinstance(value, str):
        raise InvalidInputError(f"{field} must be text, not {type(value).__name__}.")
    if not value.strip() or len(value) > NAME_MAX_CHARACTERS:
        raise InvalidInputError(
            f"{field} must have 1 to {NAME_MAX_CHARACTERS} characters that are not all blank."
        )
    if any(ord(character) < 32 or 0xD800 <= ord(character) <= 0xDFFF for character in value):
        raise InvalidInputError(f"{field} must not contain control characters or broken Unicode.")
    return value
