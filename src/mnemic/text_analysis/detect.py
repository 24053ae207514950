"""Detect names and times in texts by rules, without a model or the network.

The rules are in `mnemic.text_analysis.names` and `mnemic.text_analysis.times`; names can also be detected by
spaCy. The results are good enough to link memories, not to extract facts.
"""

from datetime import datetime
from typing import Literal

from mnemic.text_analysis.names import DetectedName, capitalised_names, marked_names
from mnemic.text_analysis.spacy_names import spacy_names
from mnemic.text_analysis.time_spans import joined_times
from mnemic.text_analysis.times import Anchor, DetectedTime, Lean, times_in
from mnemic.types.checks import check_choice, check_time

Engine = Literal["rules", "spacy"]
ENGINES = ("rules", "spacy")


def detect_names(text: str, *, engine: Engine = "rules") -> list[DetectedName]:
    """The names in a text, in order and without overlaps.

    The engine `spacy` needs the extra `mnemic[spacy]`. It is more accurate for English and much slower.
    """
    find = spacy_names if check_choice("engine", engine, ENGINES) == "spacy" else capitalised_names
    kept: list[DetectedName] = []
    taken = bytearray(len(text))
    for name in [*marked_names(text), *find(text)]:
        if not any(taken[name.start : name.end]):
            taken[name.start : name.end] = b"\1" * (name.end - name.start)
            kept.append(name)
    return sorted(kept, key=lambda name: name.start)


def detect_times(text: str, *, moment: datetime, lean: Lean = "nearest") -> list[DetectedTime]:
    """The dates and time expressions in a text, in order, as time windows.

    Relative expressions ("yesterday") count from `moment`, by the calendar of its time zone. `lean` says
    which day is meant by "Monday" or "May 3": the nearest, the last or the next one.
    """
    check_time("moment", moment)
    anchor = Anchor(moment, lean)
    return joined_times(text, _single_times(text, anchor), anchor, _single_times)


def _single_times(text: str, anchor: Anchor) -> list[DetectedTime]:
    """The times without the words around them; where rules overlap, the first and longest match."""
    kept: list[DetectedTime] = []
    for found in sorted(times_in(text, anchor), key=lambda found: (found.start, -found.end)):
        if not kept or found.start >= kept[-1].end:
            kept.append(found)
    return kept
