"""Sums over sessions, relative to full context, and the targets."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.context.paging import Paging
from bench.context.replay import Measured

TARGETS = {
    "tokens": 0.62,
    "cost": 0.72,
    "names_missed": 0.03,
    "names_untraced": 0,
    "edits_missed": 0.01,
    "faults_per_100_calls": 5.0,
    "dearest_session": 1.0,
}
"""Most that is allowed; cache hits have a least."""
CACHE_HITS_TARGET = 0.95


@dataclass(frozen=True, slots=True)
class Summary:
    """One policy over all sessions, or over a part of them."""

    policy: str
    part: str
    sessions: int
    calls: int
    tokens: float
    """Input tokens, as a share of full context; so is the cost."""
    tokens_with_faults: float
    """The same, with what the round trips of faults read once more."""
    cost: float
    cache_hits: float
    names_missed: float
    names_untraced: int
    names_listed: float
    """Names that only a shortened text shows."""
    edits_missed: float
    faults_per_100_calls: float
    rewrites: int
    dearest_session: float
    """The highest cost of a session, as a share of its cost with full context."""
    decision_p95_ms: float


def summarise(rows: Sequence[Sequence[Measured]], part: str = "") -> list[Summary]:
    """One summary per policy; each row holds one session, full context first."""
    full = [row[0] for row in rows]
    return [_summary([row[n] for row in rows], full, part) for n in range(len(rows[0]))]


def missed_targets(whole: Sequence[Summary], segments: Sequence[Summary]) -> list[str]:
    """Targets that the pager misses, in words."""
    pager, split = (
        next(e for e in each if e.policy == Paging.name and not e.part) for each in (whole, segments)
    )
    missed = [
        f"Missed: {name} is {getattr(pager, name):.4g}, target {most}"
        for name, most in TARGETS.items()
        if getattr(pager, name) > most
    ]
    if pager.cache_hits < CACHE_HITS_TARGET:
        missed.append(f"Missed: cache_hits is {pager.cache_hits:.4g}, target {CACHE_HITS_TARGET}")
    if split.dearest_session > 1:
        missed.append(f"Missed: a segment costs {split.dearest_session:.1%} of full context")
    return missed


def _summary(rows: Sequence[Measured], full: Sequence[Measured], part: str) -> Summary:
    calls = sum(each.calls for each in rows)
    tokens = sum(each.input_tokens for each in rows)
    full_tokens = sum(each.input_tokens for each in full)
    times = sorted(seconds for each in rows for seconds in each.seconds)
    return Summary(
        policy=rows[0].policy,
        part=part,
        sessions=len(rows),
        calls=calls,
        tokens=tokens / full_tokens,
        tokens_with_faults=(tokens + sum(each.fault_input_tokens for each in rows)) / full_tokens,
        cost=sum(each.cost_usd for each in rows) / sum(each.cost_usd for each in full),
        cache_hits=sum(each.cached_tokens for each in rows) / tokens,
        names_missed=sum(each.names_missed for each in rows) / max(1, sum(each.names for each in rows)),
        names_untraced=sum(each.names_untraced for each in rows),
        names_listed=sum(each.names_listed for each in rows) / max(1, sum(each.names for each in rows)),
        edits_missed=sum(each.edits_missed for each in rows) / max(1, sum(each.edits for each in rows)),
        faults_per_100_calls=100 * sum(each.faults for each in rows) / calls,
        rewrites=sum(each.rewrites for each in rows),
        dearest_session=max(one.cost_usd / other.cost_usd for one, other in zip(rows, full, strict=True)),
        decision_p95_ms=1000 * times[int(len(times) * 0.95)],
    )
