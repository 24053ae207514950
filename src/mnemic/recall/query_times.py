"""The times that a query names: their windows, and the query without their words.

Memories seldom contain the words of a relative time ("yesterday", "this morning"): they were written on that
day. So these words count neither for the lexical search nor for the embedding. Dates and names of months,
weekdays and seasons stay, since a memory may name them: "the thesis is due in June 2027".
"""

import re
from collections.abc import Sequence
from datetime import datetime

from mnemic.text_analysis.detect import detect_times
from mnemic.text_analysis.time_spans import calendar_words
from mnemic.text_analysis.times import DetectedTime, Lean

WINDOWS_MAX = 8

_PAST = re.compile(
    r"\b(?:did|was|were|had|been|happened|went|said|told|wrote|gave|got|came|made|\w{2,20}ed|ago|last"
    r"|hice|hizo|hicimos|fue|era|dije|dijo|paso|pasado|habia|habe|hatte|war|waren|wurde|ai|avait|etait|fait|dit)\b",
    re.IGNORECASE,
)
_FUTURE = re.compile(
    r"\b(?:will|shall|going to|gonna|upcoming|coming|next|due|planned|planning|scheduled|plans?|deadline"
    r"|appointments?|need to|have to|voy|vamos|tengo|proxim[oa]|werde|wird|nachste[nrs]?|vais|prochaine?)\b",
    re.IGNORECASE,
)
_PRESENT = re.compile(r"\b(?:is|are|am|do|does|can|has|have|should|comes?|happens?)\b|'s\b", re.IGNORECASE)


def detect_query_times(query: str, asked_at: datetime) -> list[DetectedTime]:
    """The times of a query. A day without a year is a past one, unless the query asks about plans."""
    return detect_times(query, moment=asked_at, lean=_lean(query))[:WINDOWS_MAX]


def without_times(query: str, times: Sequence[DetectedTime], *, keep_calendar_words: bool = False) -> str:
    """The query without the words of its times, or with those of them that a memory may have."""
    parts: list[str] = []
    position = 0
    for time in times:
        parts += (query[position : time.start], calendar_words(time) if keep_calendar_words else "")
        position = time.end
    return " ".join(" ".join((*parts, query[position:])).split())


def _lean(query: str) -> Lean:
    if _FUTURE.search(query) and not _PAST.search(query):
        return "future"
    return "past" if _PAST.search(query) or not _PRESENT.search(query) else "nearest"
