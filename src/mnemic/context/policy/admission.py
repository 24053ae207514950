"""Admission: at which level an object is first sent. The only change to a prompt that costs no cache.

The score is the mean of four parts, each from 0 to 1:

type     How often the full text of this type is needed again: files are edited, output is read once.
novelty  Whether the window already shows the same text.
utility  Whether it is an error, or a file that was edited before.
recency  1 for the newest results; kept for the record, since every object is new when it is admitted.

An object whose score is below the threshold is first sent at level 1, one that only repeats what the
window shows at level 3. The threshold grows with the size: a short text is always sent in full.
"""

from mnemic.context.levels.level import FULL, Level, ObjectType
from mnemic.context.piece import Piece
from mnemic.context.policy.settings import PagingSettings
from mnemic.context.step import Admission

_TYPE_SCORES: dict[ObjectType, float] = {
    "file": 1.0,
    "diff": 0.8,
    "data": 0.5,
    "prose": 0.5,
    "message": 0.5,
    "command": 0.3,
    "search": 0.2,
    "other": 0.3,
}
_HALF = 0.5


def admit(piece: Piece, *, tokens: float, is_edited: bool, settings: PagingSettings) -> Admission:
    """Decide at which level an object is first sent."""
    parts = {
        "type": _TYPE_SCORES[piece.type],
        "novelty": 0.0 if piece.repeats else 1.0,
        "utility": 1.0 if piece.entry.is_error or is_edited else 0.0,
        "recency": 1.0,
    }
    score = sum(parts.values()) / len(parts)
    threshold = min(1.0, _HALF * tokens / settings.admit_max_tokens)
    level, reason = _level(piece, score, threshold)
    return Admission(key=piece.key, level=level, score=score, parts=parts, threshold=threshold, reason=reason)


def _level(piece: Piece, score: float, threshold: float) -> tuple[Level, str]:
    if piece.repeats:
        return 3, f"the window already shows the same text, as {piece.repeats}"
    if piece.entry.is_error:
        return FULL, "errors are sent in full"
    if piece.path:
        return FULL, "files are sent in full, since they may be edited"
    if score >= threshold:
        return FULL, "short enough for what it is"
    return 1, "large output: its full text is rarely needed"
