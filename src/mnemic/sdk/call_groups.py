"""The groups of calls of a memory: `memory.memories`, `memory.goals` and the others."""

from mnemic.sdk.groups.actors import AsyncActors
from mnemic.sdk.groups.admin import AsyncAdmin
from mnemic.sdk.groups.audit import AsyncAudit
from mnemic.sdk.groups.channels import AsyncChannels
from mnemic.sdk.groups.cleanup import AsyncCleanup
from mnemic.sdk.groups.context import AsyncContext, AsyncContexts
from mnemic.sdk.groups.conversations import AsyncConversations
from mnemic.sdk.groups.curation import AsyncCuration
from mnemic.sdk.groups.documents import AsyncDocuments
from mnemic.sdk.groups.entities import AsyncEntities
from mnemic.sdk.groups.errors import AsyncErrors
from mnemic.sdk.groups.events import AsyncEvents
from mnemic.sdk.groups.goals import AsyncGoals
from mnemic.sdk.groups.groups import AsyncGroups
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
from mnemic.sdk.groups.spend import AsyncSpend
from mnemic.sdk.groups.state import AsyncState
from mnemic.sdk.groups.statements import AsyncStatements
from mnemic.sdk.groups.strategies import AsyncStrategies
from mnemic.sdk.groups.triples import AsyncTriples
from mnemic.sdk.groups.webhooks import AsyncWebhooks
from mnemic.sdk.groups.working import AsyncWorking
from mnemic.sdk.routing import CallGroup


class CallGroups(CallGroup):
    """The groups, each with the backend and the scope of the memory. `AsyncMemory` inherits them."""

    @property
    def memories(self) -> AsyncMemories:
        """Single memories: read, change, forget, restore and relate them."""
        return AsyncMemories(self._backend, self._scope)

    @property
    def goals(self) -> AsyncGoals:
        """Goals, their deadlines, sub-goals and blockers."""
        return AsyncGoals(self._backend, self._scope)

    @property
    def strategies(self) -> AsyncStrategies:
        """How tasks were solved, and how well that worked; statistics of tools."""
        return AsyncStrategies(self._backend, self._scope)

    @property
    def working(self) -> AsyncWorking:
        """Working memory: values, thoughts and the active goal of the current task."""
        return AsyncWorking(self._backend, self._scope)

    def context(self, session: str) -> AsyncContext:
        """Return the paged context of one session of an agent, by its name; nothing is read or written yet.

        The name is yours: 1 to 256 characters, unique for an owner. The first object begins the session.
        """
        return AsyncContext(self._backend, self._scope, session)

    @property
    def contexts(self) -> AsyncContexts:
        """Sessions of agents whose context is paged."""
        return AsyncContexts(self._backend, self._scope)

    @property
    def conversations(self) -> AsyncConversations:
        """Conversations, their turns and their tool calls."""
        return AsyncConversations(self._backend, self._scope)

    @property
    def channels(self) -> AsyncChannels:
        """Channels and branches: fork a channel, merge the branch or drop it."""
        return AsyncChannels(self._backend, self._scope)

    @property
    def documents(self) -> AsyncDocuments:
        """Documents by name."""
        return AsyncDocuments(self._backend, self._scope)

    @property
    def state(self) -> AsyncState:
        """JSON documents by key."""
        return AsyncState(self._backend, self._scope)

    @property
    def entities(self) -> AsyncEntities:
        """People, projects and other things that memories are about, and the relations between them."""
        return AsyncEntities(self._backend, self._scope)

    @property
    def triples(self) -> AsyncTriples:
        """Statements of subject, predicate and object."""
        return AsyncTriples(self._backend, self._scope)

    @property
    def statements(self) -> AsyncStatements:
        """Statements found in turns, notes and documents, and how contradictions are decided."""
        return AsyncStatements(self._backend, self._scope)

    @property
    def journal(self) -> AsyncJournal:
        """Journal entries: what an agent evaluated, did and plans to do next."""
        return AsyncJournal(self._backend, self._scope)

    @property
    def revenue(self) -> AsyncRevenue:
        """Revenue events."""
        return AsyncRevenue(self._backend, self._scope)

    @property
    def errors(self) -> AsyncErrors:
        """Error events."""
        return AsyncErrors(self._backend, self._scope)

    @property
    def metrics(self) -> AsyncMetrics:
        """Measured values and their summaries, and the state of the tenant."""
        return AsyncMetrics(self._backend, self._scope)

    @property
    def actors(self) -> AsyncActors:
        """Flags on actors that should not be trusted."""
        return AsyncActors(self._backend, self._scope)

    @property
    def processes(self) -> AsyncProcesses:
        """Attributes of the processes of a system."""
        return AsyncProcesses(self._backend, self._scope)

    @property
    def schedules(self) -> AsyncSchedules:
        """Recurring jobs."""
        return AsyncSchedules(self._backend, self._scope)

    @property
    def spend(self) -> AsyncSpend:
        """What calls of language models cost, and caps on it."""
        return AsyncSpend(self._backend, self._scope)

    @property
    def shares(self) -> AsyncShares:
        """Grants that let other owners recall an owner's memories."""
        return AsyncShares(self._backend, self._scope)

    @property
    def groups(self) -> AsyncGroups:
        """Groups of owners, and grants to all members of a group; for administrators."""
        return AsyncGroups(self._backend, self._scope)

    @property
    def curation(self) -> AsyncCuration:
        """Proposals of the curator, and all changes that Mnemic made on its own behalf, with undo."""
        return AsyncCuration(self._backend, self._scope)

    @property
    def cleanup(self) -> AsyncCleanup:
        """Memories that could be archived, with a dry run and undo."""
        return AsyncCleanup(self._backend, self._scope)

    @property
    def keys(self) -> AsyncKeys:
        """API keys for a Mnemic server."""
        return AsyncKeys(self._backend, self._scope)

    @property
    def events(self) -> AsyncEvents:
        """Events: follow them, list them, read them again."""
        return AsyncEvents(self._backend, self._scope)

    @property
    def webhooks(self) -> AsyncWebhooks:
        """URLs that receive events."""
        return AsyncWebhooks(self._backend, self._scope)

    @property
    def audit(self) -> AsyncAudit:
        """The audit log: operations that destroy, export or share data, with their outcomes."""
        return AsyncAudit(self._backend, self._scope)

    @property
    def jobs(self) -> AsyncJobs:
        """Background jobs."""
        return AsyncJobs(self._backend, self._scope)

    @property
    def log(self) -> AsyncLog:
        """The log of calls that wrote and read."""
        return AsyncLog(self._backend, self._scope)

    @property
    def admin(self) -> AsyncAdmin:
        """Erasure, export and import, backup and restore, statistics."""
        return AsyncAdmin(self._backend, self._scope)
