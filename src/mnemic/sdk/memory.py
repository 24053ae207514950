"""`AsyncMemory`, the face of Mnemic. `Memory` in `_sync.py` is generated from it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from mnemic.config import Settings, load_settings
from mnemic.db.tenancy import Tenant
from mnemic.errors import ConfigurationError
from mnemic.models.embedding import EmbedderSpec
from mnemic.models.language import LanguageModelSpec
from mnemic.models.reranking import RerankerSpec
from mnemic.recall.calls import recall_request
from mnemic.recall.request import check_request
from mnemic.retain.calls import retain_items
from mnemic.retain.items import ItemInput, as_items
from mnemic.runtime.core import Caller, Core
from mnemic.runtime.models_in_use import Models
from mnemic.runtime.storage import is_server
from mnemic.runtime.workers import work_in_process
from mnemic.sdk.groups.actors import AsyncActors
from mnemic.sdk.groups.admin import AsyncAdmin
from mnemic.sdk.groups.audit import AsyncAudit
from mnemic.sdk.groups.conversations import AsyncConversations
from mnemic.sdk.groups.documents import AsyncDocuments
from mnemic.sdk.groups.entities import AsyncEntities
from mnemic.sdk.groups.errors import AsyncErrors
from mnemic.sdk.groups.events import AsyncEvents
from mnemic.sdk.groups.jobs import AsyncJobs
from mnemic.sdk.groups.journal import AsyncJournal
from mnemic.sdk.groups.keys import AsyncKeys
from mnemic.sdk.groups.log import AsyncLog
from mnemic.sdk.groups.memories import AsyncMemories
from mnemic.sdk.groups.metrics import AsyncMetrics
from mnemic.sdk.groups.processes import AsyncProcesses
from mnemic.sdk.groups.revenue import AsyncRevenue
from mnemic.sdk.groups.schedules import AsyncSchedules
from mnemic.sdk.groups.shares import AsyncShares
from mnemic.sdk.groups.state import AsyncState
from mnemic.sdk.groups.triples import AsyncTriples
from mnemic.sdk.groups.webhooks import AsyncWebhooks
from mnemic.sdk.job_table import JOBS
from mnemic.sdk.progress import progress_reporter
from mnemic.types.memory import Category, Provenance, Source, Status
from mnemic.types.recalled import Include, Recalled, Technique
from mnemic.types.retained import Retained
from mnemic.types.scope import Scope


class AsyncMemory:
    """The memory of agents, in one place and one tenant.

    >>> async with AsyncMemory(owner="alice") as memory:
    ...     print(memory.tenant.name)
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        data_dir: str | PathLike[str] | None = None,
        api_key: str | None = None,
        tenant: str | None = None,
        owner: str | None = None,
        process: str | None = None,
        channel: str | None = None,
        embedder: EmbedderSpec | None = None,
        llm: LanguageModelSpec | None = None,
        reranker: RerankerSpec | None = None,
        settings: Settings | None = None,
    ) -> None:
        """Say where the memory lives and on whose behalf it is used.

        Without arguments that is the embedded server in the platform's data folder. `url` is a
        `postgresql://` database of your own, or the `https://` address of a Mnemic server, which goes with an
        `api_key` and uses the models of the server; `data_dir` is a folder for the embedded server, and
        excludes `url`. `embedder` is "local", "provider:model" or an object; so is `llm`, which
        nothing needs and some techniques of recall use. `reranker` is "llm" or an object. What is not given
        comes from the environment (`MNEMIC_…`), or from `settings` when they are passed in.
        """
        settled = _settle(url, data_dir, api_key, tenant, settings)
        if is_server(settled):
            self._become_remote(settled, embedder, llm, reranker)
        else:
            self._core = Core(settled, Models(settled, embedder, llm, reranker), JOBS)
        self._scope = Scope(settled.owner, settled.channel, settled.process).narrowed(
            owner=owner, channel=channel, process=process
        )
        self._is_view = False

    async def open(self) -> Self:
        """Start or join the embedded server, or connect to the URL. Doing it twice does no harm."""
        await self._core.open()
        work_in_process(self._core)
        return self

    async def aclose(self) -> None:
        """Close the connections and give up the share in the embedded server.

        Closing twice does no harm. Closing a view made by `scope` does nothing: it lives with the
        memory that it is a view of.
        """
        if not self._is_view:
            await self._core.aclose()

    async def __aenter__(self) -> Self:
        """Open."""
        return await self.open()

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close."""
        await self.aclose()

    def scope(
        self, *, owner: str | None = None, channel: str | None = None, process: str | None = None
    ) -> "AsyncMemory":
        """A cheap view of the same memory with other defaults; what is not given stays as it is."""
        return self._view(self._core, self._scope.narrowed(owner=owner, channel=channel, process=process))

    @classmethod
    def _view(cls, core: Core, scope: Scope) -> "AsyncMemory":
        """A memory over what somebody else opens and closes."""
        view = cls.__new__(cls)
        view._core, view._scope, view._is_view = core, scope, True
        return view

    async def retain(
        self,
        content: ItemInput | Iterable[ItemInput],
        *,
        owner: str | None = None,
        channel: str | None = None,
        conversation: str | None = None,
        category: Category | None = None,
        source: Source | None = None,
        provenance: Provenance | None = None,
        confidence: float | None = None,
        at: datetime | str | None = None,
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
        expires_at: datetime | str | None = None,
        role: str | None = None,
        name: str | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        anchored: bool | None = None,
        evidence: str | UUID | Sequence[str | UUID] | None = None,
        external_id: str | None = None,
    ) -> Retained:
        """Remember a text, a message, a mapping, or a list of them: all of it, or none on an error.

        A mapping has `content` and any of the keywords here, which are the defaults for all items. When
        the call returns, everything is durable and findable by its words and by its meaning. Exact
        duplicates are not stored again; they reinforce what is there.
        """
        fields = {
            "conversation": conversation,
            "category": category,
            "source": source,
            "provenance": provenance,
            "confidence": confidence,
            "at": at,
            "valid_from": valid_from,
            "valid_to": valid_to,
            "expires_at": expires_at,
            "role": role,
            "name": name,
            "tags": tags,
            "metadata": metadata,
            "anchored": anchored,
            "evidence": evidence,
            "external_id": external_id,
        }
        return await retain_items(self._caller, as_items(content), fields, owner=owner, channel=channel)

    async def retain_many(
        self,
        items: Iterable[ItemInput],
        *,
        owner: str | None = None,
        channel: str | None = None,
        conversation: str | None = None,
        progress: bool | Callable[[int], None] = False,
    ) -> Retained:
        """Remember many items in one go: all of them, or none on an error.

        `items` may be a generator of any length: memory use does not grow with it. `progress=True` shows
        a progress bar on standard error; a function is called with the number of items made ready.
        """
        with progress_reporter(progress) as report:
            return await retain_items(
                self._caller,
                as_items(items),
                {"conversation": conversation},
                owner=owner,
                channel=channel,
                on_progress=report,
            )

    async def recall(
        self,
        query: str,
        *,
        owner: str | None = None,
        limit: int = 10,
        max_tokens: int | None = None,
        categories: Sequence[Category] | None = None,
        tags: Sequence[str] | None = None,
        channel: str | None = None,
        channels: Sequence[str] | None = None,
        conversation: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        as_of: datetime | str | None = None,
        at: datetime | str | None = None,
        min_confidence: float | None = None,
        statuses: Sequence[Status] | None = None,
        refuse_below: float | None = None,
        techniques: Collection[Technique] | None = None,
        explain: bool = False,
        include: Collection[Include] = (),
    ) -> Recalled:
        """Find what matters for a query, best first, or refuse if nothing stored is close enough.

        It looks in the active channel and in `_global`, or in `channels`, at the owner's memories and at
        those that grants let it see. The filters: a memory has one of `categories` and all `tags`, belongs
        to `conversation`, happened from `since` on and before `until`, is at least `min_confidence` sure,
        and is active, or has one of `statuses`. `as_of` answers with what was known and valid at that
        moment. `at` is when the question is asked, for words such as "yesterday". Below the confidence
        `refuse_below` it refuses; 0 never does. `techniques` switches ways of searching on and off,
        `explain=True` gives every hit its reasons, `include` adds the turns around hits (`neighbours`) and
        the names of the entities that they mention (`entities`).
        """
        request = check_request(
            query,
            self._caller.scoped(owner, channel),
            limit=limit,
            max_tokens=max_tokens,
            categories=categories,
            tags=tags,
            channels=channels,
            conversation=conversation,
            since=since,
            until=until,
            as_of=as_of,
            at=at,
            min_confidence=min_confidence,
            statuses=statuses,
            refuse_below=refuse_below,
            techniques=self._core.settings.techniques if techniques is None else techniques,
            explain=explain,
            include=include,
        )
        return await recall_request(self._caller, request)

    @property
    def memories(self) -> AsyncMemories:
        """Single memories, their history, how they stand to each other."""
        return AsyncMemories(self._caller)

    @property
    def conversations(self) -> AsyncConversations:
        """Who talked when, what was said, which tools were called."""
        return AsyncConversations(self._caller)

    @property
    def documents(self) -> AsyncDocuments:
        """Texts under names."""
        return AsyncDocuments(self._caller)

    @property
    def state(self) -> AsyncState:
        """JSON documents by key."""
        return AsyncState(self._caller)

    @property
    def entities(self) -> AsyncEntities:
        """Who and what is known, and how they hang together."""
        return AsyncEntities(self._caller)

    @property
    def triples(self) -> AsyncTriples:
        """Statements of subject, predicate and object."""
        return AsyncTriples(self._caller)

    @property
    def journal(self) -> AsyncJournal:
        """What agents evaluated, did and mean to do next."""
        return AsyncJournal(self._caller)

    @property
    def revenue(self) -> AsyncRevenue:
        """Money that came in."""
        return AsyncRevenue(self._caller)

    @property
    def errors(self) -> AsyncErrors:
        """What went wrong."""
        return AsyncErrors(self._caller)

    @property
    def metrics(self) -> AsyncMetrics:
        """Measured values and their summaries."""
        return AsyncMetrics(self._caller)

    @property
    def actors(self) -> AsyncActors:
        """Whom not to trust."""
        return AsyncActors(self._caller)

    @property
    def processes(self) -> AsyncProcesses:
        """What is known about the parts of a system."""
        return AsyncProcesses(self._caller)

    @property
    def schedules(self) -> AsyncSchedules:
        """Jobs that come again and again."""
        return AsyncSchedules(self._caller)

    @property
    def shares(self) -> AsyncShares:
        """Who else may recall an owner's memories."""
        return AsyncShares(self._caller)

    @property
    def keys(self) -> AsyncKeys:
        """Who may call a server."""
        return AsyncKeys(self._caller)

    @property
    def events(self) -> AsyncEvents:
        """What happened, in order, to be followed and read again."""
        return AsyncEvents(self._caller)

    @property
    def webhooks(self) -> AsyncWebhooks:
        """Addresses that events are sent to."""
        return AsyncWebhooks(self._caller)

    @property
    def audit(self) -> AsyncAudit:
        """Acts that destroy or carry away much, their intents and outcomes."""
        return AsyncAudit(self._caller)

    @property
    def jobs(self) -> AsyncJobs:
        """Work that is done later."""
        return AsyncJobs(self._caller)

    @property
    def log(self) -> AsyncLog:
        """Which calls wrote and read."""
        return AsyncLog(self._caller)

    @property
    def admin(self) -> AsyncAdmin:
        """Erasing, moving, backing up, looking at the whole."""
        return AsyncAdmin(self._caller)

    @property
    def tenant(self) -> Tenant:
        """The tenant that this memory works in."""
        return self._core.tenant

    @property
    def owner(self) -> str | None:
        """The owner of calls that name none."""
        return self._scope.owner

    @property
    def channel(self) -> str:
        """The channel of calls that name none."""
        return self._scope.channel

    @property
    def process(self) -> str:
        """Which part of a system writes."""
        return self._scope.process

    @property
    def _caller(self) -> Caller:
        return Caller(self._core, self._scope)

    def _become_remote(self, settings: Settings, *models: object) -> None:
        """Make all calls by the server that the settings name: this is now the class's remote twin."""
        if any(model is not None for model in models):
            raise ConfigurationError(
                "A Mnemic server has models of its own: leave embedder, llm and reranker out."
            )
        # Its HTTP client takes a third of the time that importing all of this does; few memories need it.
        from mnemic.sdk.http.client import RemoteCore, remote_twin  # noqa: PLC0415

        self._core = RemoteCore(settings)
        self.__class__ = remote_twin(AsyncMemory)


def _settle(
    url: str | None,
    data_dir: str | PathLike[str] | None,
    api_key: str | None,
    tenant: str | None,
    settings: Settings | None,
) -> Settings:
    """The settings to open with: the given ones, or the environment's, with the arguments on top."""
    if url is not None and data_dir is not None:
        raise ConfigurationError(
            "url and data_dir exclude each other: a database of your own, or the embedded server."
        )
    given = {
        "database_url": url,
        "data_dir": Path(data_dir) if data_dir is not None else None,
        "api_key": api_key,
        "tenant": tenant,
    }
    base = settings.model_dump(exclude_unset=True) if settings is not None else {}
    settled = load_settings(**base | {name: value for name, value in given.items() if value is not None})
    if api_key is not None and (data_dir is not None or not is_server(settled)):
        raise ConfigurationError(
            "api_key goes with the https:// URL of a Mnemic server; no such URL was given."
        )
    # A folder in the call means the embedded server, whatever the environment says about a URL.
    return settled.model_copy(update={"database_url": None}) if data_dir is not None else settled
