"""The page Review: what waits for a decision, and what Mnemic changed on its own behalf, with undo.

Tabs are the runs of the curator, contradictions, near duplicates, quarantine, and the history of changesets.
A decision that came too late is shown as a conflict that says what somebody else did meanwhile.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast
from uuid import UUID

from starlette.responses import HTMLResponse

from mnemic.dashboard.fields import Fields
from mnemic.dashboard.pages import Answer, Page, Redirected, Shown, Undo, View
from mnemic.dashboard.visit import Visit
from mnemic.errors import ChangeConflictError, ConflictError, InvalidInputError
from mnemic.types.changeset import OPEN_STATES, Changeset, ChangeState
from mnemic.types.review import (
    REVIEW_DECISIONS,
    REVIEW_KINDS,
    WAITING_COUNT_MAX,
    Resolution,
    ReviewDecision,
    ReviewKind,
    Waiting,
)

PAIRS_SHOWN = 10
CHANGES_SHOWN = 20
TEXT_SHOWN_CHARACTERS = 500
"""What a pair shows of each memory; the page of the memory has all of it."""
CHANGESETS_SHOWN = 20
UNDONE_AT_ONCE_MAX = 100
"""Changes that one undo in a notice names; those of a longer run are undone on its page."""
NUMBER_MAX = 10**9 - 1
"""The largest position or version that a form may name."""

TABS: Mapping[str, str] = {
    "runs": "Curation runs",
    "contradictions": "Contradictions",
    "duplicates": "Near duplicates",
    "quarantine": "Quarantine",
    "history": "History",
}
PAIR_TABS: Mapping[str, ReviewKind] = {
    "contradictions": "contradiction",
    "duplicates": "near_duplicate",
    "quarantine": "quarantine",
}
ACTS = ("approve", "reject", "apply", "undo")
UNDOABLE: Mapping[str, Sequence[ChangeState]] = {"reject": OPEN_STATES, "apply": ("approved",)}
"""Acts with an undo, and the states of the changes that they decide about when none is named."""
_DONE: Mapping[str, str] = {
    "approve": "Approved",
    "reject": "Rejected",
    "apply": "Applied",
    "undo": "Undone",
}
UNDONE = "Undone: everything is as it was before."
_DECIDED: Mapping[tuple[str, str], str] = {
    ("near_duplicate", "keep_new"): "Merged into the newer memory.",
    ("near_duplicate", "keep_old"): "Merged into the older memory.",
    ("near_duplicate", "keep_both"): "Both memories stay.",
    ("contradiction", "keep_new"): "The newer memory replaced the older one.",
    ("contradiction", "keep_old"): "The newer memory is archived.",
    ("contradiction", "keep_both"): "Both memories stay.",
    ("quarantine", "keep_new"): "The memory is active now.",
    ("quarantine", "keep_old"): "The memory is archived.",
    ("quarantine", "keep_both"): "The memory is active now; the other one stays, too.",
}


async def show(visit: Visit) -> Answer:
    """Show a tab."""
    return await _shown(visit)


async def count(visit: Visit) -> Answer:
    """The number beside the page in the navigation; the script asks for it again."""
    return HTMLResponse(await badge(visit))


async def badge(visit: Visit) -> str:
    """How much waits for a decision; empty if nothing does."""
    return badge_text(await visit.memory.curation.waiting())


async def act(visit: Visit) -> Answer:
    """Do what a form asks for. Forms are sent to the page's own address, so that it can be loaded again."""
    form = await visit.form()
    try:
        return await FORMS[form.choice("form", FORMS, default="undo")](visit, form)
    except ConflictError as error:
        return await _shown(visit, conflict=_conflict(error))


async def propose(visit: Visit, form: Fields) -> Answer:
    """Let the curator read the owner's memories and stage proposals."""
    run = await visit.memory.curation.propose()
    if run.changeset_id is None:
        said = run.notes[0] if run.notes else "There is nothing to propose."
        return Redirected(visit.url("review"), notice=f"Read {run.read_count:,} memories. {said}")
    count = f"{len(run.changes)} changes wait" if len(run.changes) != 1 else "1 change waits"
    notice = f"Read {run.read_count:,} memories: {count} for your decision."
    return Redirected(visit.url("review", run=run.changeset_id), notice=notice)


async def decide_changes(visit: Visit, form: Fields) -> Answer:
    """Approve, reject, apply or undo changes of a run: one, those that are ticked, or all."""
    run_id = form.required_id("run")
    verb, change_ids = _chosen(form)
    curation = visit.memory.curation
    verbs: Mapping[str, Callable[..., Awaitable[Changeset]]] = {
        "approve": curation.approve,
        "reject": curation.reject,
        "apply": curation.apply,
        "undo": curation.undo,
    }
    decided = (change_ids or await _ids_in(visit, run_id, UNDOABLE[verb])) if verb in UNDOABLE else []
    changeset = await verbs[verb](run_id, change_ids=change_ids)
    counts = ", ".join(f"{number} {state}" for state, number in sorted(changeset.change_counts.items()))
    tab = visit.query.choice("tab", TABS, default="runs")
    undo_form = None
    if decided:
        fields = {"changeset": str(run_id), "changes": " ".join(decided), "tab": tab}
        undo_form = _undo_form(visit, fields)
    return Redirected(
        visit.url("review", tab=tab, run=run_id), f"{_DONE[verb]}. The run has {counts}.", undo=undo_form
    )


async def _ids_in(visit: Visit, run_id: UUID, states: Sequence[str]) -> list[str]:
    """The changes of a run in these states, so that an undo takes back these only; [] if the run is long."""
    diff = await visit.memory.curation.diff(run_id, limit=UNDONE_AT_ONCE_MAX)
    if diff.next_after is not None:
        return []
    return [str(change.change_id) for change in diff.changes if change.state in states]


async def decide_pair(visit: Visit, form: Fields) -> Answer:
    """Decide about a pair."""
    for name in ("kind", "decision"):
        form.required(name)
    kind = cast(ReviewKind, form.choice("kind", REVIEW_KINDS, default=""))
    decision = cast(ReviewDecision, form.choice("decision", REVIEW_DECISIONS, default=""))
    done = await visit.memory.curation.resolve(
        kind,
        form.required_id("memory_id"),
        form.id("other_id"),
        decision=decision,
        memory_version=_version(form, "memory_version"),
        other_version=_version(form, "other_version"),
    )
    location = visit.url("review", tab=_tab_of(kind))
    return Redirected(location, _DECIDED[kind, decision], undo=_undo_form(visit, _undo_fields(done)))


async def undo(visit: Visit, form: Fields) -> Answer:
    """Take the last decision back."""
    changeset_id, curation = form.id("changeset"), visit.memory.curation
    kind = cast(ReviewKind, form.choice("kind", REVIEW_KINDS, default="near_duplicate"))
    if changeset_id is None:
        await curation.reopen(kind, form.required_id("memory_id"), form.required_id("other_id"))
        return Redirected(visit.url("review", tab=_tab_of(kind)), "The pair waits for a decision again.")
    await curation.undo(changeset_id, change_ids=(form.text("changes") or "").split() or None)
    page = form.choice("page", ("review", "cleanup"), default="review")
    fields = {"kind": form.text("cleanup")} if page == "cleanup" else {"tab": form.text("tab")}
    return Redirected(visit.url(page, **fields), UNDONE)


FORMS: Mapping[str, Callable[[Visit, Fields], Awaitable[Answer]]] = {
    "propose": propose,
    "changes": decide_changes,
    "pair": decide_pair,
    "undo": undo,
}


def badge_text(waiting: Waiting) -> str:
    """The number beside the page in the navigation; empty if nothing waits."""
    if not waiting.total_count:
        return ""
    return f"{WAITING_COUNT_MAX}+" if waiting.total_count >= WAITING_COUNT_MAX else str(waiting.total_count)


async def _shown(visit: Visit, *, conflict: Mapping[str, Any] | None = None) -> Shown:
    tab = visit.query.choice("tab", TABS, default="runs")
    waiting = await visit.memory.curation.waiting()
    visit.badges[PAGE.name] = badge_text(waiting)
    context: dict[str, Any] = {
        "tab": tab,
        "tabs": TABS,
        "badge": badge_text(waiting),
        "counts": {
            "runs": waiting.staged_change_count,
            "contradictions": waiting.contradiction_count,
            "duplicates": waiting.near_duplicate_count,
            "quarantine": waiting.quarantined_count,
        },
        "count_most": WAITING_COUNT_MAX,
        "conflict": conflict,
    }
    if tab in PAIR_TABS:
        context |= await _pairs(visit, PAIR_TABS[tab])
    else:
        context |= await _changesets(visit, tab)
    return Shown("review.html", context, status=409 if conflict else 200)


async def _pairs(visit: Visit, kind: ReviewKind) -> dict[str, Any]:
    page = await visit.memory.curation.pairs(kind, before=visit.query.text("before"), limit=PAIRS_SHOWN)
    return {"kind": kind, "page": page, "text_most": TEXT_SHOWN_CHARACTERS}


async def _changesets(visit: Visit, tab: str) -> dict[str, Any]:
    """The changesets of a tab, and the diff of one of them: the chosen one, or the newest that waits."""
    listed = await visit.memory.curation.list(
        state="staged" if tab == "runs" else None,
        before=visit.query.id("before"),
        limit=CHANGESETS_SHOWN + 1,
    )
    run_id = visit.query.id("run")
    if run_id is None and tab == "runs" and listed:
        run_id = listed[0].changeset_id
    after = visit.query.whole_number("after", default=-1, low=0, high=NUMBER_MAX)
    diff = None
    if run_id is not None:
        diff = await visit.memory.curation.diff(
            run_id, after=after if after >= 0 else None, limit=CHANGES_SHOWN
        )
    return {
        "listed": listed[:CHANGESETS_SHOWN],
        "older": listed[CHANGESETS_SHOWN - 1].changeset_id if len(listed) > CHANGESETS_SHOWN else None,
        "diff": diff,
    }


def _chosen(form: Fields) -> tuple[str, list[str] | None]:
    """What to do with which changes: a button of one row names both; other buttons take the ticked rows."""
    only = form.text("only")
    if only is not None:
        act, _, change_id = only.partition(" ")
        if act not in ACTS:
            raise InvalidInputError(f"only must begin with one of: {', '.join(ACTS)}.")
        return act, [change_id]
    act = form.choice("act", (*ACTS, *(f"{each}_all" for each in ACTS)), default="")
    if not act:
        raise InvalidInputError("act is missing. Go back to the page Review and decide there.")
    if act.endswith("_all"):
        return act.removesuffix("_all"), None
    change_ids = form.all("change")
    if not change_ids:
        raise InvalidInputError("No change is ticked. Go back, tick some changes, and try again.")
    return act, change_ids


def _version(form: Fields, name: str) -> int | None:
    version = form.whole_number(name, default=0, low=1, high=NUMBER_MAX)
    return version or None


def _tab_of(kind: ReviewKind) -> str:
    return next(name for name, each in PAIR_TABS.items() if each == kind)


def _undo_form(visit: Visit, fields: Mapping[str, str]) -> Undo:
    tab = fields.get("tab", "history")
    return Undo(visit.url("review", tab=tab), {"form": "undo", **fields})


def _undo_fields(done: Resolution) -> dict[str, str]:
    tab = _tab_of(done.kind)
    if done.changeset_id is not None:
        return {"changeset": str(done.changeset_id), "tab": tab}
    return {"kind": done.kind, "memory_id": str(done.memory_id), "other_id": str(done.other_id), "tab": tab}


def _conflict(error: ConflictError) -> dict[str, Any]:
    conflicts = error.conflicts if isinstance(error, ChangeConflictError) else ()
    return {"text": str(error), "conflicts": conflicts}


PAGE = Page(
    name="review",
    title="Review",
    group="Care",
    icon="review",
    key="v",
    badge=badge,
    reads_badges_of=("review",),
    needs_owner=True,
    views=(
        View("GET", "/review", show, call="curation.list"),
        View("GET", "/review/count", count, call="curation.waiting", has_frame=False),
        View("POST", "/review", act, call="curation.approve"),
    ),
)
