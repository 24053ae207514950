"""The scope of an MCP client: the memory that it uses, its role, and the sets of tools that it sees.

A client is bound to an owner if its memory has one. Then no tool has an argument for the owner, so a model
that follows injected instructions cannot read or write another owner's memories. With a memory without an
owner (`mnemic mcp --any-owner`, an API key that is bound to no owner) each tool has the argument `owner`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from mnemic.errors import InvalidInputError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.key import Role

Compat = Literal["reference", "chatgpt"]
COMPATS: tuple[Compat, ...] = get_args(Compat)


@dataclass(frozen=True)
class ClientScope:
    """One client during one request."""

    memory: AsyncMemory
    role: Role = "write"
    compat: frozenset[Compat] = frozenset()

    @property
    def may_write(self) -> bool:
        """Whether the client may use tools that change something."""
        return self.role != "read"

    @property
    def takes_owner(self) -> bool:
        """Whether tools have the argument `owner`."""
        return self.memory.owner is None


def check_compat(names: Iterable[str]) -> frozenset[Compat]:
    """Check the names of compatible sets of tools; the error lists the valid ones."""
    chosen = frozenset(names)
    if unknown := sorted(chosen.difference(COMPATS)):
        raise InvalidInputError(
            f"compat must be any of {', '.join(COMPATS)}, not {', '.join(map(ascii, unknown))}."
        )
    return frozenset(name for name in COMPATS if name in chosen)
