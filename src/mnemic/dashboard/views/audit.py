"""The page Audit: operations that changed, destroyed, exported or shared something, with their outcomes."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from mnemic.dashboard.pages import Answer, Page, Shown, View
from mnemic.dashboard.visit import Visit
from mnemic.types.traces import ActOutcome, AuditedOperation

LISTED_MAX = 50
KEYS_NAMED_MAX = 100
"""Keys whose names the page knows; operations of older keys show the id of the key."""
FILTERS = ("action", "outcome", "since", "until")


async def show(visit: Visit) -> Answer:
    """List operations, newest first, filtered by the fields of the URL."""
    chosen = visit.query.choice("outcome", get_args(ActOutcome), default="")
    outcome = next((each for each in get_args(ActOutcome) if each == chosen), None)
    found = await visit.tenant_memory.audit.operations(
        action=visit.query.text("action"),
        outcome=outcome,
        since=visit.query.time("since"),
        until=visit.query.time("until"),
        before=visit.query.id("before"),
        limit=LISTED_MAX + 1,
    )
    listed = found[:LISTED_MAX]
    names = await _key_names(visit)
    context = {
        "listed": [(act, _by(act, names), _details(act)) for act in listed],
        "older": listed[-1].audit_id if len(found) > LISTED_MAX else None,
        "actions": sorted({act.action for act in listed}),
        "outcomes": get_args(ActOutcome),
        "filters": {name: visit.query.text(name) or "" for name in FILTERS},
    }
    return Shown("audit.html", context, fragments={"#acts": "fragments/_acts.html"})


async def _key_names(visit: Visit) -> Mapping[str, str]:
    """Names of keys by their ids."""
    keys = await visit.tenant_memory.keys.list(include_ended=True, limit=KEYS_NAMED_MAX)
    return {str(key.key_id): key.name or f"{key.prefix}…" for key in keys}


def _by(act: AuditedOperation, names: Mapping[str, str]) -> str:
    """Who did it: the API key where there was one, otherwise the process."""
    key_id = act.detail.get("key_id")
    return act.process if key_id is None else names.get(str(key_id), str(key_id))


def _details(act: AuditedOperation) -> Iterable[tuple[str, str]]:
    """Parameters and results, as texts."""
    fields: dict[str, Any] = {**act.detail, **act.result}
    return [
        (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in fields.items()
    ]


PAGE = Page(
    name="audit",
    title="Audit",
    group="Access",
    icon="audit",
    key="a",
    views=(View("GET", "/audit", show, call="audit.operations"),),
)
