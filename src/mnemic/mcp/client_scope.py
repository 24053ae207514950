"""Who asks: the memory that a client speaks to, and what it may do there.

A client is bound to an owner when the memory that it was given has one. Then no argument names an owner, and
none can: nothing that a model was talked into reads or writes another owner's memories. A memory without an
owner (`mnemic mcp --any-owner`, a key that is bound to nobody) makes `owner` an argument of each tool.
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
    """One client for the time of one request."""

    memory: AsyncMemory
    role: Role = "write"
    compat: frozenset[Compat] = frozenset()

    @property
    def may_write(self) -> bool:
        """Whether the tools that change something are for this client."""
        return self.role != "read"

    @property
    def takes_owner(self) -> bool:
        """Whether each call must say whose memories it means."""
        return self.memory.owner is None


def check_compat(names: Iterable[str]) -> frozenset[Compat]:
    """The names of other programs' sets of tools; an error that lists them if one is unknown."""
    chosen = frozenset(names)
    if unknown := sorted(chosen.difference(COMPATS)):
        raise InvalidInputError(
            f"compat must be any of {', '.join(COMPATS)}, not {', '.join(map(ascii, unknown))}."
        )
    return frozenset(name for name in COMPATS if name in chosen)
