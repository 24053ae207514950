"""The page Keys: the API keys of the tenant, with the browsers that are signed in by them."""

from datetime import UTC, datetime, timedelta
from typing import get_args

from mnemic.dashboard.pages import Answer, Page, Redirected, Shown, View
from mnemic.dashboard.visit import Visit
from mnemic.types.key import NewApiKey, Role

LISTED_MAX = 50
LIFETIMES_DAYS = {"never": None, "1 day": 1, "7 days": 7, "30 days": 30, "90 days": 90, "1 year": 365}
"""The choices of when a new key expires."""


async def show(visit: Visit) -> Answer:
    """List the keys, newest first."""
    return await _shown(visit)


async def create(visit: Visit) -> Answer:
    """Create a key, and show it: the only time that its text is known."""
    form = await visit.form()
    role = form.choice("role", get_args(Role), default="read")
    days = LIFETIMES_DAYS[form.choice("expires", LIFETIMES_DAYS, default="never")]
    made = await visit.tenant_memory.keys.create(
        role=_role(role),
        name=form.text("name"),
        owner=form.name("for_owner"),
        expires_at=datetime.now(UTC) + timedelta(days=days) if days is not None else None,
    )
    # Not redirected: whatever carries the text to the next page would have to store it.
    return await _shown(visit, made)


async def revoke(visit: Visit) -> Answer:
    """Revoke a key."""
    form = await visit.form()
    key = await visit.tenant_memory.keys.revoke(form.required_id("key_id"))
    return Redirected(visit.url("keys"), notice=f"Revoked {key.name or key.prefix + '…'}.")


async def _shown(visit: Visit, made: NewApiKey | None = None) -> Shown:
    include_ended = visit.query.flag("ended")
    found = await visit.tenant_memory.keys.list(
        include_ended=include_ended, before=visit.query.id("before"), limit=LISTED_MAX + 1
    )
    listed = found[:LISTED_MAX]
    context = {
        "listed": listed,
        "older": listed[-1].key_id if len(found) > LISTED_MAX else None,
        "include_ended": include_ended,
        "made": made,
        "roles": get_args(Role),
        "lifetimes": tuple(LIFETIMES_DAYS),
        "now": datetime.now(UTC),
    }
    return Shown("keys.html", context)


def _role(name: str) -> Role:
    return next(role for role in get_args(Role) if role == name)


PAGE = Page(
    name="keys",
    title="Keys",
    group="Access",
    icon="key",
    key="y",
    views=(
        View("GET", "/keys", show, call="keys.list"),
        View("POST", "/keys", create, call="keys.create"),
        View("POST", "/keys/revoke", revoke, call="keys.revoke"),
    ),
)
