"""`AsyncMemory("https://…")`: the same calls, made by a server.

Nothing here is written per call. `remote_twin` takes a class of the SDK and gives a subclass of it in which
every public call sends itself to the server, by its line in `mnemic.sdk.http.surface` and its own signature.
Two calls are streams and need more: `retain_many` sends one, `events.subscribe` receives one.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from functools import cache, wraps
from inspect import isfunction
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter

from mnemic.config import Settings
from mnemic.db.tenancy import Tenant
from mnemic.errors import ClosedError, ConfigurationError
from mnemic.events.consumers import check_start
from mnemic.retain.items import as_items
from mnemic.runtime.core import Caller, Core
from mnemic.runtime.job_types import JobTable
from mnemic.runtime.models_in_use import Models
from mnemic.runtime.storage import Storage
from mnemic.sdk.http.connection import Link, read_answer
from mnemic.sdk.http.event_stream import Step, follow, follow_as, stream
from mnemic.sdk.http.surface import LOCAL, ON_THIS_SIDE, ROUTES, WHO_AM_I
from mnemic.sdk.http.wire import Call, Request, line_of
from mnemic.sdk.progress import progress_reporter
from mnemic.types.event import Event, check_event_types
from mnemic.types.scope import check_name
from mnemic.types.whoami import WhoAmI

SENT_BYTES = 64 * 1024
"""Lines are sent together until they are this much."""

Local = TypeVar("Local")
_WHO_AM_I = TypeAdapter(WhoAmI)


class RemoteCore(Core):
    """What a remote memory and its views share: the link, and whose memory it leads to."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, Models(settings), JobTable())
        self._link: Link | None = None
        self._tenant: Tenant | None = None

    @property
    def link(self) -> Link:
        """The open link; an error that says what is wrong when there is none."""
        if self._closed:
            raise ClosedError("This Memory is closed. Open a new one.")
        if self._link is None:
            raise ClosedError("This AsyncMemory is not open yet. Use `async with`, or await its open().")
        return self._link

    @property
    def tenant(self) -> Tenant:
        """The tenant that the API key opens."""
        _ = self.link
        assert self._tenant is not None, "an open link has a tenant"
        return self._tenant

    @property
    def storage(self) -> Storage:
        """There is none: the database is the server's."""
        _ = self.link
        raise ConfigurationError("This needs the database itself, and this memory speaks to a server.")

    async def open(self) -> None:
        """Ask the server who we are, once."""
        async with self._opening:
            if self._closed:
                raise ClosedError("This Memory is closed. Open a new one.")
            if self._link is not None:
                return
            link = Link(self.settings)
            try:
                self._tenant = await self._find_tenant(link)
            except BaseException:
                await link.aclose()
                raise
            self._link = link

    async def aclose(self) -> None:
        """Close the link, once and for all."""
        async with self._opening:
            link, self._link, self._closed = self._link, None, True
            if link is not None:
                await link.aclose()

    async def _find_tenant(self, link: Link) -> Tenant:
        answer = await link.send(Request("GET", WHO_AM_I), None, is_repeatable=True)
        found = read_answer(_WHO_AM_I, answer)
        wanted = self.settings.tenant
        if "tenant" in self.settings.model_fields_set and wanted != found.tenant:
            raise ConfigurationError(
                f"The API key is one of the tenant {found.tenant!r}, not of {wanted!r}: leave the tenant "
                "out, the key decides."
            )
        return Tenant(found.tenant_id, found.tenant)


@cache
def remote_twin(local: type[Local], group: str = "") -> type[Local]:
    """A subclass of a memory, or of the group of that name, that makes its calls by a server."""
    members = {
        name: twin
        for name, member in vars(local).items()
        if not name.startswith("_") and (twin := _twin(group, name, member)) is not None
    }
    return type(local.__name__, (local,), members)


def _twin(group: str, name: str, member: Any) -> Any:
    """What stands in a member's place; None leaves it as it is."""
    path = f"{group}.{name}" if group else name
    if isinstance(member, property):
        given = get_type_hints(member.fget)["return"]
        return _group(name, given) if hasattr(given, "__name__") and _is_group(given) else None
    if not isfunction(member) or path in ON_THIS_SIDE:
        return None
    if path not in ROUTES:
        return _refusing(path, member)
    call = Call(ROUTES[path], member)
    return wraps(member)(_SPECIAL.get(path, _sending)(call))


def _is_group(given: type) -> bool:
    return given.__name__.startswith("Async")


def _group(name: str, local: type) -> property:
    def make(self: Any) -> Any:
        return remote_twin(local, name)(self._caller)

    return property(make)


def _sending(call: Call) -> Callable[..., Any]:
    async def send(self: Any, *arguments: Any, **named: Any) -> Any:
        caller: Caller = self._caller
        request = call.request(self, *arguments, **named)
        answer = await _link(caller).send(request, caller.scope, is_repeatable=call.route.is_repeatable)
        return None if call.has_no_answer else read_answer(call.answer, answer)

    return send


def _sending_lines(call: Call) -> Callable[..., Any]:
    """`retain_many`: the items go as lines of JSON, so that neither side holds all of them."""

    async def send(self: Any, items: Iterable[Any], *, progress: Any = False, **named: Any) -> Any:
        caller: Caller = self._caller
        request = call.request(self, items, **named)
        with progress_reporter(progress) as report:
            lines = _lines(as_items(items), report)
            answer = await _link(caller).send_lines(request, caller.scope, lines)
            return read_answer(call.answer, answer)

    return send


async def _lines(items: Iterable[Any], report: Callable[[int], None]) -> AsyncIterator[bytes]:
    pending = bytearray()
    for count, item in enumerate(items, start=1):
        pending += line_of(item)
        if len(pending) >= SENT_BYTES:
            yield bytes(pending)
            pending.clear()
            report(count)
    yield bytes(pending)


def _following(call: Call) -> Callable[..., Any]:
    """`events.subscribe`: a stream of the server's; with a consumer's name its place is the server's, too."""

    def subscribe(self: Any, consumer: str | None = None, **named: Any) -> AsyncIterator[Event]:
        request = call.request(self, **named)
        # A stream is opened when its first event is asked for: what cannot be right is told before.
        check_event_types("types", named.get("types"))
        check_start("start", named.get("start", "now"))
        caller: Caller = self._caller

        def open_stream(after: int | None) -> AsyncGenerator[Step, None]:
            return stream(lambda: _link(caller), caller.scope, request, after)

        if consumer is None:
            return follow(open_stream)
        return follow_as(self, check_name("consumer", consumer), open_stream, **named)

    return subscribe


def _refusing(path: str, member: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(member)
    def refuse(self: Any, *arguments: Any, **named: Any) -> Any:
        raise ConfigurationError(f"memory.{path} is not there over HTTP: {LOCAL[path]}.")

    return refuse


def _link(caller: Caller) -> Link:
    core = caller.core
    assert isinstance(core, RemoteCore), "a remote twin has a remote core"
    return core.link


_SPECIAL: dict[str, Callable[[Call], Callable[..., Any]]] = {
    "retain_many": _sending_lines,
    "events.subscribe": _following,
}
