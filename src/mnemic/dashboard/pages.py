"""The pages of the dashboard. What a page is, and what a view answers; `page_list` lists them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from starlette.responses import Response

from mnemic.dashboard.visit import Visit


@dataclass(frozen=True)
class Shown:
    """A page or, if the script asks for one of `fragments`, a part of it.

    `fragments` has, for each part such as "#found", the template that renders it by itself.
    """

    template: str
    context: Mapping[str, Any]
    fragments: Mapping[str, str] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True)
class Undo:
    """A form that takes the last act back: where it is sent, and its fields."""

    action: str
    fields: Mapping[str, str]


@dataclass(frozen=True)
class Redirected:
    """What follows a form that was sent: another page, with a notice of what was done."""

    location: str
    notice: str = ""
    undo: Undo | None = None


Answer = Shown | Redirected | Response
Run = Callable[[Visit], Awaitable[Answer]]


@dataclass(frozen=True)
class View:
    """One address of a page. `call` is the call of the SDK that decides who may use it, as over HTTP."""

    method: Literal["GET", "POST"]
    path: str
    run: Run
    call: str
    has_frame: bool = True
    """Whether a GET answers with a page, not with a stream, a file or a number."""


Group = Literal["Memory", "Care", "Machinery", "Access"]
GROUPS: tuple[Group, ...] = ("Memory", "Care", "Machinery", "Access")


@dataclass(frozen=True)
class Page:
    """A page in the navigation, with its views; the first one shows it. `key` opens it after `g`."""

    name: str
    title: str
    group: Group
    icon: str
    views: tuple[View, ...]
    key: str = ""
    badge: Callable[[Visit], Awaitable[str]] | None = None
    """Gives the text beside the page in the navigation, such as how much waits."""
    reads_badges_of: tuple[str, ...] = ()
    """Names of the pages whose badges the first view of this page reads for itself."""
    reads_owners: bool = False
    """Whether its first view waits for the owner itself (`Visit.read_owners`), where it needs one."""
    needs_owner: bool = False
    """Whether it shows one owner: without one, the visitor first sees how to create memories."""

    @property
    def call(self) -> str:
        """The call that decides who sees the page in the navigation."""
        return self.views[0].call
