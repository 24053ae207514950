"""The identity of a caller of a server."""

from dataclasses import dataclass
from uuid import UUID

from mnemic.types.key import Role


@dataclass(frozen=True, slots=True)
class WhoAmI:
    """The tenant and role of an API key, and the owner that it is bound to, if any."""

    tenant_id: UUID
    tenant: str
    role: Role
    owner: str | None
