"""The HTTP request of every call of the SDK: one line per call. Paths are written only here.

The server builds its routes from this table (`mnemic.server.routes`), the HTTP backend its requests
(`mnemic.sdk.http.client`). Both derive parameters and responses from the signatures of the calls
(`mnemic.sdk.http.wire`). Every public call has a line in `SURFACE`, `LOCAL_ONLY` or `CLIENT_SIDE`; a test
checks that.

Ids and names are in the path, percent-encoded. The other parameters of reads and deletes are in the query,
those of other calls in a JSON object. `role` is the role that an API key needs. A key that is bound to an
owner may only make calls of reach "owner", which take `owner`.
"""

from dataclasses import dataclass
from typing import Literal

from mnemic.types.key import Role

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Reach = Literal["owner", "tenant"]


@dataclass(frozen=True)
class Route:
    """One call: its name after `memory.`, its HTTP method and path, and the API keys that may make it."""

    call: str
    method: Method
    path: str
    role: Role
    reach: Reach = "owner"
    excluded: frozenset[str] = frozenset()
    """Parameters that the request does not carry as JSON: a stream, or a callback of the caller."""
    local: frozenset[str] = frozenset()
    """Parameters that stay in the process of the caller, such as a callback for progress."""
    detects_retries: bool = False
    """Whether the call itself detects that it is repeated."""
    returns_secret: bool = False
    """Whether the response holds a secret that is not stored; it must not be cached."""
    returns_file: bool = False
    """Whether the response is a file of JSON lines, which the client writes to `path`."""
    omits_nulls: bool = False
    """Whether the response leaves out fields that are null, unless the query has `nulls=true`."""
    group_parameters: tuple[str, ...] = ()
    """Names in the path that the group has, such as the session of `memory.context(session)`."""

    @property
    def is_stream(self) -> bool:
        """Whether the call sends or receives a stream."""
        return bool(self.excluded)

    @property
    def is_idempotent(self) -> bool:
        """Whether a request may be repeated as it is, without an `Idempotency-Key`."""
        return self.role == "read" or self.method == "GET" or self.detects_retries


def _in_session(call: str, method: Method, path: str, role: Role) -> Route:
    """A call of `memory.context(session)`."""
    return Route(call, method, f"/v1/context/sessions/{{session}}{path}", role, group_parameters=("session",))


SURFACE: tuple[Route, ...] = (
    Route("retain", "POST", "/v1/memories", "write"),
    Route("retain_many", "POST", "/v1/memories/batch", "write", excluded=frozenset({"items", "progress"})),
    Route("recall", "POST", "/v1/recall", "read", omits_nulls=True),
    Route("profile", "GET", "/v1/profile", "read"),
    Route("consolidate", "POST", "/v1/consolidate", "write", local=frozenset({"progress"})),
    Route("statements.list", "GET", "/v1/statements", "read"),
    Route("statements.rejected", "GET", "/v1/rejected-statements", "read"),
    Route("statements.attributes", "GET", "/v1/statement-attributes", "read", "tenant"),
    Route("statements.set_attribute", "PUT", "/v1/statement-attributes/{attribute}", "admin", "tenant"),
    Route("statements.remove_attribute", "DELETE", "/v1/statement-attributes/{attribute}", "admin", "tenant"),
    Route("statements.policies", "GET", "/v1/contradiction-policies", "read", "tenant"),
    Route("statements.set_policy", "PUT", "/v1/contradiction-policies", "admin", "tenant"),
    Route("statements.remove_policy", "DELETE", "/v1/contradiction-policies", "admin", "tenant"),
    Route("memories.list", "GET", "/v1/memories", "read"),
    Route("memories.count", "GET", "/v1/memory-count", "read"),
    Route("memories.facets", "GET", "/v1/memory-facets", "read"),
    Route("memories.get", "GET", "/v1/memories/{memory_id}", "read"),
    Route("memories.whole", "GET", "/v1/memories/{memory_id}/whole", "read"),
    Route("memories.history", "GET", "/v1/memories/{memory_id}/history", "read"),
    Route("memories.why", "GET", "/v1/memories/{memory_id}/why", "read"),
    Route("memories.as_of", "GET", "/v1/memories/{memory_id}/as-of", "read"),
    Route("memories.update", "PATCH", "/v1/memories/{memory_id}", "write"),
    Route("memories.supersede", "POST", "/v1/memories/{memory_id}/supersede", "write"),
    Route("memories.forget", "POST", "/v1/memories/{memory_id}/forget", "write"),
    Route("memories.restore", "POST", "/v1/memories/{memory_id}/restore", "write"),
    Route("memories.revert", "POST", "/v1/memories/{memory_id}/revert", "write"),
    Route("memories.tag", "POST", "/v1/memories/{memory_id}/tags", "write"),
    Route("memories.untag", "DELETE", "/v1/memories/{memory_id}/tags", "write"),
    Route("memories.relate", "POST", "/v1/memories/{from_id}/relationships", "write"),
    Route("memories.related", "GET", "/v1/memories/{memory_id}/relationships", "read"),
    Route("memories.feedback", "POST", "/v1/memories/{memory_id}/feedback", "write"),
    Route("memories.list_feedback", "GET", "/v1/feedback", "read"),
    Route("memories.promotions", "GET", "/v1/promotions", "read"),
    Route("memories.near_duplicates", "GET", "/v1/near-duplicates", "read"),
    Route("memories.decide_near_duplicate", "PUT", "/v1/near-duplicates/{memory_id}/{like_id}", "write"),
    Route("memories.outdated", "GET", "/v1/outdated-memories", "read"),
    Route("memories.decide_outdated", "PUT", "/v1/outdated-memories/{memory_id}/{newer_id}", "write"),
    Route("memories.map", "GET", "/v1/memory-map", "read"),
    Route("memories.make_map", "POST", "/v1/memory-map", "write"),
    Route("goals.list", "GET", "/v1/goals", "read"),
    Route("goals.create", "POST", "/v1/goals", "write"),
    Route("goals.get", "GET", "/v1/goals/{goal_id}", "read"),
    Route("goals.update", "PATCH", "/v1/goals/{goal_id}", "write"),
    Route("goals.delete", "DELETE", "/v1/goals/{goal_id}", "write"),
    Route("goals.block", "PUT", "/v1/goals/{goal_id}/blockers/{blocker_id}", "write"),
    Route("goals.unblock", "DELETE", "/v1/goals/{goal_id}/blockers/{blocker_id}", "write"),
    Route("strategies.list", "GET", "/v1/strategies", "read"),
    Route("strategies.learn", "POST", "/v1/strategies", "write"),
    Route("strategies.find", "POST", "/v1/strategies/find", "read"),
    Route("strategies.get", "GET", "/v1/strategies/{strategy_id}", "read"),
    Route("strategies.reinforce", "POST", "/v1/strategies/{strategy_id}/reinforce", "write"),
    Route("strategies.uses", "GET", "/v1/strategies/{strategy_id}/uses", "read"),
    Route("strategies.tools", "GET", "/v1/tool-statistics", "read"),
    Route("working.read", "GET", "/v1/working", "read"),
    Route("working.clear", "DELETE", "/v1/working", "write"),
    Route("working.list", "GET", "/v1/working/values", "read"),
    Route("working.get", "GET", "/v1/working/values/{key}", "read"),
    Route("working.set", "PUT", "/v1/working/values/{key}", "write"),
    Route("working.delete", "DELETE", "/v1/working/values/{key}", "write"),
    Route("working.thoughts", "GET", "/v1/working/thoughts", "read"),
    Route("working.add_thought", "POST", "/v1/working/thoughts", "write"),
    Route("working.active_goal", "GET", "/v1/working/active-goal", "read"),
    Route("working.set_active_goal", "PUT", "/v1/working/active-goal", "write"),
    Route("contexts.list", "GET", "/v1/context/sessions", "read"),
    _in_session("context.summary", "GET", "", "read"),
    _in_session("context.objects", "GET", "/objects", "read"),
    _in_session("context.get", "GET", "/objects/{key}", "read"),
    _in_session("context.admit", "POST", "/objects", "write"),
    _in_session("context.assemble", "GET", "/assembled", "read"),
    _in_session("context.pressure", "GET", "/pressure", "read"),
    _in_session("context.query", "POST", "/query", "write"),
    _in_session("context.restore", "POST", "/objects/{key}/restore", "write"),
    _in_session("context.pin", "POST", "/objects/{key}/pin", "write"),
    _in_session("context.unpin", "POST", "/objects/{key}/unpin", "write"),
    _in_session("context.relate", "PUT", "/objects/{key}/relationships/{other}", "write"),
    _in_session("context.history", "GET", "/history", "read"),
    _in_session("context.close", "POST", "/close", "write"),
    _in_session("context.delete", "DELETE", "", "write"),
    Route("conversations.list", "GET", "/v1/conversations", "read"),
    Route("conversations.get", "GET", "/v1/conversations/{conversation}", "read"),
    Route("conversations.turns", "GET", "/v1/conversations/{conversation}/turns", "read"),
    Route("conversations.recent", "GET", "/v1/turns", "read"),
    Route("conversations.record_tool", "POST", "/v1/conversations/{conversation}/tools", "write"),
    Route("conversations.tools", "GET", "/v1/conversations/{conversation}/tools", "read"),
    Route("conversations.set_outcome", "PUT", "/v1/conversations/{conversation}/outcome", "write"),
    Route("channels.list", "GET", "/v1/channels", "read"),
    Route("channels.fork", "POST", "/v1/channels/{channel}/fork", "write"),
    Route("channels.merge", "POST", "/v1/channels/{channel}/merge", "write"),
    Route("channels.drop", "DELETE", "/v1/channels/{channel}", "write"),
    Route("documents.list", "GET", "/v1/documents", "read"),
    Route("documents.get", "GET", "/v1/documents/{name}", "read"),
    Route("documents.put", "PUT", "/v1/documents/{name}", "write"),
    Route("documents.delete", "DELETE", "/v1/documents/{name}", "write"),
    Route("documents.ingest", "POST", "/v1/documents/{name}/ingest", "write"),
    Route("documents.status", "GET", "/v1/documents/{name}/status", "read"),
    Route("documents.chunks", "GET", "/v1/documents/{name}/chunks", "read"),
    Route("documents.text", "GET", "/v1/documents/{name}/text", "read"),
    Route("state.list", "GET", "/v1/state", "read"),
    Route("state.get", "GET", "/v1/state/{key}", "read"),
    Route("state.set", "PUT", "/v1/state/{key}", "write"),
    Route("state.delete", "DELETE", "/v1/state/{key}", "write"),
    Route("entities.list", "GET", "/v1/entities", "read"),
    Route("entities.upsert", "POST", "/v1/entities", "write"),
    Route("entities.get", "GET", "/v1/entities/{entity}", "read"),
    Route("entities.delete", "DELETE", "/v1/entities/{entity}", "write"),
    Route("entities.history", "GET", "/v1/entities/{entity}/history", "read"),
    Route("entities.mentions", "GET", "/v1/entities/{entity}/mentions", "read"),
    Route("entities.mentioning", "GET", "/v1/entities/{entity}/memories", "read"),
    Route("entities.graph", "GET", "/v1/entities/{start}/graph", "read"),
    Route("entities.top_graph", "GET", "/v1/entity-graph", "read"),
    Route("entities.count", "GET", "/v1/entity-count", "read"),
    Route("entities.find", "GET", "/v1/entity-names/{name}", "read"),
    Route("entities.mentioned", "GET", "/v1/memories/{memory_id}/entities", "read"),
    Route("entities.archived", "GET", "/v1/archived-entities", "read"),
    Route("entities.restore", "POST", "/v1/archived-entities/{entity}/restore", "write"),
    Route("entities.relate", "POST", "/v1/entity-relations", "write"),
    Route("entities.unrelate", "DELETE", "/v1/entity-relations", "write"),
    Route("triples.list", "GET", "/v1/triples", "read"),
    Route("triples.add", "POST", "/v1/triples", "write"),
    Route("triples.remove", "DELETE", "/v1/triples/{triple}", "write"),
    Route("journal.list", "GET", "/v1/journal", "read"),
    Route("journal.append", "POST", "/v1/journal", "write"),
    Route("revenue.list", "GET", "/v1/revenue", "read"),
    Route("revenue.append", "POST", "/v1/revenue", "write"),
    Route("revenue.totals", "GET", "/v1/revenue/totals", "read"),
    Route("errors.list", "GET", "/v1/errors", "read"),
    Route("errors.record", "POST", "/v1/errors", "write"),
    Route("metrics.record", "POST", "/v1/metrics", "write"),
    Route("metrics.summary", "GET", "/v1/metrics/summary", "read"),
    Route("metrics.overview", "GET", "/v1/metrics/overview", "read", "tenant"),
    Route("metrics.attention", "GET", "/v1/metrics/attention", "read", "tenant"),
    Route("metrics.growth", "GET", "/v1/metrics/growth", "read", "tenant"),
    Route("metrics.series", "GET", "/v1/metrics/series", "read", "tenant"),
    Route("metrics.snapshots", "GET", "/v1/metrics/snapshots", "read", "tenant"),
    Route("actors.list", "GET", "/v1/actor-flags", "read"),
    Route("actors.flag", "POST", "/v1/actors/{actor}/flags", "write"),
    Route("actors.clear", "POST", "/v1/actors/{actor}/clear", "write"),
    Route("actors.is_flagged", "GET", "/v1/actors/{actor}/is-flagged", "read"),
    Route("processes.list", "GET", "/v1/process-attributes", "read"),
    Route("processes.get", "GET", "/v1/process-attributes/{attribute}", "read"),
    Route("processes.set", "PUT", "/v1/process-attributes/{attribute}", "write"),
    Route("shares.list", "GET", "/v1/shares", "read"),
    Route("shares.grant", "POST", "/v1/shares", "write"),
    Route("shares.accept", "POST", "/v1/shares/{grant_id}/accept", "write"),
    Route("shares.drop", "POST", "/v1/shares/{grant_id}/drop", "write"),
    Route("shares.revoke", "POST", "/v1/shares/{grant_id}/revoke", "write"),
    Route("shares.policy", "GET", "/v1/share-policy", "read", "tenant"),
    Route("shares.set_policy", "PUT", "/v1/share-policy", "admin", "tenant"),
    Route("groups.list", "GET", "/v1/groups", "admin", "tenant"),
    Route("groups.create", "POST", "/v1/groups", "admin", "tenant"),
    Route("groups.delete", "DELETE", "/v1/groups/{group}", "admin", "tenant"),
    Route("groups.members", "GET", "/v1/groups/{group}/members", "admin", "tenant"),
    Route("groups.add", "PUT", "/v1/groups/{group}/members/{member}", "admin", "tenant"),
    Route("groups.remove", "DELETE", "/v1/groups/{group}/members/{member}", "admin", "tenant"),
    Route("groups.grant", "POST", "/v1/groups/{group}/grants", "admin", "tenant"),
    Route("curation.propose", "POST", "/v1/curation-runs", "write"),
    Route("curation.list", "GET", "/v1/changesets", "read"),
    Route("curation.get", "GET", "/v1/changesets/{changeset_id}", "read"),
    Route("curation.diff", "GET", "/v1/changesets/{changeset_id}/diff", "read"),
    Route("curation.approve", "POST", "/v1/changesets/{changeset_id}/approve", "write"),
    Route("curation.reject", "POST", "/v1/changesets/{changeset_id}/reject", "write"),
    Route("curation.apply", "POST", "/v1/changesets/{changeset_id}/apply", "write"),
    Route("curation.undo", "POST", "/v1/changesets/{changeset_id}/undo", "write"),
    Route("curation.waiting", "GET", "/v1/review", "read"),
    Route("curation.pairs", "GET", "/v1/review/{kind}", "read"),
    Route("curation.resolve", "POST", "/v1/review/{kind}/{memory_id}/resolve", "write"),
    Route("curation.reopen", "POST", "/v1/review/{kind}/{memory_id}/reopen", "write"),
    Route("cleanup.counts", "GET", "/v1/cleanup", "read"),
    Route("cleanup.list", "GET", "/v1/cleanup/{kind}", "read"),
    Route("cleanup.archive", "POST", "/v1/cleanup/{kind}/archive", "write"),
    Route("curation.policies", "GET", "/v1/curation-policies", "read"),
    Route("curation.set_policy", "PUT", "/v1/curation-policies/{kind}", "write"),
    Route("events.list", "GET", "/v1/events", "read"),
    Route("events.subscribe", "GET", "/v1/events/stream", "read", excluded=frozenset({"consumer"})),
    Route("events.consumers", "GET", "/v1/event-consumers", "read"),
    Route("events.take_consumer", "POST", "/v1/event-consumers/{consumer}/take", "write"),
    Route(
        "events.move_consumer",
        "POST",
        "/v1/event-consumers/{consumer}/move",
        "write",
        detects_retries=True,
    ),
    Route("events.replay", "POST", "/v1/event-consumers/{consumer}/replay", "write"),
    Route("events.forget_consumer", "DELETE", "/v1/event-consumers/{consumer}", "write"),
    Route("webhooks.list", "GET", "/v1/webhooks", "admin", "tenant"),
    Route("webhooks.create", "POST", "/v1/webhooks", "admin", "tenant", returns_secret=True),
    Route("webhooks.get", "GET", "/v1/webhooks/{webhook_id}", "admin", "tenant"),
    Route("webhooks.update", "PATCH", "/v1/webhooks/{webhook_id}", "admin", "tenant"),
    Route("webhooks.delete", "DELETE", "/v1/webhooks/{webhook_id}", "admin", "tenant"),
    Route("webhooks.enable", "POST", "/v1/webhooks/{webhook_id}/enable", "admin", "tenant"),
    Route("webhooks.disable", "POST", "/v1/webhooks/{webhook_id}/disable", "admin", "tenant"),
    Route(
        "webhooks.rotate", "POST", "/v1/webhooks/{webhook_id}/rotate", "admin", "tenant", returns_secret=True
    ),
    Route("webhooks.test", "POST", "/v1/webhooks/{webhook_id}/test", "admin", "tenant"),
    Route("webhooks.deliveries", "GET", "/v1/webhooks/{webhook_id}/deliveries", "admin", "tenant"),
    Route("jobs.list", "GET", "/v1/jobs", "read", "tenant"),
    Route("jobs.enqueue", "POST", "/v1/jobs", "admin", "tenant"),
    Route("jobs.enqueue_many", "POST", "/v1/jobs/batch", "admin", "tenant"),
    Route("jobs.status", "GET", "/v1/jobs/{job_id}", "read", "tenant"),
    Route("jobs.cancel", "POST", "/v1/jobs/{job_id}/cancel", "admin", "tenant"),
    Route("jobs.replay", "POST", "/v1/jobs/{job_id}/replay", "admin", "tenant"),
    Route("jobs.counts", "GET", "/v1/job-counts", "read", "tenant"),
    Route("jobs.replay_dead", "POST", "/v1/dead-jobs/replay", "admin", "tenant"),
    Route("jobs.dead", "GET", "/v1/dead-jobs", "read", "tenant"),
    Route("schedules.list", "GET", "/v1/schedules", "read", "tenant"),
    Route("schedules.get", "GET", "/v1/schedules/{name}", "read", "tenant"),
    Route("schedules.set", "PUT", "/v1/schedules/{name}", "admin", "tenant"),
    Route("schedules.delete", "DELETE", "/v1/schedules/{name}", "admin", "tenant"),
    Route("schedules.pause", "POST", "/v1/schedules/{name}/pause", "admin", "tenant"),
    Route("schedules.resume", "POST", "/v1/schedules/{name}/resume", "admin", "tenant"),
    Route("keys.list", "GET", "/v1/keys", "admin"),
    Route("keys.create", "POST", "/v1/keys", "admin", returns_secret=True),
    Route("keys.get", "GET", "/v1/keys/{key_id}", "admin"),
    Route("keys.revoke", "POST", "/v1/keys/{key_id}/revoke", "admin"),
    Route("spend.summary", "GET", "/v1/spend", "read", "tenant"),
    Route("spend.caps", "GET", "/v1/spend-caps", "read", "tenant"),
    Route("spend.set_cap", "PUT", "/v1/spend-caps", "admin", "tenant"),
    Route("spend.prices", "GET", "/v1/model-prices", "read", "tenant"),
    Route("spend.set_price", "PUT", "/v1/model-prices/{model}", "admin", "tenant"),
    Route("spend.remove_price", "DELETE", "/v1/model-prices/{model}", "admin", "tenant"),
    Route("log.list", "GET", "/v1/log", "read"),
    Route("audit.list", "GET", "/v1/audit", "admin"),
    Route("audit.operations", "GET", "/v1/audit/operations", "admin"),
    Route("audit.unfinished", "GET", "/v1/audit/unfinished", "admin"),
    Route("admin.erase", "DELETE", "/v1/owners/{owner}", "admin"),
    Route("admin.owners", "GET", "/v1/owners", "admin", "tenant"),
    Route("admin.owner_counts", "GET", "/v1/owner-counts", "admin", "tenant"),
    Route("admin.count_owners", "POST", "/v1/owner-counts/refresh", "admin", "tenant"),
    Route("admin.receipts", "GET", "/v1/receipts", "admin", "tenant"),
    Route("admin.receipt", "GET", "/v1/receipts/{receipt_id}", "admin", "tenant"),
    Route(
        "admin.export",
        "GET",
        "/v1/export",
        "admin",
        local=frozenset({"path", "replace"}),
        returns_file=True,
    ),
    Route("admin.stats", "GET", "/v1/stats", "admin", "tenant"),
    Route("admin.embed_backlog", "POST", "/v1/embed-backlog", "admin", "tenant"),
    Route("admin.reembed", "POST", "/v1/reembed", "admin", "tenant"),
)

WHO_AM_I = "/v1/whoami"
"""Returns tenant, role and owner of the API key. The HTTP backend requests it when it opens."""

ROUTES: dict[str, Route] = {route.call: route for route in SURFACE}

_WORKER = "handlers run in a worker, which needs direct access to the database"
_FILES = "it reads or writes a file on the machine of the database: run it there, or use `mnemic {}`"
_TENANTS = "the API key decides the tenant: manage tenants at the database, by `mnemic tenants`"
LOCAL_ONLY: dict[str, str] = {
    "jobs.handler": _WORKER,
    "jobs.work": _WORKER,
    "admin.import_": _FILES.format("import"),
    "admin.backup": _FILES.format("backup"),
    "admin.restore": _FILES.format("restore"),
    "admin.tenants": _TENANTS,
    "admin.create_tenant": _TENANTS,
    "admin.delete_tenant": _TENANTS,
}
"""Calls that are not available over HTTP, and why."""

CLIENT_SIDE = frozenset(
    {"open", "aclose", "scope", "context", "documents.ingest_file", "events.on", "jobs.wait"}
)
"""Calls that always run in the process of the caller. They may make other calls, which are routed."""
