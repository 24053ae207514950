"""Rules that read what speakers say about themselves: typed slots, no paraphrase.

Each sentence that asserts something (`assertions`) is split into clauses. A clause is read only from its
subject on: "I", "my sister Ana", or, in a note, a name. Then one of the patterns for predicates must match
from there. So the rules miss much and are seldom wrong. English.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mnemic.text_analysis.assertions import Sentence, sentences_of, why_no_assertion
from mnemic.text_analysis.predicates import read_possession, read_predicates
from mnemic.text_analysis.self_statement_words import (
    CALENDAR,
    PERSON,
    PETS,
    RELATIVE_NAMES,
    RELATIVES,
)
from mnemic.text_analysis.wording import ReadPredicate, Wording, sentence_about
from mnemic.types.statement import Certainty, Tense

USER = "The user"
"""What notes call the owner."""
CLAUSES_MAX = 6
"""Clauses of one sentence that are read."""
READINGS_MAX = 12
"""Statements of one text; checking accepts fewer."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a sentence says about a subject; `statement` says the same without its context."""

    quotation: str
    statement: str
    subject: str
    attribute: str
    value: str
    certainty: Certainty = "explicit"
    tense: Tense = "current"
    is_negated: bool = False
    is_correction: bool = False


# What may stand before the subject without changing what is said.
_OPENER = re.compile(
    r"(?:(?:well|yes|yeah|yep|sure|okay|ok|oh|hey|hi|hello|hmm|so|and|but|also|plus|anyway|btw|by the way|fyi"
    r"|thanks|thank you|great|cool|nice|honestly|basically|right now|currently|nowadays|these days|today"
    r"|in fact|as you know|for context|just so you know|to be honest|at the moment|lol|haha|wow|note|update"
    r"|remember|(?:last|this) (?:week|month|year|spring|summer|autumn|fall|winter|[a-z]{3,6}day)|in \d{4})"
    r"\b[,:;!.]{0,3}[ -]{1,3}){0,4}",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"(?:(?:(?:no|nope|wait|sorry|oops|my mistake)\b[,.!:;]? ){0,3}"
    r"(?:actually|correction|i meant|i mean|what i meant is|to correct myself|scratch that"
    r"|let me correct that)\b[,:]? (?:that )?|no, |wait, |not \w{1,30}[,:] )",
    re.IGNORECASE,
)
_GREETING = re.compile(r"(?:hi|hello|hey)\b[^.!?\n]{0,20}?[,!.]? (?=(?:i am|this is) )", re.IGNORECASE)
_CLAUSE_END = re.compile(
    r"(?:,? (?:and|but|so|because|while|though|although|yet|as|since)|[,;:–—]|\() (?=(?:I|we|my|our)\b)",
    re.IGNORECASE,
)
# Verbs that may share the subject of the clause before, "I" or a name: "I live in Oslo and work at Acme".
_I_VERB = (
    r"(?:live|work|love|like|hate|enjoy|prefer|play|speak|study|teach|own|drive|have|am|use|collect"
    r"|lived|worked|loved|hated|enjoyed|played|studied|taught|owned|had|was|used|moved|grew up)"
)
_NAME_VERB = (
    r"(?:lives|works|loves|likes|hates|enjoys|prefers|plays|speaks|studies|teaches|owns|drives|has|is|uses"
    r"|collects|lived|worked|loved|hated|enjoyed|played|studied|taught|owned|had|was|used|moved|grew up)"
)
# Not behind an infinitive or a relative clause: "a son who moved out and works", "I like to sing and play".
_NOT_SHARED = r"(?:(?! to (?:be|[a-z]+)\b| wh(?:o|ich|ere)\b| that\b| if\b| when\b)[^,;:])"
_SHARED_SUBJECT = re.compile(
    rf"(?P<subject>(?P<i>I)|The user|{PERSON}) (?P<first>(?(i){_I_VERB}|{_NAME_VERB}){_NOT_SHARED}{{2,120}}?)"
    rf",? (?:and|but) (?P<second>(?(i){_I_VERB}|{_NAME_VERB}) .{{2,300}})",
    re.DOTALL,
)
_EXPANDED: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"[‘’]"), "'"),
    (re.compile(r"\b(I)'m\b", re.IGNORECASE), r"\1 am"),
    (re.compile(r"\b(I|we|they|you)'ve\b", re.IGNORECASE), r"\1 have"),
    (re.compile(r"\b(I|we|they|you|he|she|it)'ll\b", re.IGNORECASE), r"\1 will"),
    (re.compile(r"\b(we|they|you)'re\b", re.IGNORECASE), r"\1 are"),
    (re.compile(r"\b(he|she|it|that|there|what|who)'s\b", re.IGNORECASE), r"\1 is"),
    (re.compile(r"\b(my (?:name|hometown|birthday|diet|job))'s\b", re.IGNORECASE), r"\1 is"),
    (re.compile(r"\b(can)(?:'t|not)\b", re.IGNORECASE), r"\1 not"),
    (re.compile(r"\bwon't\b", re.IGNORECASE), "will not"),
    (re.compile(r"\b(do|does|did|is|are|was|were|have|has|had)n't\b", re.IGNORECASE), r"\1 not"),
    (re.compile(r"\b(have|has) got\b", re.IGNORECASE), r"\1"),
    (re.compile(r"\bim\b"), "I am"),
    (re.compile(r"\bi(?= )"), "I"),
    # Adverbs that leave a slot as it is.
    (
        re.compile(
            r" (?:also|still|now|currently|really|(?<=I )actually|just|recently|simply|totally|definitely"
            r"|truly|personally|mostly|absolutely|finally|already|officially|proudly|happily|presently"
            r"|genuinely|literally|obviously|mainly|primarily|normally)(?= |[.!,])",
            re.IGNORECASE,
        ),
        "",
    ),
    (re.compile(r"[ \t]{2,20}"), " "),
)
_REL = "|".join(sorted(RELATIVES | PETS, key=len, reverse=True))
_QUALIFIER = (
    r"(?:(?:older|younger|little|big|elder|eldest|youngest|oldest|twin|best|late|dear|new|old|ex|half) )?"
)
_SELF = re.compile(r"I (?P<rest>.{2,400})", re.DOTALL)
_WE = re.compile(
    r"(?:we|my (?:family|wife|husband|partner) and I) (?P<rest>.{2,400})", re.IGNORECASE | re.DOTALL
)
_MY_RELATIVE = re.compile(
    rf"(?i:my|our) (?P<qualifier>(?i:{_QUALIFIER}))(?P<relation>(?i:{_REL}))"
    rf"(?: (?P<name>{PERSON})|, (?P<apposed>{PERSON}),)?(?P<rest> .{{2,400}})",
    re.DOTALL,
)
_RELATIVE_ANYWHERE = re.compile(
    rf"\b(?i:my|our) (?P<qualifier>(?i:{_QUALIFIER}))(?P<relation>(?i:{_REL}))"
    rf"(?: (?P<name>{PERSON})|, (?P<apposed>{PERSON})(?=,))(?!'s? (?:birthday|name))"
)
_NAME_IS_RELATIVE = re.compile(
    rf"(?P<apposed>)(?P<name>{PERSON}) is (?i:my) (?P<qualifier>(?i:{_QUALIFIER}))(?P<relation>(?i:{_REL}))\b"
    r"(?!'s| of| and)"
)
_MY_ATTRIBUTE = re.compile(r"(?:my|our) (?P<rest>.{3,400})", re.IGNORECASE | re.DOTALL)
_NAMED = re.compile(rf"(?P<name>The user|{PERSON})(?P<possessive>'s)? (?P<rest>.{{3,400}})", re.DOTALL)


def read_self_statements(text: str, self_name: str | None, *, is_note: bool = False) -> list[Reading]:
    """What a text says about its speaker, who is called `self_name`, and the speaker's relatives.

    With None "I" is not understood. In a note sentences about a name are read, too.
    """
    found: list[Reading] = []
    for sentence in sentences_of(text):
        if len(found) < READINGS_MAX and why_no_assertion(sentence) is None:
            found += _read_sentence(sentence, self_name, is_note=is_note)
    return _distinct(found)[:READINGS_MAX]


def _read_sentence(sentence: Sentence, self_name: str | None, *, is_note: bool) -> Iterator[Reading]:
    quotation = sentence.text.strip()
    plain = expanded(quotation)
    has_greeting = _GREETING.match(plain)
    plain = plain[has_greeting.end() :] if has_greeting else plain
    opener = _OPENER.match(plain)
    plain = plain[opener.end() :] if opener else plain
    correction = _CORRECTION.match(plain)
    plain = plain[correction.end() :] if correction else plain
    for clause in _clauses(plain):
        for reading in _read_clause(clause, self_name, is_note=is_note, is_greeting=has_greeting is not None):
            yield replace(reading, quotation=quotation, is_correction=correction is not None)


def expanded(text: str) -> str:
    """A sentence without contractions and without adverbs that leave a slot as it is."""
    for pattern, replacement in _EXPANDED:
        text = pattern.sub(replacement, text)
    return text


def _clauses(plain: str) -> Iterator[str]:
    start = 0
    for count, end in enumerate(_CLAUSE_END.finditer(plain)):
        if count >= CLAUSES_MAX - 1:
            break
        yield from _with_subjects(plain[start : end.start()])
        start = end.end()
    yield from _with_subjects(plain[start:])


def _with_subjects(clause: str) -> Iterator[str]:
    """The clause, or its parts that share a subject, each with it: "I live in Oslo", "I work at Acme"."""
    for _ in range(CLAUSES_MAX):
        if (shared := _SHARED_SUBJECT.fullmatch(clause)) is None:
            break
        yield f"{shared['subject']} {shared['first']}"
        clause = f"{shared['subject']} {shared['second']}"
    yield clause


def _read_clause(
    clause: str, self_name: str | None, *, is_note: bool, is_greeting: bool
) -> Iterator[Reading]:
    if self_name is not None:
        yield from _read_relatives(clause, self_name)
        if matched := _SELF.match(clause):
            yield from _about(self_name, matched["rest"], is_greeting=is_greeting)
        elif matched := _WE.match(clause):
            for reading in _about(self_name, matched["rest"]):
                if reading.attribute in SHARED_BY_A_HOUSEHOLD:
                    yield replace(reading, certainty="implied")
        elif matched := _MY_RELATIVE.match(clause):
            yield from _about(_relative_subject(matched, self_name), matched["rest"].strip())
            yield from _about(self_name, f"'s {clause[3:]}")
        elif matched := _MY_ATTRIBUTE.match(clause):
            yield from _about(self_name, f"'s {matched['rest']}")
    if is_note and (matched := _NAMED.match(clause)) and _is_person(matched["name"]):
        possessive = "'s " if matched["possessive"] else ""
        yield from _about(matched["name"], f"{possessive}{matched['rest']}")


SHARED_BY_A_HOUSEHOLD = frozenset({"lives_in", "owns", "has_pet"})
"""What "we" says about the speaker, too."""


def _read_relatives(clause: str, self_name: str) -> Iterator[Reading]:
    """Relatives with their names: "my sister Ana", "Ana is my sister"."""
    for pattern in (_RELATIVE_ANYWHERE, _NAME_IS_RELATIVE):
        for matched in pattern.finditer(clause):
            name = (matched["name"] or matched["apposed"]).rstrip("'.,")
            if not _is_person(name) or matched["qualifier"].strip().casefold() == "ex":
                continue
            attribute = _relation(matched)
            yield _reading(self_name, ReadPredicate(attribute, name, Wording("relation", attribute)))


def _relation(matched: re.Match[str]) -> str:
    relation = matched["relation"].casefold()
    relation = RELATIVE_NAMES.get(relation, relation)
    return f"best_{relation}" if matched["qualifier"].strip().casefold() == "best" else relation


def _relative_subject(matched: re.Match[str], self_name: str) -> str:
    name: str | None = matched["name"] or matched["apposed"]
    if name is not None and _is_person(name):
        return name.rstrip("'.,")
    qualifier = matched["qualifier"].strip().casefold()
    relation = matched["relation"].casefold()
    return f"{self_name}'s {qualifier} {relation}" if qualifier else f"{self_name}'s {relation}"


def _is_person(name: str) -> bool:
    if name == USER:
        return True
    words = name.casefold().split()
    return CALENDAR.isdisjoint(words) and words[0] not in NOT_NAMES


_NOT_NAMES_TEXT = """
i it he she we you they the this that there here my our your his her their its a an and but so if when
while what who why how no yes not is are was were today tomorrow yesterday everyone someone nobody people
also then still just maybe later meeting appointment deadline office team company server event project class
lesson party flight train call release launch
"""
NOT_NAMES = frozenset(_NOT_NAMES_TEXT.split())


def _about(subject: str, rest: str, *, is_greeting: bool = False) -> Iterator[Reading]:
    predicates = list(read_predicates(rest, is_greeting=is_greeting))
    if not predicates and rest.startswith("'s ") and (possession := read_possession(rest[3:])) is not None:
        predicates = [possession]
    for predicate in predicates:
        yield _reading(subject, predicate)


def _reading(subject: str, predicate: ReadPredicate) -> Reading:
    return Reading(
        quotation="",
        statement=sentence_about(subject, predicate),
        subject=subject,
        attribute=predicate.attribute,
        value=predicate.value,
        certainty=predicate.certainty,
        tense=predicate.tense,
        is_negated=predicate.is_negated,
    )


def _distinct(readings: Sequence[Reading]) -> list[Reading]:
    seen: dict[tuple[str, str, str, bool], Reading] = {}
    for reading in readings:
        seen.setdefault((reading.subject, reading.attribute, reading.value, reading.is_negated), reading)
    return list(seen.values())
