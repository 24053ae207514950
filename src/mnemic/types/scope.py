"""On whose behalf, where and by which part of a system a call is made."""

from dataclasses import dataclass, replace
from uuid import UUID

from mnemic.errors import InvalidInputError, OwnerRequiredError

NAME_MAX_CHARACTERS = 256

OWNER_REQUIRED = (
    "No owner: pass owner=…, use memory.scope(owner=…), or set MNEMIC_OWNER. "
    "Every memory belongs to somebody."
)
"""How the SDK says it; the command line and the server have texts of their own."""


@dataclass(frozen=True)
class Scope:
    """tenant → **owner → channel** → conversation; the tenant is fixed when a `Memory` is opened.

    `owner` is an identity: nothing crosses owners without a recorded grant. `channel` is a scope for
    ranking and tracing, not a wall. `process` says which part of a system writes. What comes through a server
    also says by which API key and in which request; the audit log keeps both.
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
        """The same scope with whatever is given in place of what it has."""
        return replace(
            self,
            owner=self.owner if owner is None else owner,
            channel=self.channel if channel is None else channel,
            process=self.process if process is None else process,
        )

    def require_owner(self) -> str:
        """The owner; without one there is no call."""
        if self.owner is None:
            raise OwnerRequiredError(OWNER_REQUIRED)
        return self.owner


def check_name(field: str, value: object) -> str:
    """Refuse what cannot be a name: wrong type, empty, too long, or with characters that cannot be seen."""
    if not isinstance(value, str):
        raise InvalidInputError(f"{field} must be text, not {type(value).__name__}.")
    if not value.strip() or len(value) > NAME_MAX_CHARACTERS:
        raise InvalidInputError(
            f"{field} must have 1 to {NAME_MAX_CHARACTERS} characters that are not all blank."
        )
    if any(ord(character) < 32 or 0xD800 <= ord(character) <= 0xDFFF for character in value):
        raise InvalidInputError(f"{field} must not contain control characters or broken Unicode.")
    return value
