"""Epochs: when the prompt is rewritten, and which objects fall to which level.

Within an epoch the prompt only grows, so that the provider's cache holds its beginning. A new epoch
begins when the cache is lost anyway (no request for five minutes, another model, a compaction by the
client), or when what it frees is worth more than writing the cache again (`costs.best_start`). It
prefers the user's turns; between calls of tools it begins only in the zone of warning or above.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from mnemic.context.levels.level import FULL, Level
from mnemic.context.piece import LOWEST, Piece
from mnemic.context.policy.costs import Prices, Start
from mnemic.context.policy.faults import PASSAGE_TOKENS_MAX
from mnemic.context.policy.settings import PagingSettings
from mnemic.context.policy.zones import is_at_least
from mnemic.context.step import Zone

EMERGENCY_PROTECTED_CALLS = 2
"""In an emergency only the newest calls are protected."""
SHORTENED_MIN_CHARS = 120
"""A shorter text that saves less than this is not worth a change."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When a plan is made."""

    call: int
    zone: Zone
    is_cold: bool
    """Whether the provider's cache is lost anyway."""
    at_user_turn: bool
    is_thrashing: bool
    protected_calls: int
    tokens_per_char: float
    edited: Mapping[str, int]
    """Edited files, with the call of their last edit."""


@dataclass(frozen=True, slots=True)
class Target:
    """The level that an object should have, and why."""

    level: Level
    reason: str


def target_of(piece: Piece, moment: Moment, settings: PagingSettings) -> Target | None:
    """The level to which an object falls in the next epoch; None if it stays as it is."""
    if piece.is_pinned:
        return Target(FULL, "pinned") if piece.level != FULL else None
    is_emergency = moment.zone == "emergency"
    protected = EMERGENCY_PROTECTED_CALLS if is_emergency else moment.protected_calls
    if piece.superseded_by:
        target: Target | None = Target(LOWEST, f"superseded by {piece.superseded_by}")
    else:
        target = _by_age(piece, moment, protected, settings)
    return target if target and target.level > piece.level else None


def _by_age(piece: Piece, moment: Moment, protected: int, settings: PagingSettings) -> Target | None:
    if moment.call - piece.first_call < protected:
        return None
    if piece.path and moment.zone != "emergency" and _is_in_work(piece, moment, settings):
        return None
    age = moment.call - piece.last_use
    if piece.entry.is_error:
        return Target(1, "an error stays at level 1 or better")
    if piece.path:
        return Target(LOWEST, f"a file not used for {age} calls")
    return Target(LOWEST, f"output of {moment.call - piece.first_call} calls ago")


def _is_in_work(piece: Piece, moment: Moment, settings: PagingSettings) -> bool:
    """Whether a file is likely to be edited: recently edited, or named since it was read.

    The user's turn often begins another task, so files are then kept for a shorter time.
    """
    if len(piece.entry.text) < settings.file_min_chars:
        return True
    is_turn = moment.at_user_turn
    kept_share = settings.turn_kept_share if is_turn else 1.0
    if moment.call - piece.first_call < settings.file_calls * kept_share:
        return True
    edited = moment.edited.get(piece.path)
    if edited is not None and edited >= piece.first_call:
        return moment.call - edited < settings.edited_calls * (settings.turn_edited_share if is_turn else 1.0)
    is_named = piece.last_use > piece.first_call
    is_large = len(piece.entry.text) * moment.tokens_per_char > settings.file_max_tokens
    return is_named and not is_large and moment.call - piece.last_use < settings.used_calls * kept_share


def may_begin(moment: Moment) -> bool:
    """Whether an epoch may begin now, if it pays."""
    if moment.is_cold or is_at_least(moment.zone, "critical"):
        return True
    return not moment.is_thrashing and (moment.at_user_turn or is_at_least(moment.zone, "warning"))


def targets_of(
    pieces: Sequence[Piece], positions: Iterable[int], find: Callable[[Piece], Target | None]
) -> dict[int, Target]:
    """Objects that would change, by position."""
    found = ((position, find(pieces[position])) for position in positions)
    return {position: target for position, target in found if target}


def horizon_calls(moment: Moment, settings: PagingSettings) -> int:
    """For how many calls the saving of an epoch is counted: a young session may end soon."""
    return min(settings.horizon_calls, round(moment.call * settings.horizon_growth))


def pays(start: Start, moment: Moment, tokens: int, prices: Prices, settings: PagingSettings) -> bool:
    """Whether an epoch is worth it. `tokens`: the whole prompt before it begins."""
    if moment.zone == "emergency":
        return start.freed_tokens > 0
    if tokens < settings.epoch_min_tokens and not is_at_least(moment.zone, "critical"):
        return False
    fault_usd = tokens * prices.read + PASSAGE_TOKENS_MAX * prices.write
    if start.saving_usd <= settings.faults_margin * fault_usd:
        return False
    return moment.is_cold or start.freed_tokens >= settings.epoch_min_share * tokens
