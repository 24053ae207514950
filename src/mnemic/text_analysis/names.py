"""Rules that detect names.

Marked names are handles, addresses, quoted titles, and Japanese names before an honorific. Other names are
detected by their capital letters. A capitalised word is part of a name unless the capital has another
reason: the start of a sentence, a weekday or month, a text in capitals. At the start of a sentence a name
must have more than one word, have a title, be an acronym, contain capitals or digits after its first
letter, or be capitalised elsewhere in the text, too. In scripts without capitals only marked names are
detected.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from mnemic.text_analysis.name_matching import EVERYDAY_WORDS, UNINDEXED_WORDS

NameKind = Literal["name", "acronym", "quoted", "handle", "email", "url"]

QUOTED_MAX_WORDS = 6
ACRONYM_MAX_CHARACTERS = 6
# Lowercase words in a row inside a name: Lord of the Rings, Oscar de la Hoya.
BRIDGE_MAX_WORDS = 2
# With more than this share of capital letters a text is "shouting", and its capitals mark no names.
SHOUTING_SHARE = 0.6
SHOUTING_MIN_LETTERS = 12


@dataclass(frozen=True, slots=True)
class DetectedName:
    """A name in a text, at `text[start:end]`; `value` is the name without title and quotation marks."""

    text: str
    start: int
    end: int
    kind: NameKind
    value: str


# Strongest first. Repetitions are bounded, so that no text takes long.
_MARKS: tuple[tuple[NameKind, re.Pattern[str]], ...] = (
    ("url", re.compile(r"\bhttps?://[^\s<>\"'“”()\[\]]{3,2000}(?<![.,;:!?])")),
    ("url", re.compile(r"\bwww\.[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")),
    ("email", re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")),
    ("handle", re.compile(r"(?<![\w@./+-])@\w{2,64}")),
    (
        "quoted",
        re.compile(r"“([^“”\n]{2,80})”|\"([^\"\n]{2,80})\"|«\s?([^«»\n]{2,80}?)\s?»|「([^「」\n]{1,80})」"),
    ),
    ("name", re.compile(r"([\u30a0-\u30ff\u4e00-\u9fff]{1,8})(?:さん|さま|様|氏|先生|くん|君|ちゃん)")),
)

_TITLES_TEXT = """
mr mrs ms miss mx dr doctor prof professor sir dame lord lady president captain capt judge rev herr frau señor
señora monsieur madame uncle aunt
"""
# Abbreviations before or inside names; their dot does not end a sentence.
_ABBREVIATIONS_TEXT = "st mt ft vs etc no jr sr inc ltd co corp"
# Ludwig van Beethoven, Bank of America, Johnson & Johnson.
_INNER_TEXT = "of the van von der den de del della di da do dos du la le el al bin ibn y zu ter &"
_CALENDAR_TEXT = """
monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun
january february march april may june july august september october november december
jan feb mar apr jun jul aug sep sept oct nov dec
"""
# Words that begin sentences and messages.
_STARTERS_TEXT = """
although though since unless whereas however moreover therefore meanwhile besides instead otherwise anyway
actually basically honestly finally recently lately eventually suddenly usually sometimes currently originally
apparently unfortunately luckily obviously certainly probably definitely today tomorrow yesterday tonight
dear sorry sure okay oh wow great nice cool awesome congrats congratulations welcome morning evening night
afternoon note update reminder question answer yeah nope everybody everyone everything someone somebody
something anyone anybody anything nobody nothing none another either neither several whenever wherever
whatever whoever later soon first second third next last ask call tell meet met email text message ping remind
visit invite buy send give show help thank check find contact join follow schedule write read watch remember
bring take pick cancel move talk speak come look try keep put use let add open close start stop happy merry
im i'm i've i'll i'd it's that's there's let's don't can't didn't won't isn't he's she's we're we've they're
you're what's who's how's where's when's
"""
_SHOUTED_TEXT = "OK AM PM LOL OMG FYI BTW ASAP TBD TBH IMO IMHO WTF FAQ PS NB RE FW AND OR NOT NO YES"
_TITLES = frozenset(_TITLES_TEXT.split())
_KEEP_THEIR_DOT = _TITLES | frozenset(_ABBREVIATIONS_TEXT.split())
_INNER_WORDS = frozenset(_INNER_TEXT.split())
_CALENDAR = frozenset(_CALENDAR_TEXT.split())
# A capitalised "Will" may be a name, except at the start of a sentence.
_NEVER_AT_THE_ENDS = _CALENDAR | UNINDEXED_WORDS - {"will"} | frozenset(_STARTERS_TEXT.split())
_NEVER_AT_A_START = _NEVER_AT_THE_ENDS | EVERYDAY_WORDS
_SHOUTED = frozenset(_SHOUTED_TEXT.split())

_TOKEN = re.compile(r"[^\W_](?:[\w\u0300-\u036f]|['’-](?=\w))*|&|[^\s\w]")
_SENTENCE_ENDS = frozenset('.!?…。！？"“”«»「」')
_BLANKS = re.compile(r"[ \xa0]{1,2}")


@dataclass(frozen=True, slots=True)
class _Word:
    """A word and its offsets. `is_start`: it begins a sentence. `is_joined`: only spaces precede it."""

    word: str
    start: int
    end: int
    is_start: bool
    is_joined: bool
    is_possessive: bool

    @property
    def is_capital(self) -> bool:
        """Whether the first or second letter is a capital: iPhone and eBay count."""
        return any(character.isupper() for character in self.word[:2])

    @property
    def key(self) -> str:
        return self.word.lower().replace("’", "'")

    @property
    def is_acronym(self) -> bool:
        letters = self.word.removesuffix("s")
        return 2 <= len(letters) <= ACRONYM_MAX_CHARACTERS and letters.isupper() and letters not in _SHOUTED

    @property
    def has_inner_capital(self) -> bool:
        """Whether it has capitals or digits after the first letter."""
        return any(character.isupper() or character.isdigit() for character in self.word[1:])


def marked_names(text: str) -> Iterator[DetectedName]:
    """Names that a pattern marks: URLs, addresses, handles, quoted titles, honorifics."""
    for kind, pattern in _MARKS:
        for found in pattern.finditer(text):
            value = next(filter(None, found.groups()), found[0])
            if kind != "quoted" or _is_title(value):
                yield DetectedName(found[0], *found.span(), kind, value)


def capitalised_names(text: str) -> Iterator[DetectedName]:
    """Names that are detected by their capital letters."""
    if _is_shouting(text):
        return
    words = list(_words(text))
    capitals = Counter(word.word for word in words if word.is_capital)
    small = {word.word for word in words if not word.is_capital}
    repeated = {word for word, count in capitals.items() if count > 1 and word.lower() not in small}
    for sequence in _sequences(words):
        trimmed = _trim(sequence)
        if trimmed and _is_name(trimmed, repeated):
            yield _detected(text, trimmed)


def _is_title(quoted: str) -> bool:
    """Whether quoted words are a title: few words, capitalised, and no sentence."""
    words = quoted.split()
    if not 1 <= len(words) <= QUOTED_MAX_WORDS or quoted[-1] in ".!?,…":
        return False
    if words[0].lower() in _NEVER_AT_A_START - {"the", "a", "an"}:
        return False
    return all(not word[0].islower() or word in EVERYDAY_WORDS or word in _INNER_WORDS for word in words)


def _is_shouting(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    capitals = sum(map(str.isupper, letters))
    return len(letters) >= SHOUTING_MIN_LETTERS and capitals > SHOUTING_SHARE * len(letters)


def _words(text: str) -> Iterator[_Word]:
    """The words with their offsets; punctuation only affects `is_start` and `is_joined` of the next word."""
    is_start, is_parted, end = True, True, 0
    for found in _TOKEN.finditer(text):
        sign, between = found[0], text[end : found.start()]
        is_start = is_start or "\n" in between
        if sign[0].isalnum() or sign == "&":
            word = re.sub(r"['’]s?$", "", sign)
            is_joined = not is_parted and _BLANKS.fullmatch(between) is not None
            yield _Word(word, found.start(), found.start() + len(word), is_start, is_joined, word != sign)
            is_start = is_parted = False
        elif not (sign == "." and not between and _keeps_its_dot(text, end)):
            is_start, is_parted = is_start or sign in _SENTENCE_ENDS, True
        end = found.end()


def _keeps_its_dot(text: str, end: int) -> bool:
    """Whether the dot at `end` belongs to an initial, a title or an abbreviation."""
    found = re.search(r"[^\W_]+$", text[max(0, end - 16) : end])
    word = found[0] if found else ""
    return word.lower() in _KEEP_THEIR_DOT or (len(word) == 1 and word != "I")


def _sequences(words: Sequence[_Word]) -> Iterator[Sequence[_Word]]:
    """Runs of capitalised words, including lowercase words inside a name."""
    place = 0
    while place < len(words):
        end = place + 1
        if words[place].is_capital:
            while (step := _continues(words, end)) > 0:
                end += step
            yield words[place:end]
        place = end


def _continues(words: Sequence[_Word], end: int) -> int:
    """How many words continue the run that ends before `end`; 0 if it is over."""
    if words[end - 1].is_possessive:
        return 0
    for step in range(1, BRIDGE_MAX_WORDS + 2):
        last = end + step - 1
        if last >= len(words) or not words[last].is_joined:
            return 0
        if words[last].is_capital:
            return step
        if words[last].word not in _INNER_WORDS:
            return 0
    return 0


def _trim(sequence: Sequence[_Word]) -> Sequence[_Word]:
    """The run without words at either end whose capital has another reason."""
    first, last = 0, len(sequence)
    while first < last and _is_no_name(sequence[first]):
        first += 1
    while first < last and _is_no_name(sequence[last - 1]):
        last -= 1
    return sequence[first:last]


def _is_no_name(word: _Word) -> bool:
    if word.is_acronym:
        return False
    if word.word in _SHOUTED or not word.is_capital:
        return True
    if word.is_start and word.key.endswith("ing"):
        return True
    return word.key in (_NEVER_AT_A_START if word.is_start else _NEVER_AT_THE_ENDS)


def _is_name(run: Sequence[_Word], repeated: set[str]) -> bool:
    own = _without_titles(run)
    if all(len(word.word) == 1 or word.key in _TITLES for word in own):
        return False
    if len(run) > 1 or not run[0].is_start:
        return True
    return run[0].is_acronym or run[0].has_inner_capital or run[0].word in repeated


def _without_titles(run: Sequence[_Word]) -> Sequence[_Word]:
    """The run after its titles; a title that no capitalised word follows is kept: Lord of the Rings."""
    titles = 0
    while titles < len(run) - 1 and run[titles].key in _TITLES and run[titles + 1].is_capital:
        titles += 1
    return run[titles:]


def _detected(text: str, run: Sequence[_Word]) -> DetectedName:
    start, end = run[0].start, run[-1].end
    kind: NameKind = "acronym" if len(run) == 1 and run[0].is_acronym else "name"
    return DetectedName(text[start:end], start, end, kind, text[_without_titles(run)[0].start : end])
