"""The page Owners: how much each holds, its export, and its erasure with a receipt.

Names of owners may have blanks around them, so they are read as they were sent.
"""

from typing import cast

from mnemic.dashboard.fields import Fields
from mnemic.dashboard.pages import Answer, Page, Redirected, Shown, View
from mnemic.dashboard.visit import Visit
from mnemic.errors import ForbiddenError, InvalidInputError
from mnemic.server.exports import send_export
from mnemic.types.owner_counts import OWNER_ORDERS, OwnerOrder
from mnemic.types.receipt import ErasureMode

LISTED_MAX = 50
RECEIPTS_SHOWN = 5
MODES = ("erase", "archive")
OWN_SITES = ("same-origin", "none")
"""What `Sec-Fetch-Site` says of links on our own pages, and of addresses that the visitor typed."""


async def show(visit: Visit) -> Answer:
    """List owners with their counts; with the form that erases one, or a receipt, if the URL names one."""
    query, admin = visit.query, visit.tenant_memory.admin
    order = cast(OwnerOrder, query.choice("order", OWNER_ORDERS, default="name"))
    prefix, receipt_id = _name(query, "prefix"), query.id("receipt")
    found = await admin.owner_counts(
        prefix=prefix, order=order, after=_name(query, "after"), limit=LISTED_MAX + 1
    )
    context = {
        "listed": found[:LISTED_MAX],
        "next": found[LISTED_MAX - 1].owner if len(found) > LISTED_MAX else None,
        "prefix": prefix,
        "order": order,
        "orders": OWNER_ORDERS,
        "totals": await admin.stats(exact=False) if not visit.fragment.startswith("#owners") else None,
        "erasing": _name(query, "erase"),
        "receipt": await admin.receipt(receipt_id) if receipt_id is not None else None,
        "receipts": await admin.receipts(limit=RECEIPTS_SHOWN),
    }
    return Shown("owners.html", context, fragments={"#owners": "fragments/_owners.html"})


async def count(visit: Visit) -> Answer:
    """Count the owners that changed since they were counted."""
    counted = await visit.tenant_memory.admin.count_owners()
    notice = f"Counted {counted:,} owners again." if counted else "All counts are current."
    return Redirected(visit.url("owners"), notice)


async def export(visit: Visit) -> Answer:
    """Send an owner's export as a file."""
    if visit.request.headers.get("sec-fetch-site", "none") not in OWN_SITES:
        raise ForbiddenError("An export is asked for on the page Owners, not by another site.")
    name = _name(visit.query, "of")
    if not name:
        raise InvalidInputError("of is missing: the owner to export.")
    admin = visit.tenant_memory.admin
    return await send_export(lambda path: admin.export(path, owner=name), name=f"{name}.jsonl")


async def erase(visit: Visit) -> Answer:
    """Erase or archive an owner whose name was typed, and show the receipt."""
    form = await visit.form()
    name, typed = _name(form, "name"), _name(form, "typed")
    if not name or typed != name:
        raise InvalidInputError("The typed name is not the name of the owner. Nothing was changed.")
    mode = cast(ErasureMode, form.choice("mode", MODES, default="archive"))
    receipt = await visit.tenant_memory.admin.erase(name, mode=mode)
    done = "Erased" if mode == "erase" else "Archived"
    # The page of an owner that is gone would ask for it again.
    shown = {} if mode == "archive" or name != visit.owner else {"owner": ""}
    location = visit.url("owners", receipt=receipt.receipt_id, **shown)
    return Redirected(location, f"{done} {name}: {receipt.row_count:,} rows.")


def _name(fields: Fields, field: str) -> str:
    """A name as it was sent; "" if it is missing."""
    return next(iter(fields.all(field)), "")


PAGE = Page(
    name="owners",
    title="Owners",
    group="Care",
    icon="people",
    key="w",
    views=(
        View("GET", "/owners", show, call="admin.owner_counts"),
        View("GET", "/owners/export", export, call="admin.export", has_frame=False),
        View("POST", "/owners/count", count, call="admin.count_owners"),
        View("POST", "/owners/erase", erase, call="admin.erase"),
    ),
)
