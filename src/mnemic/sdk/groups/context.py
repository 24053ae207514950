"""`memory.context(session)`: the window of an agent as virtual memory; `memory.contexts`: its sessions."""

from collections.abc import Sequence
from uuid import UUID

from mnemic.context import admitting, answering, assembling, changing, closing, sessions
from mnemic.context.levels.passages import TOKENS_MAX
from mnemic.context.policy.settings import PagingSettings
from mnemic.sdk.backend import Backend
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.context import (
    AdmittedObject,
    AssembledContext,
    ClosedContext,
    ContextAnswer,
    ContextEvent,
    ContextEventKind,
    ContextObject,
    ContextObjectText,
    ContextObjectType,
    ContextPressure,
    ContextRelation,
    ContextSession,
    RestoredContext,
)
from mnemic.types.scope import Scope, check_name


class AsyncContexts(CallGroup):
    """Sessions of agents whose context is paged. `memory.context(session)` works with one of them."""

    @routed("contexts.list")
    async def list(
        self,
        *,
        is_open: bool | None = None,
        before: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[ContextSession]:
        """Return sessions of the owner in numbers, newest first: tokens, zone, faults, money saved.

        `is_open` selects open or closed ones. `before` is the `session_id` of the last session of the
        previous page.
        """
        return await sessions.list_sessions(
            self._caller.database, self._caller.scoped(owner), is_open=is_open, before=before, limit=limit
        )


class AsyncContext(CallGroup):
    """What an agent has read in one session, shown within a budget of tokens.

    Each text is an object, shown at one of five levels: 0 is the full text, 1 about 30 % of it, 2 about 5 %,
    3 one line, 4 nothing. Full texts stay stored: `query` answers a question from one, `restore` brings it
    back. Where a call takes the key of an object, the newest object of a source is found by the key that it
    was admitted with, too, such as the path of a file.
    """

    def __init__(self, backend: Backend, scope: Scope, session: str) -> None:
        super().__init__(backend, scope)
        self._arguments = {"session": check_name("session", session)}

    @property
    def _session(self) -> str:
        return self._arguments["session"]

    @routed("context.admit")
    async def admit(
        self,
        content: str,
        *,
        type: ContextObjectType | None = None,
        tool: str | None = None,
        key: str | None = None,
        tags: Sequence[str] | None = None,
        pinned: bool = False,
        is_error: bool = False,
        is_recalled: bool = False,
        owner: str | None = None,
        channel: str | None = None,
    ) -> AdmittedObject:
        """Admit a text that the agent has read, and return what is shown of it, at which level and why.

        `tool` is the tool that returned it and `key` what the tool was asked for: a path, a command, a query.
        A text with the same key supersedes the older one. Without `type` it follows from these and the
        text. `is_recalled` marks recalled memories, which are never learned again. The session begins with
        its first object, and a closed one opens again. ConflictError if there are too many sessions or
        objects.
        """
        new = admitting.check_new_object(
            content,
            type=type,
            tool=tool,
            key=key,
            tags=tags,
            pinned=pinned,
            is_error=is_error,
            is_recalled=is_recalled,
        )
        scope = self._caller.scoped(owner, channel)
        settings = PagingSettings(budget_tokens=self._budget_tokens)
        return await admitting.admit(self._caller.database, scope, self._session, new, settings)

    @routed("context.assemble")
    async def assemble(
        self, *, budget_tokens: int | None = None, owner: str | None = None
    ) -> AssembledContext:
        """Return the text of the context within a budget: pinned objects first, then by level and recency.

        An object that does not fit is shown shorter, at last in one line; `left_out` names those for which
        there was no room at all. The default budget is the setting `context_budget_tokens`.
        """
        budget = self._budget_tokens if budget_tokens is None else budget_tokens
        return await assembling.assemble(
            self._caller.database, self._caller.scoped(owner), self._session, budget
        )

    @routed("context.pressure")
    async def pressure(self, *, owner: str | None = None) -> ContextPressure:
        """Return how full the window is: normal, caution, warning, critical or emergency."""
        scope = self._caller.scoped(owner)
        return await sessions.pressure(self._caller.database, scope, self._session, self._budget_tokens)

    @routed("context.query")
    async def query(
        self,
        question: str,
        *,
        object: str | None = None,
        max_tokens: int = TOKENS_MAX,
        owner: str | None = None,
    ) -> ContextAnswer:
        """Answer a question with the lines of the full text that it is about; the object keeps its level.

        `object` is the key of an object; without one, the object is chosen that knows most of the words of
        the question. The question is recorded as a micro-fault, and repeated faults pin the object.
        """
        return await answering.query(
            self._caller.database,
            self._caller.scoped(owner),
            self._session,
            question,
            key=object,
            max_tokens=max_tokens,
        )

    @routed("context.restore")
    async def restore(self, key: str, *, owner: str | None = None) -> RestoredContext:
        """Return the full text of an object and of what it depends on within two hops.

        Assembly shows them in full for the next requests. The fault is recorded; repeated faults pin the
        object.
        """
        scope = self._caller.scoped(owner)
        return await answering.restore(self._caller.database, scope, self._session, key)

    @routed("context.pin")
    async def pin(self, key: str, *, owner: str | None = None) -> ContextObject:
        """Keep an object at its full text until it is unpinned, and return it."""
        scope = self._caller.scoped(owner)
        return await sessions.set_pin(self._caller.database, scope, self._session, key, is_pinned=True)

    @routed("context.unpin")
    async def unpin(self, key: str, *, owner: str | None = None) -> ContextObject:
        """Let an object fall to lower levels again, and return it."""
        scope = self._caller.scoped(owner)
        return await sessions.set_pin(self._caller.database, scope, self._session, key, is_pinned=False)

    @routed("context.relate")
    async def relate(
        self,
        key: str,
        other: str,
        *,
        relation: ContextRelation = "depends_on",
        owner: str | None = None,
    ) -> None:
        """Record that an object depends on another one, supersedes it or mentions it.

        Restoring an object also restores what it depends on; a superseded object falls first.
        """
        scope = self._caller.scoped(owner)
        await changing.relate(self._caller.database, scope, self._session, key, other, relation)

    @routed("context.summary")
    async def summary(self, *, owner: str | None = None) -> ContextSession:
        """Return the session in numbers; NotFoundError if the owner has none of this name."""
        return await sessions.get_session(self._caller.database, self._caller.scoped(owner), self._session)

    @routed("context.objects")
    async def objects(
        self, *, after: str | None = None, limit: int = 100, owner: str | None = None
    ) -> Sequence[ContextObject]:
        """Return the objects in order of admission; `after` is the last key of the previous page."""
        scope = self._caller.scoped(owner)
        return await sessions.list_objects(
            self._caller.database, scope, self._session, after=after, limit=limit
        )

    @routed("context.get")
    async def get(self, key: str, *, owner: str | None = None) -> ContextObjectText:
        """Return an object with its full text and its shorter levels: what each lost and can still answer.

        This is no fault: it is for people who look at a session, not for agents.
        """
        scope = self._caller.scoped(owner)
        return await sessions.get_object(self._caller.database, scope, self._session, key)

    @routed("context.history")
    async def history(
        self,
        *,
        kinds: Sequence[ContextEventKind] | None = None,
        after: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[ContextEvent]:
        """Return the decisions in the order in which they were taken: requests, admissions, faults, epochs.

        `after` is the `event_id` of the last one of the previous page.
        """
        return await sessions.history(
            self._caller.database,
            self._caller.scoped(owner),
            self._session,
            kinds=kinds,
            after=after,
            limit=limit,
        )

    @routed("context.close")
    async def close(self, *, owner: str | None = None) -> ClosedContext:
        """Close the session. What was pinned, faulted or reused in it becomes memories of the owner.

        Each memory names the session and the object in its metadata; the change log lists them and can undo
        them. A session that is idle for a day is closed by a job. Closing it again does nothing.
        """
        return await closing.close(self._caller, self._caller.scoped(owner), self._session)

    @routed("context.delete")
    async def delete(self, *, owner: str | None = None) -> bool:
        """Delete the session and its history; returns whether there was one. Memories that it left stay."""
        return await sessions.delete_session(self._caller.database, self._caller.scoped(owner), self._session)

    @property
    def _budget_tokens(self) -> int:
        return self._backend.core.settings.context_budget_tokens
