"""Free values after a predicate: where they end, lists, and values that say nothing by themselves."""

import re

from mnemic.text_analysis.self_statement_words import NO_VALUE_WORDS

VALUE_MAX_WORDS = 7
LISTED_MAX_WORDS = 4
LIST_MAX = 4

# What a value ends at without losing its meaning.
_VALUE_END = re.compile(
    r" (?:because|since|but|so|although|though|as|until|while|whenever possible|when possible|too|either"
    r"|lately|please|thanks|lol|and (?=(?:i|we|my|our|it|that|this|he|she|they)\b)|a lot|very much|so much"
    r"|as well|these days"
    r"|at all|at the moment|especially|particularly|like (?=[a-z]{2,20}ing\b)"
    r"|for (?=(?:years|a |\d|about|over|as|the|my|many|some)))\b|[.;:!?()\n–—\"“”]| - ",
    re.IGNORECASE,
)
# What restricts a value: without it the value would say more than was said.
_RESTRICTED = re.compile(
    r" (?:that|who|whom|whose|which|where|when|whenever|if|unless|more than|except|only)\b", re.IGNORECASE
)
_JOINED = re.compile(r",? (?:and|or|&) |, ")
_JOINED_LAST = re.compile(r"(?:^| )(?:and|or) ")
_FIRST_JOIN = re.compile(r"^(?:and|or) ")
_ARTICLE = re.compile(r"(?:a|an|some) ", re.IGNORECASE)
_KNOWN_BY_ARTICLE = re.compile(
    r"the (?:[A-Z]|(?:smell|taste|sound|sight|feel|feeling) of [a-z]|(?:ocean|sea|beach|mountains|outdoors"
    r"|countryside|rain|snow|cold|heat|sun|theatre|theater|opera|cinema|gym|piano|guitar|violin|viola|cello|drums|flute|oboe|clarinet|bassoon|trumpet|trombone"
    r"|tuba|saxophone|harp|ukulele|banjo|mandolin|accordion|organ|harmonica|fiddle|sitar|lute|colou?r)\b)"
)
SPEAKING = re.compile(r"\b(?:i|we|you|your|yours|he|she|they|it|its|his|her|their)\b", re.IGNORECASE)
_NO_WORDS = re.compile(r"[<>={}\[\]|\\*_~^]")
_NO_START_TEXT = "not be being having about with of in on at like very quite the"
_NO_START = frozenset(_NO_START_TEXT.split())
_NO_END_TEXT = "to of in on at with for from by and or the a an my our"
_NO_END = frozenset(_NO_END_TEXT.split())


def free_values(text: str, *, splits_pairs: bool = False) -> list[str]:
    """The value or the values of a list that begins a text; none if it depends on what was said before.

    With `splits_pairs` "nuts and milk" are two values.
    """
    end = _VALUE_END.search(text)
    whole = (text[: end.start()] if end else text).strip(" ,'")
    parts = whole.split(", ")
    values = parts[:1]
    if splits_pairs or (len(parts) > 1 and _JOINED_LAST.search(parts[-1])):
        listed = [_FIRST_JOIN.sub("", part) for part in _JOINED.split(whole) if part]
        if all(len(value.split()) <= LISTED_MAX_WORDS for value in listed):
            values = listed
    if len(parts) > 1 and len(values) == 1 and _JOINED_LAST.search(parts[0]):
        # "unique, handcrafted instruments": the comma separates adjectives.
        return []
    return [value.strip() for value in values[:LIST_MAX] if is_self_contained(value.strip())]


def is_self_contained(value: str) -> bool:
    """Whether a value is short and needs nothing that was said before to be understood."""
    words = value.casefold().split()
    if not 1 <= len(words) <= VALUE_MAX_WORDS or len(value) < 2:
        return False
    if _NO_WORDS.search(value):
        return False
    if SPEAKING.search(value) or _RESTRICTED.search(value) or not NO_VALUE_WORDS.isdisjoint(words):
        return False
    if _KNOWN_BY_ARTICLE.match(value):
        return True
    bare = _ARTICLE.sub("", value).casefold().split()
    return bool(bare) and bare[0] not in _NO_START and bare[-1] not in _NO_END
