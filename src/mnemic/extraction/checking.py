"""Acceptance of proposed statements: the same checks for every extractor.

A proposal is accepted only if its quotation stands in the source that it names, the speaker may testify about
its subject, the words are the speaker's own, and all names and numbers of the statement were said. A rejected
proposal is kept with its reason, so that it can be counted.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Literal
from uuid import UUID

from mnemic.errors import InvalidInputError
from mnemic.extraction.attribution import is_about_another
from mnemic.extraction.protocol import KnownStatement, ProposedStatement, SourceText
from mnemic.extraction.speakers import USER_SUBJECT, is_testimony, self_name
from mnemic.text_analysis.assertions import MASK, Sentence, sentences_of, why_no_assertion
from mnemic.text_analysis.instructions import orders_memory, overrides_instructions
from mnemic.text_analysis.statement_words import STATEMENT_STOPWORDS
from mnemic.types.checks import check_choice, check_text
from mnemic.types.memory import CATEGORIES
from mnemic.types.scope import check_name
from mnemic.types.statement import (
    CERTAINTIES,
    QUOTATION_MAX_CHARACTERS,
    STATEMENT_TEXT_MAX_CHARACTERS,
    TENSES,
    VALUE_MAX_CHARACTERS,
)

STATEMENTS_PER_SOURCE_MAX = 5
QUOTATION_MIN_CHARACTERS = 6
QUOTATION_MIN_WORDS = 2
ENTITIES_MAX = 8
PROMPT_RUN_WORDS = 6
"""So many words of a model's instructions in a row make a statement a repetition of them."""

Rejection = Literal[
    "unknown source",
    "invalid field",
    "invalid period",
    "quotation not found",
    "quotation too short",
    "speaker may not testify",
    "another subject",
    "question",
    "hypothetical",
    "quoted",
    "recalled",
    "instruction",
    "prompt text",
    "unsupported name",
    "unsupported number",
    "unsupported value",
    "unknown replacement",
    "too many",
    "forgotten",
]

_WORD = re.compile(r"[^\W_](?:[\w]|[.,:/'’-](?=\w))*")
_QUOTE_MARKS = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "«": '"', "»": '"', "\xa0": " "})
_POSSESSIVE = re.compile(r"'s?$")
_PARTS = re.compile(r"[-/:]")
_BLANKS = re.compile(r"\s{1,100}")
_ARTICLES = frozenset({"the", "a", "an"})
_USER_WORDS = frozenset({"the", "user", "user's", "users", "assistant", "assistant's", "i"})
_MONTHS_TEXT = "january february march april may june july august september october november december"
_MONTHS = _MONTHS_TEXT.split()


@dataclass(frozen=True, slots=True)
class Rejected:
    """A proposal that was not accepted, and why."""

    proposal: ProposedStatement
    reason: Rejection


@dataclass(frozen=True, slots=True)
class Checked:
    """The proposals for a batch of sources: accepted and rejected."""

    accepted: tuple[ProposedStatement, ...]
    rejected: tuple[Rejected, ...]


def check_statements(
    proposals: Sequence[ProposedStatement],
    sources: Sequence[SourceText],
    known: Sequence[KnownStatement] = (),
    recalled: Collection[str] = (),
    instructions: str = "",
) -> Checked:
    """Accept or reject every proposal.

    `sources` are all texts that the extractor read: names from one of them may complete a statement from
    another. `recalled` are sentences, folded by `folded`, that repeat what is stored already. `instructions`
    are those that a language model got: no statement may repeat them.
    """
    context = _Context.of(sources, known, recalled, instructions)
    accepted: list[ProposedStatement] = []
    rejected: list[Rejected] = []
    counts: dict[UUID, int] = {}
    for proposal in proposals:
        reason = _why_rejected(proposal, context)
        if reason is None and counts.get(proposal.source_id, 0) >= STATEMENTS_PER_SOURCE_MAX:
            reason = "too many"
        if reason is None:
            counts[proposal.source_id] = counts.get(proposal.source_id, 0) + 1
            accepted.append(proposal)
        else:
            rejected.append(Rejected(proposal, reason))
    return Checked(tuple(accepted), tuple(rejected))


def folded(text: str) -> str:
    """A text with plain quotation marks, single blanks and small letters, for comparing."""
    return _BLANKS.sub(" ", text.translate(_QUOTE_MARKS)).strip().casefold()


@dataclass(frozen=True)
class _Context:
    """What proposals are checked against."""

    sources: Mapping[UUID, SourceText]
    known: Mapping[UUID, KnownStatement]
    recalled: frozenset[str]
    speakers: frozenset[str]
    prompt_runs: frozenset[tuple[str, ...]]
    """Runs of words of the instructions that no source has."""

    @classmethod
    def of(
        cls,
        sources: Sequence[SourceText],
        known: Sequence[KnownStatement],
        recalled: Collection[str],
        instructions: str,
    ) -> "_Context":
        texts = [source.text for source in sources]
        return cls(
            {source.memory_id: source for source in sources},
            {each.memory_id: each for each in known},
            frozenset(recalled),
            frozenset(source.name.casefold() for source in sources if source.name is not None),
            _runs(instructions) - frozenset().union(*map(_runs, texts)) if instructions else frozenset(),
        )

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of all sources, of their speakers' names and of the known statements."""
        texts = [part for source in self.sources.values() for part in (source.text, source.name or "")]
        texts += [part for each in self.known.values() for part in (each.subject, each.value)]
        return frozenset().union(*map(_words, texts))


def _why_rejected(proposal: ProposedStatement, context: _Context) -> Rejection | None:
    source = context.sources.get(proposal.source_id)
    if source is None:
        return "unknown source"
    return (
        _invalid_field(proposal)
        or _bad_quotation(proposal, source, context)
        or _no_testimony(proposal, source, context)
        or _instruction(proposal, source, context)
        or _unsupported(proposal, source, context)
        or _bad_replacement(proposal, context)
    )


def _invalid_field(proposal: ProposedStatement) -> Rejection | None:
    try:
        check_name("subject", proposal.subject)
        check_name("attribute", proposal.attribute)
        check_text("value", proposal.value, max_characters=VALUE_MAX_CHARACTERS)
        check_text("statement", proposal.statement, max_characters=STATEMENT_TEXT_MAX_CHARACTERS)
        check_text("quotation", proposal.quotation, max_characters=QUOTATION_MAX_CHARACTERS)
        check_choice("category", proposal.category, CATEGORIES)
        check_choice("certainty", proposal.certainty, CERTAINTIES)
        check_choice("tense", proposal.tense, TENSES)
        for name in proposal.entities:
            check_name("entity", name)
    except InvalidInputError:
        return "invalid field"
    if len(proposal.entities) > ENTITIES_MAX:
        return "invalid field"
    start, end = proposal.valid_from, proposal.valid_to
    if any(moment is not None and moment.utcoffset() is None for moment in (start, end)):
        return "invalid period"
    if start is not None and end is not None and end <= start:
        return "invalid period"
    return None


def _bad_quotation(proposal: ProposedStatement, source: SourceText, context: _Context) -> Rejection | None:
    quotation = folded(proposal.quotation)
    if len(quotation) < QUOTATION_MIN_CHARACTERS or len(quotation.split()) < QUOTATION_MIN_WORDS:
        return "quotation too short"
    if quotation not in folded(source.text):
        return "quotation not found"
    if quotation in context.recalled:
        return "recalled"
    sentences = [each for each in sentences_of(source.text) if _overlap(folded(each.text), quotation)]
    if not sentences:
        # It lies within code, a recalled entry, or beyond what is read as sentences.
        return "quoted"
    reasons = [_why_not(sentence, quotation) for sentence in sentences]
    if any(folded(each.text) in context.recalled for each in sentences):
        return "recalled"
    return None if None in reasons else reasons[0]


def _why_not(sentence: Sentence, quotation: str) -> Rejection | None:
    """Why a sentence does not assert what is quoted from it; speech beside the quotation does no harm."""
    reason = why_no_assertion(sentence)
    if reason != "quoted":
        return reason
    return None if quotation in folded(sentence.own.replace(MASK, " ")) else "quoted"


def _overlap(sentence: str, quotation: str) -> bool:
    return quotation in sentence or sentence in quotation


def _no_testimony(proposal: ProposedStatement, source: SourceText, context: _Context) -> Rejection | None:
    """The statement must be about its subject, and the speaker may testify about it."""
    if not is_testimony(proposal.subject, source, context.speakers):
        return "speaker may not testify"
    said, about = _words(proposal.statement), _words(proposal.subject) - _ARTICLES
    if about and about.isdisjoint(said):
        return "another subject"
    own_name = self_name(source)
    is_about_speaker = own_name is not None and folded(own_name) == folded(proposal.subject)
    replaces = proposal.replaces is not None
    if is_about_speaker and is_about_another(proposal.quotation, proposal.attribute, replaces=replaces):
        return "another subject"
    # A statement about the user may not hide behind another subject.
    if "user" in said - about and not is_testimony(USER_SUBJECT, source, context.speakers):
        return "speaker may not testify"
    return None


def _instruction(proposal: ProposedStatement, source: SourceText, context: _Context) -> Rejection | None:
    """Instructions to a language model are not testimony; neither are its own instructions."""
    quotation = folded(proposal.quotation)
    sentences = [each.text for each in sentences_of(source.text) if _overlap(folded(each.text), quotation)]
    if overrides_instructions(source.text) or any(map(orders_memory, (*sentences, proposal.quotation))):
        return "instruction"
    said = (proposal.statement, proposal.subject, proposal.value)
    if context.prompt_runs and any(not context.prompt_runs.isdisjoint(_runs(text)) for text in said):
        return "prompt text"
    return None


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    """All runs of `PROMPT_RUN_WORDS` words."""
    words = [found[0].casefold() for found in _WORD.finditer(text)]
    count = len(words) - PROMPT_RUN_WORDS + 1
    return frozenset(tuple(words[start : start + PROMPT_RUN_WORDS]) for start in range(max(count, 0)))


def _unsupported(proposal: ProposedStatement, source: SourceText, context: _Context) -> Rejection | None:
    """Names and numbers must have been said; the words of dates may also come from the stated times."""
    dates = (proposal.valid_from, proposal.valid_to, source.at)
    own_text = f"{proposal.quotation} {source.name or ''}"
    own = _words(own_text) | _USER_WORDS | _date_words([moment for moment in dates if moment is not None])
    for text, is_sentence in ((proposal.statement, True), (proposal.value, False), (proposal.subject, False)):
        for place, found in enumerate(_WORD.finditer(text)):
            word = found[0]
            has_digit = any(map(str.isdigit, word))
            is_start = is_sentence and place == 0
            if not has_digit and (
                not word[0].isupper() or (is_start and word.casefold() in STATEMENT_STOPWORDS)
            ):
                continue
            # The words of the whole batch are collected only if the quotation lacks one.
            if _forms(word).isdisjoint(own) and _forms(word).isdisjoint(context.words):
                return "unsupported number" if has_digit else "unsupported name"
    content = [word for word in map(_forms, _content_words(proposal.value)) if word]
    if content and all(word.isdisjoint(own) and word.isdisjoint(context.words) for word in content):
        return "unsupported value"
    return None


def _content_words(text: str) -> list[str]:
    words = [found[0] for found in _WORD.finditer(text)]
    return [word for word in words if word.casefold() not in STATEMENT_STOPWORDS]


def _words(text: str) -> frozenset[str]:
    return frozenset(form for found in _WORD.finditer(text) for form in _forms(found[0]))


def _forms(word: str) -> set[str]:
    """A word without possessive and separators, and its parts: "Ana's", "10,000", "2026-03-01"."""
    whole = word.casefold().replace("’", "'")
    plain = _POSSESSIVE.sub("", whole)
    parts = _PARTS.split(plain)
    return {whole, plain, plain.replace(",", ""), plain.removesuffix("s"), *parts} - {""}


def _date_words(moments: Sequence[datetime]) -> frozenset[str]:
    words: set[str] = set()
    for moment in moments:
        words |= {
            str(moment.year),
            str(moment.month),
            str(moment.day),
            f"{moment.month:02}",
            f"{moment.day:02}",
        }
        words |= {_MONTHS[moment.month - 1], moment.date().isoformat()}
    return frozenset(words)


def _bad_replacement(proposal: ProposedStatement, context: _Context) -> Rejection | None:
    """A statement may only replace one that the extractor was shown, about the same thing."""
    if proposal.replaces is None:
        return None
    replaced = context.known.get(proposal.replaces)
    is_same = replaced is not None and (
        folded(replaced.subject) == folded(proposal.subject) and replaced.attribute == proposal.attribute
    )
    return None if is_same else "unknown replacement"
