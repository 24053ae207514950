"""The extractor by rules: what speakers say about themselves, without a model (`text_analysis`)."""

import re
from collections.abc import Sequence
from datetime import datetime

from mnemic.extraction.protocol import KnownStatement, ProposedStatement, SourceText
from mnemic.extraction.speakers import self_name, speaker_of
from mnemic.text_analysis.detect import detect_times
from mnemic.text_analysis.self_statements import Reading, read_self_statements

RULES_NAME = "rules-1"

# Words that say since when something is true, before the time itself.
_BEGINS = re.compile(
    r"\b(?:since|moved|relocated|started|began|joined|turned|became|promoted)\b", re.IGNORECASE
)


class RulesExtractor:
    """Proposes typed statements of users, of speakers with a name, and of notes."""

    name = RULES_NAME

    async def extract(
        self, sources: Sequence[SourceText], known: Sequence[KnownStatement]
    ) -> Sequence[ProposedStatement]:
        """The statements in the sources, in order."""
        return [proposal for source in sources for proposal in propose(source)]


def propose(source: SourceText) -> list[ProposedStatement]:
    """The statements in one source; a machine's turn has none."""
    speaker = speaker_of(source)
    if speaker == "machine":
        return []
    is_note = speaker in ("note", "document")
    readings = read_self_statements(source.text, self_name(source), is_note=is_note)
    return [_proposal(source, reading) for reading in readings]


def _proposal(source: SourceText, reading: Reading) -> ProposedStatement:
    return ProposedStatement(
        source_id=source.memory_id,
        quotation=reading.quotation,
        statement=reading.statement,
        subject=reading.subject,
        attribute=reading.attribute,
        value=reading.value,
        certainty=reading.certainty,
        tense=reading.tense,
        is_negated=reading.is_negated,
        valid_from=_begin(reading, source.at),
        is_correction=reading.is_correction,
    )


def _begin(reading: Reading, said_at: datetime | None) -> datetime | None:
    """Since when it is true, if the sentence says so with one time that is not in the future."""
    if said_at is None or reading.tense != "current" or not _BEGINS.search(reading.quotation):
        return None
    times = detect_times(reading.quotation, moment=said_at, lean="past")
    begin = times[0].value.start if len(times) == 1 else None
    return begin if begin is not None and begin < said_at else None
