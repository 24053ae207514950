"""`AsyncMemory`, the main class of the SDK. `Memory` in `_sync.py` is generated from it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from mnemic.config import Settings
from mnemic.consolidation.consolidating import check_selection, consolidate
from mnemic.db.tenancy import Tenant
from mnemic.mind.bundle import recall_with_bundle
from mnemic.models.embedding import EmbedderSpec
from mnemic.models.language import LanguageModelSpec
from mnemic.models.reranking import RerankerSpec
from mnemic.recall.profile import make_profile, profile_request
from mnemic.recall.request import check_request
from mnemic.retain.items import ItemInput, as_items
from mnemic.retain.pipeline import retain_items
from mnemic.runtime.core import Core
from mnemic.sdk.backend import Backend, LocalBackend, choose_backend
from mnemic.sdk.call_groups import CallGroups
from mnemic.sdk.progress import progress_reporter
from mnemic.sdk.routing import CallGroup, routed
from mnemic.sdk.settings import resolve_settings
from mnemic.types.consolidated import Consolidated
from mnemic.types.memory import Category, Provenance, Source, Status
from mnemic.types.profile import Profile
from mnemic.types.recalled import Include, Recalled, Technique
from mnemic.types.retained import Retained
from mnemic.types.scope import Scope
from mnemic.types.statement import ContradictionPolicy


class AsyncMemory(CallGroups):
    """A memory for agents: one tenant, on a database or on a Mnemic server.

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
        """Choose where the memory is stored and the defaults of its calls.

        Without arguments the memory uses the embedded server in the platform's data folder; `data_dir` is
        another folder for the embedded server. `url` is a `postgresql://` database, or the `https://` address
        of a Mnemic server, which needs an `api_key` and uses its own models. `url` and `data_dir` exclude
        each other. `embedder` is "local", "provider:model" or an object. `llm` is "provider:model" or an
        object; it is optional, and some techniques of recall use it. `reranker` is "local", "llm" or an
        object. Arguments that are not given come from `settings`, or from the environment (`MNEMIC_…`).
        """
        resolved = resolve_settings(url, data_dir, api_key, tenant, settings)
        backend = choose_backend(resolved, embedder=embedder, llm=llm, reranker=reranker)
        scope = Scope(resolved.owner, resolved.channel, resolved.process)
        super().__init__(backend, scope.narrowed(owner=owner, channel=channel, process=process))
        self._owns_backend = True

    async def open(self) -> Self:
        """Start or join the embedded server, or connect to the URL. Opening twice does nothing."""
        await self._backend.open()
        return self

    async def aclose(self) -> None:
        """Close the connections and release the embedded server.

        Closing twice does nothing. Closing a view made by `scope` does nothing, because the view shares the
        connections of its memory.
        """
        if self._owns_backend:
            await self._backend.aclose()

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
        """Return a view of the same memory with other defaults; None keeps the default of this memory."""
        return self._in_scope(self._scope.narrowed(owner=owner, channel=channel, process=process))

    def _in_scope(self, scope: Scope) -> "AsyncMemory":
        """A view of the same memory in exactly this scope."""
        return _memory_on(self._backend, scope)

    @routed("retain")
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
        """Store a text, a message, a mapping, or a list of them: all items, or none on an error.

        A mapping has `content` and any of the keywords of this call, which are the defaults for all items.
        When the call returns, every item is durable, and recall finds it by its words and by its meaning. An
        exact duplicate is not stored again; it reinforces the stored memory.
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

    @routed("retain_many")
    async def retain_many(
        self,
        items: Iterable[ItemInput],
        *,
        owner: str | None = None,
        channel: str | None = None,
        conversation: str | None = None,
        progress: bool | Callable[[int], None] = False,
    ) -> Retained:
        """Store many items: all of them, or none on an error.

        `items` may be a generator of any length; memory use does not grow with it. `progress=True` shows a
        progress bar on standard error; a function is called with the number of items processed so far.
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

    @routed("recall")
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
        metadata: Mapping[str, Any] | None = None,
        role: str | None = None,
        name: str | None = None,
        document: str | None = None,
        source: Source | None = None,
        min_score: float | None = None,
        refuse_below: float | None = None,
        strict: bool = False,
        techniques: Collection[Technique] | None = None,
        explain: bool = False,
        record: bool = True,
        include: Collection[Include] = (),
        current_conversation: str | None = None,
    ) -> Recalled:
        """Return the memories that best answer a query, or refuse if no memory is close enough.

        Recall searches the memories of the owner, and those that grants make visible, in the active channel
        and in `_global`, or in `channels`. Filters: a memory has one of `categories` and all `tags`, belongs
        to `conversation`, happened at or after `since` and before `until`, has at least `min_confidence`, is
        active or has one of `statuses`, contains all of `metadata` (as JSON: nested, and part of a list),
        was said by somebody in this `role` or with this `name`, belongs to `document`, comes from `source`.
        `as_of` returns what was known and valid at that time. `at` is the time of the question, for words
        such as "yesterday".

        Each hit has a `score` from 0 to 1, which orders the hits of one call; `min_score` leaves out hits
        below it. The `confidence` of the result is the probability that the answer is among the hits. Below
        `refuse_below` recall refuses; 0 never refuses. The default refuses only what is foreign, and marks
        hits that may not answer the query as weak (`outcome`); `strict=True` refuses these, too.

        `techniques` selects the search techniques, `explain=True` adds the reasons for each hit, and
        `include` adds the turns around hits (`neighbours`) and the names of the entities that they mention
        (`entities`); or, to the result and before the hits in its text, open goals (`goals`), the working
        memory of `current_conversation` with its last turns (`working`), the profile of the owner (`profile`)
        and strategies that fit the query (`strategies`). With `record=False` the call is neither logged nor
        counted as a use of its hits.
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
            metadata=metadata,
            role=role,
            name=name,
            document=document,
            source=source,
            min_score=min_score,
            refuse_below=refuse_below,
            strict=strict,
            techniques=self._core.settings.techniques if techniques is None else techniques,
            explain=explain,
            record=record,
            include=include,
            current_conversation=current_conversation,
        )
        return await recall_with_bundle(self._caller, request)

    @routed("profile")
    async def profile(
        self,
        entity: str | None = None,
        *,
        max_tokens: int = 2_000,
        channels: Sequence[str] | None = None,
        owner: str | None = None,
        channel: str | None = None,
    ) -> Profile:
        """Return what is known about the owner or, with `entity`, about a person or thing of that name.

        The memories that tell most come in sections (identity, people, work, preferences, expertise, style,
        current matters, recent), each with its id and date; `text` is the same for a prompt, within
        `max_tokens`. `entity` need not be declared: memories that mention the name count. It may also be
        another owner who shares memories. A profile without sections means that nothing is known.
        """
        request, question = profile_request(
            entity,
            self._caller.scoped(owner, channel),
            max_tokens=max_tokens,
            channels=channels,
            techniques=frozenset(self._core.settings.techniques),
        )
        return await make_profile(self._caller, request, question)

    @routed("consolidate")
    async def consolidate(
        self,
        *,
        conversation: str | None = None,
        policy: ContradictionPolicy | None = None,
        progress: bool | Callable[[int], None] = False,
        owner: str | None = None,
    ) -> Consolidated:
        """Learn now from what the owner's turns, notes and documents say since the last pass.

        A scheduled job does the same for all owners every 15 minutes. What was understood is stored as
        statements, which are memories; conversations get a summary. Running it again stores nothing twice.
        `policy` says what happens to a statement that contradicts a known one; the default is that of the
        channel or of the tenant. `progress=True` shows a progress bar on standard error; a function is called
        with the number of sources read so far.
        """
        selection = check_selection(self._caller.scoped(owner), conversation, policy)
        with progress_reporter(progress, "reading") as report:
            return await consolidate(self._core, selection, report)

    @property
    def tenant(self) -> Tenant:
        """The tenant of this memory."""
        return self._backend.tenant

    @property
    def owner(self) -> str | None:
        """The default owner of calls."""
        return self._scope.owner

    @property
    def channel(self) -> str:
        """The default channel of calls."""
        return self._scope.channel

    @property
    def process(self) -> str:
        """The process that writes, by name."""
        return self._scope.process

    @property
    def _core(self) -> Core:
        """The core of a local backend; ConfigurationError on the HTTP backend."""
        return self._backend.core


def memory_on_core(core: Core, scope: Scope, *, owns_core: bool = False) -> AsyncMemory:
    """A memory on an existing core. Closing the memory closes the core only if the memory owns it.

    `mnemic.sdk.tenants` runs the memories of many tenants on one open database this way. Tests run many
    memories on one: `Core(settings, models, storage=…)` takes a storage that is already open.
    """
    return _memory_on(LocalBackend(core), scope, owns_backend=owns_core)


def memory_behind(memory: AsyncMemory, wrap: Callable[[Backend], Backend]) -> AsyncMemory:
    """A view of an open memory whose calls go through another backend, such as one that checks each call."""
    return _memory_on(wrap(memory._backend), memory._scope)


def _memory_on(backend: Backend, scope: Scope, *, owns_backend: bool = False) -> AsyncMemory:
    memory = AsyncMemory.__new__(AsyncMemory)
    CallGroup.__init__(memory, backend, scope)
    memory._owns_backend = owns_backend
    return memory
