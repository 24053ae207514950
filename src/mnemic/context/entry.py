"""One piece of a prompt. The proxy reads entries from requests, the benchmark from recorded sessions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mnemic.context.levels.level import ObjectType

Role = Literal["instructions", "user", "assistant", "call", "result"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One piece of a prompt, in the order in which the model reads it."""

    key: str
    """Unique within a session and the same in every request: for a result the id of its call."""
    role: Role
    text: str
    tool: str = ""
    """Name of the tool of a call or a result."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the call; of a result, those of its call."""
    is_error: bool = False
    is_pageable: bool = False
    """Whether its text may be replaced: a result of nothing but text."""
    type: ObjectType | None = None
    """Kind of its content, if the caller knows it; else it follows from tool, arguments and text."""
    source_key: str = ""
    """What the tool was asked for, if the caller knows it; else it follows from tool and arguments."""
