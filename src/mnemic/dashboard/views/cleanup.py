"""The page Cleanup: memories that could be archived; a dry run first, then archive some or all, with undo."""

from collections.abc import Mapping
from typing import Any, cast

from mnemic.dashboard.fields import Fields
from mnemic.dashboard.pages import Answer, Page, Redirected, Shown, Undo, View
from mnemic.dashboard.rendering import plural
from mnemic.dashboard.visit import Visit
from mnemic.errors import ConflictError, InvalidInputError
from mnemic.types.cleanup import (
    CLEANUP_KINDS,
    RUN_MAX,
    SALIENCE_BELOW,
    UNUSED_DAYS,
    UNUSED_DAYS_MAX,
    CleanupKind,
    CleanupRun,
)

CANDIDATES_SHOWN = 30
CHANGES_SHOWN = 40
"""Changes that a dry run shows; it counts the others."""
TEXT_SHOWN_CHARACTERS = 300
TITLES: Mapping[str, str] = {
    "stale": "Stale",
    "expired": "Expired",
    "never_recalled": "Never recalled",
    "dead_links": "Dead links",
}


async def show(visit: Visit) -> Answer:
    """Show the candidates of a kind."""
    return await _shown(visit, visit.query)


async def clean(visit: Visit) -> Answer:
    """Show what a run would change, or run it, with the ticked memories or with all of a kind; or count."""
    form = await visit.form()
    kind, unused_days, salience_below = _limits(form)
    act = form.choice("act", ("count", "try", "try_all", "archive"), default="try")
    if act == "count":
        await visit.memory.cleanup.counts(refresh=True)
        return Redirected(visit.url("cleanup", **dict(_filters(form))), "Counted.")
    memory_ids = None if act == "try_all" or form.flag("all") else form.all("memory")
    if memory_ids == []:
        raise InvalidInputError("No memory is ticked. Go back, tick some memories, and try again.")
    try:
        run = await visit.memory.cleanup.archive(
            kind,
            memory_ids=memory_ids,
            unused_days=unused_days,
            salience_below=salience_below,
            dry_run=act != "archive",
        )
    except ConflictError as error:
        return await _shown(visit, form, conflict=str(error))
    if act != "archive":
        return await _shown(visit, form, run=run, chosen=memory_ids)
    return _receipt(visit, form, run)


def _receipt(visit: Visit, form: Fields, run: CleanupRun) -> Redirected:
    """What was done, with its undo."""
    location = visit.url("cleanup", **dict(_filters(form)))
    left_out = f" {len(run.left_out):,} were left out: they do not qualify any more." if run.left_out else ""
    if run.changeset_id is None:
        return Redirected(location, f"Nothing was changed.{left_out}")
    more = "" if run.is_complete else f" More qualify: a run changes {RUN_MAX:,} memories at most."
    verb = "Mended or archived" if run.kind == "dead_links" else "Archived"
    undo = Undo(
        visit.url("review", tab="history"),
        {"form": "undo", "changeset": str(run.changeset_id), "page": "cleanup", "cleanup": run.kind},
    )
    changed = plural(run.change_count, "memory", "memories")
    return Redirected(location, f"{verb} {changed}.{left_out}{more}", undo=undo)


async def _shown(
    visit: Visit,
    fields: Fields,
    *,
    run: CleanupRun | None = None,
    chosen: list[str] | None = None,
    conflict: str | None = None,
) -> Shown:
    kind, unused_days, salience_below = _limits(fields)
    context: dict[str, Any] = {
        "kind": kind,
        "titles": TITLES,
        "unused_days": unused_days,
        "salience_below": salience_below,
        "is_default": (unused_days, salience_below) == (UNUSED_DAYS, SALIENCE_BELOW),
        "filters": _filters(fields),
        "counts": {each.kind: each for each in await visit.memory.cleanup.counts()},
        "run": run,
        "run_most": RUN_MAX,
        "changes": run.changes[:CHANGES_SHOWN] if run is not None else (),
        "text_most": TEXT_SHOWN_CHARACTERS,
        "chosen": chosen,
        "conflict": conflict,
        "page": None,
    }
    if run is None:
        context["page"] = await visit.memory.cleanup.list(
            kind,
            unused_days=unused_days,
            salience_below=salience_below,
            after=visit.query.text("after"),
            limit=CANDIDATES_SHOWN,
        )
    return Shown("cleanup.html", context, status=409 if conflict else 200)


def _limits(fields: Fields) -> tuple[CleanupKind, int, float]:
    kind = cast(CleanupKind, fields.choice("kind", CLEANUP_KINDS, default=CLEANUP_KINDS[0]))
    unused_days = fields.whole_number("unused_days", default=UNUSED_DAYS, low=1, high=UNUSED_DAYS_MAX)
    return kind, unused_days, fields.number("salience_below", default=SALIENCE_BELOW, low=0, high=1)


def _filters(fields: Fields) -> list[tuple[str, str]]:
    """The fields that say which memories are shown."""
    names = ("kind", "unused_days", "salience_below")
    return [(name, value) for name in names if (value := fields.text(name)) is not None]


PAGE = Page(
    name="cleanup",
    title="Cleanup",
    group="Care",
    icon="broom",
    key="c",
    needs_owner=True,
    views=(
        View("GET", "/cleanup", show, call="cleanup.list"),
        View("POST", "/cleanup", clean, call="cleanup.archive"),
    ),
)
