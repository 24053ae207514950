"""Mnemic: the memory of AI agents, in one PostgreSQL that is embedded by default.

>>> from mnemic import Memory
>>> with Memory(owner="alice") as memory:
...     ...

`Memory` and `AsyncMemory` are loaded on first use, so that `import mnemic` costs next to nothing
in programs that only want its errors or its version.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mnemic.version import __version__

if TYPE_CHECKING:
    from mnemic.sdk._sync import Memory
    from mnemic.sdk.memory import AsyncMemory

__all__ = ["AsyncMemory", "Memory", "__version__"]

_LOADED_ON_FIRST_USE = {"AsyncMemory": "mnemic.sdk.memory", "Memory": "mnemic.sdk._sync"}


def __getattr__(name: str) -> Any:
    """Load one of the two faces of Mnemic when somebody asks for it (PEP 562)."""
    if name not in _LOADED_ON_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LOADED_ON_FIRST_USE[name]), name)
