"""Who a caller of a server is."""

from dataclasses import dataclass
from uuid import UUID

from mnemic.types.key import Role


@dataclass(frozen=True, slots=True)
class WhoAmI:
    """The tenant that an API key opens, what it may do there, and the owner that it is bound to, if any."""

    tenant_id: UUID
    tenant: str
    role: Role
    owner: str | None
