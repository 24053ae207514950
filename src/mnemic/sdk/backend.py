"""Where the calls of a memory run: in this process on a database, or on a Mnemic server over HTTP.

A memory, its scoped views and its groups hold one `Backend`. `LocalBackend` runs the body of a call here;
`mnemic.sdk.http.client.HttpBackend` sends the call to a server. `mnemic.sdk.routing.routed` is the decorator
that passes every public call to the backend.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

from mnemic.config import Settings
from mnemic.db.tenancy import Tenant
from mnemic.errors import ConfigurationError
from mnemic.models.embedding import EmbedderSpec
from mnemic.models.language import LanguageModelSpec
from mnemic.models.reranking import RerankerSpec
from mnemic.runtime.core import Core
from mnemic.runtime.models_in_use import Models
from mnemic.runtime.storage import uses_http
from mnemic.runtime.workers import work_in_process
from mnemic.sdk.job_table import JOBS

if TYPE_CHECKING:
    from mnemic.sdk.routing import CallGroup

Group = TypeVar("Group", bound="CallGroup")
Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


class Backend(Protocol):
    """What runs the calls of a memory. States: new → open → closed."""

    @property
    def core(self) -> Core:
        """The database, models and worker of this process; ConfigurationError on the HTTP backend."""
        ...

    @property
    def tenant(self) -> Tenant:
        """The tenant; ClosedError unless the backend is open."""
        ...

    async def open(self) -> None:
        """Open the database or the connection to the server. Opening twice does nothing."""
        ...

    async def aclose(self) -> None:
        """Close it for good. Closing twice does nothing."""
        ...

    def call(
        self,
        name: str,
        body: Callable[Concatenate[Group, Parameters], Returned],
        group: Group,
        /,
        *arguments: Parameters.args,
        **named: Parameters.kwargs,
    ) -> Returned:
        """Make the call `name`, such as "state.set"; `body` is the function that runs it locally."""
        ...


class LocalBackend:
    """Runs calls in this process, on the embedded server or on a `postgresql://` database."""

    def __init__(self, core: Core) -> None:
        self.core = core

    @property
    def tenant(self) -> Tenant:
        """The tenant of the open database."""
        return self.core.tenant

    async def open(self) -> None:
        """Open the database and, if the settings ask for it, start the worker of this process."""
        await self.core.open()
        work_in_process(self.core)

    async def aclose(self) -> None:
        """Stop the worker and close the database."""
        await self.core.aclose()

    def call(
        self,
        name: str,
        body: Callable[Concatenate[Group, Parameters], Returned],
        group: Group,
        /,
        *arguments: Parameters.args,
        **named: Parameters.kwargs,
    ) -> Returned:
        """Run the body of the call."""
        return body(group, *arguments, **named)


def choose_backend(
    settings: Settings,
    *,
    embedder: EmbedderSpec | None = None,
    llm: LanguageModelSpec | None = None,
    reranker: RerankerSpec | None = None,
) -> Backend:
    """The backend for the URL in the settings: HTTP for `https://`, otherwise local. It is not open yet."""
    if not uses_http(settings):
        return LocalBackend(Core(settings, Models(settings, embedder, llm, reranker), JOBS))
    if (embedder, llm, reranker) != (None, None, None):
        raise ConfigurationError("A Mnemic server uses its own models: leave out embedder, llm and reranker.")
    # Importing the HTTP client takes a third of the SDK's import time, and few memories need it.
    from mnemic.sdk.http.client import HttpBackend  # noqa: PLC0415

    return HttpBackend(settings)
