"""What a question to a text asks for: quoted text, names, words, line numbers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mnemic.context.levels.names import is_structured
from mnemic.recall.query_filler import QUESTION_STOPWORDS
from mnemic.text_analysis.statement_words import STATEMENT_STOPWORDS

QUESTION_CHARS_MAX = 2_000
TERMS_MAX = 24
WORD_CHARS_MIN = 3
WEIGHT_QUOTED, WEIGHT_NAME, WEIGHT_PART, WEIGHT_WORD = 8.0, 4.0, 0.5, 1.0

_QUOTED = re.compile(
    r"`([^`\n]{2,200})`|\"([^\"\n]{2,200})\"|“([^”\n]{2,200})”|(?<!\w)'([^'\n]{2,200})'(?!\w)"
)
_TOKEN = re.compile(r"[\w$][\w$./:-]*")
_LINES = re.compile(r"(?:\blines?\s+|\bL|:)(\d{1,9})(?:\s*(?:-|–|to|and)\s*L?(\d{1,9}))?", re.IGNORECASE)
_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_ENDING = re.compile(r"(?<=\w{4})(?:ings?|ed|es|s|ers?|ions?|ly)$")
_STOPWORDS = (
    QUESTION_STOPWORDS
    | STATEMENT_STOPWORDS
    | {
        *(
            "file",
            "line",
            "lines",
            "code",
            "function",
            "method",
            "class",
            "show",
            "find",
            "content",
            "text",
            "full",
        ),
        *(
            "defined",
            "definition",
            "implementation",
            "implemented",
            "exact",
            "body",
            "value",
            "please",
            "does",
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Term:
    """Something to look for."""

    text: str
    weight: float
    is_name: bool = False
    """Compared with regard to capitals."""


def terms_of(question: str) -> list[Term]:
    """Terms, those of the greatest weight first, each once."""
    found: dict[str, Term] = {}
    for term in sorted(_terms(question[:QUESTION_CHARS_MAX]), key=lambda term: -term.weight):
        found.setdefault(term.text.lower(), term)
    return list(found.values())[:TERMS_MAX]


def line_ranges(question: str) -> list[tuple[int, int]]:
    """Numbers of lines that a question names, as first and last."""
    ranges = []
    for match in _LINES.finditer(question[:QUESTION_CHARS_MAX]):
        first = int(match[1])
        ranges.append((first, int(match[2]) if match[2] else first))
    return ranges[:TERMS_MAX]


def _terms(question: str) -> Iterator[Term]:
    for match in _QUOTED.finditer(question):
        quoted = next(group for group in match.groups() if group).strip()
        if quoted:
            yield Term(quoted, WEIGHT_QUOTED, is_name=True)
    for token in _TOKEN.findall(question):
        yield from _terms_of_token(token.rstrip(".:-/"))


def _terms_of_token(token: str) -> Iterator[Term]:
    if is_structured(token) or "." in token or ":" in token or token[:1].isupper():
        yield Term(token, WEIGHT_NAME if is_structured(token) else WEIGHT_WORD, is_name=True)
        for part in re.split(r"[./:-]+", token):
            if part != token and len(part) >= WORD_CHARS_MIN:
                yield Term(part, WEIGHT_WORD, is_name=True)
            for word in _PARTS.findall(part):
                yield from _word(word, WEIGHT_PART)
    else:
        yield from _word(token, WEIGHT_WORD)


def _word(word: str, weight: float) -> Iterator[Term]:
    lower = word.lower()
    if len(lower) >= WORD_CHARS_MIN and lower not in _STOPWORDS:
        yield Term(_ENDING.sub("", lower), weight)
        # The word as it is written says more than another form of it.
        if _ENDING.search(lower):
            yield Term(word, 2 * weight, is_name=True)
