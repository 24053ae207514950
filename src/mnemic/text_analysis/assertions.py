"""Which sentences of a text are its speaker's own assertions, by rules.

A sentence is no assertion if it is a question or hypothetical, or if its words are not the speaker's: quoted
speech, code, a quoted reply, a text to be worked on, an entry of a text that recall has packed. English.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

NoAssertion = Literal["question", "hypothetical", "quoted"]

TEXT_MAX_CHARACTERS = 8_192
SENTENCE_MAX_CHARACTERS = 400
"""Longer sentences are lists, logs or legal text."""

MASK = "\x1a"
"""Stands for each character that is not the speaker's own."""

# Repetitions are bounded, so that no text takes long.
_FENCE = re.compile(r"```.{0,8000}?(?:```|\Z)|~~~.{0,8000}?(?:~~~|\Z)", re.DOTALL)
_INLINE_CODE = re.compile(r"`[^`\n]{1,400}`")
_QUOTED_LINE = re.compile(r"^[ \t]{0,8}>.{0,2000}$", re.MULTILINE)
# Entries of recall and profiles, with their indented lines: "[2026-03-01] …", "[2026-03-01, <id>] …".
_RECALLED_ENTRY = re.compile(
    r"^\[\d{4}-\d{2}-\d{2}[^\]\n]{0,300}\][^\n]{0,8192}(?:\n  [^\n]{0,8192}){0,200}", re.MULTILINE
)
# A text that somebody asks to be worked on: "Translate this: …", "Write a short bio: …".
_REQUEST = re.compile(
    r"^[^\w\n]{0,5}(?:(?:please|now|can you|could you|would you)[, ]{1,2}){0,2}"
    r"(?:write|draft|compose|translate|rewrite|rephrase|reword|paraphrase|proofread|summari[sz]e|edit|polish|shorten|continue|generate|spell-?check)\b"
    r"[^.!?\n:]{1,120}:(?=\s)",
    re.IGNORECASE | re.MULTILINE,
)
_SPEECH = re.compile(r"[\"“«][^\"“”«»\n]{2,400}[\"”»]|(?<![\w’'])['‘][^'‘’\n]{2,400}['’](?!\w)")
# Quoted words are speech, not a title, if they have a pronoun or end like a sentence.
_IN_SPEECH = re.compile(r"\b(?:i|i['’]m|my|me|we|our|you|your|it|he|she|they)\b|[.!?,]$", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?…]{1,5}[\"”’')\]]{0,3}(?=\s)|;(?=\s)|\n|\Z")
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|mt|jr|sr|vs|etc|e\.g|i\.e|no|approx|inc|ltd)|\b[A-Z])\.$", re.IGNORECASE
)
_QUESTION_START = re.compile(
    r"\W{0,5}(?:(?:and|but|so|or|also|hey|hi|ok|okay|well)\b,? ?){0,2}"
    r"(?:who|whom|whose|what|which|when|where|why|how|am|is|are|was|were|do|does|did|can|could|should|would"
    r"|will|have|has|had|may|might|shall|isn['’]t|aren['’]t|don['’]t|doesn['’]t|didn['’]t|wasn['’]t|won['’]t"
    r"|can['’]t) (?:i|you|he|she|it|we|they|my|your|the|a|an|there|that|this|anyone|somebody|someone|much"
    r"|many|often|long|old|far)\b",
    re.IGNORECASE,
)
# "I'd" may be "I had", but "I'd like" is the commonest use. "May" is a month, "may" is not.
_HYPOTHETICAL = re.compile(
    r"\b(?:if|unless|suppose|supposing|imagine|assuming|assume|pretend|whether|wish|wishes|wished"
    r"|hypothetically|would|wouldn['’]t|could|couldn['’]t|should|shouldn['’]t|might|(?-i:may)|maybe|perhaps"
    r"|possibly|probably|[a-z]{1,5}['’]d|as though|let['’]s say|in theory|what about|how about"
    r"|dream(?:t|ed|s)? (?:that|of|about)|a character|fictional|role ?play|joking|kidding|not sure|unsure"
    r"|don['’]t know|i guess|i think|i suppose|i doubt|supposedly|allegedly|according to|for example"
    r"|for instance)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a text, at `text[start:end]`; `own` has masks where the words are not the speaker's."""

    text: str
    own: str
    start: int
    end: int


def sentences_of(text: str) -> Iterator[Sentence]:
    """The sentences of the beginning of a text, without those that are too long or wholly foreign."""
    text = text[:TEXT_MAX_CHARACTERS]
    own = _masked(text)
    start = 0
    for found in _SENTENCE_END.finditer(own):
        end = found.end()
        if own[end : end + 1] == " " and _ABBREVIATION.search(own, max(start, end - 8), end):
            continue
        yield from _sentence(text, own, start, end)
        start = end


def _sentence(text: str, own: str, start: int, end: int) -> Iterator[Sentence]:
    """The sentence between two ends, if it has words of the speaker and is not too long."""
    while start < end and own[start].isspace():
        start += 1
    if 0 < end - start <= SENTENCE_MAX_CHARACTERS and own[start:end].strip(MASK + " \n"):
        yield Sentence(text[start:end], own[start:end], start, end)


def why_no_assertion(sentence: Sentence) -> NoAssertion | None:
    """Why a sentence asserts nothing; None if it does."""
    own = sentence.own
    if own.rstrip("\"”’') ").endswith("?") or _QUESTION_START.match(own):
        return "question"
    if MASK in own:
        return "quoted"
    if _HYPOTHETICAL.search(own):
        return "hypothetical"
    return None


def is_foreign(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` overlaps words that are not the speaker's: code, speech, recalled entries."""
    return MASK in _masked(text[:TEXT_MAX_CHARACTERS])[start:end]


def _masked(text: str) -> str:
    """The text with a mask for every character of code, replies, recalled entries, pasted text and speech."""
    for pattern in (_FENCE, _RECALLED_ENTRY, _QUOTED_LINE, _INLINE_CODE):
        text = pattern.sub(lambda found: _mask(found[0]), text)
    if requested := _REQUEST.search(text):
        text = text[: requested.end()] + _mask(text[requested.end() :])
    return _SPEECH.sub(lambda found: _mask(found[0]) if _IN_SPEECH.search(found[0][1:-1]) else found[0], text)


def _mask(foreign: str) -> str:
    return "".join("\n" if character == "\n" else MASK for character in foreign)
