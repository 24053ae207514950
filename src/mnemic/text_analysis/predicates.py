"""Patterns for what can be said about a person: where they live and work, what they like, own and plan.

A pattern must match from the beginning of the clause after its subject. Repetitions are bounded, so that no
text takes long. Free values (what somebody likes) end at the first word that begins something new, and are
dropped if they depend on what was said before.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mnemic.text_analysis.attribute_names import SINGLE_VALUED_ATTRIBUTES
from mnemic.text_analysis.clauses import split_clause, value_kind
from mnemic.text_analysis.predicate_readers import (
    DISLIKE,
    LIKE,
    LIVE,
    OWN,
    PLAY,
    PREFER,
    STUDY,
    STUDY_AT,
    WORK_AT,
    Read,
    ended,
    free,
    past,
    read_age,
    read_condition,
    read_count,
    read_dose,
    read_favourite,
    read_field,
    read_habit,
    read_languages,
    read_occupation,
    read_pet,
    read_plan,
    read_planned_verb,
    read_relative,
    read_trip,
    simple,
)
from mnemic.text_analysis.self_statement_words import (
    AGE,
    COUNT,
    DATE,
    HABIT_VERBS,
    NUMBER,
    OFTEN,
    PERSON,
    PETS,
    PLACE,
    POSSESSIONS,
    PROPER,
)
from mnemic.text_analysis.wording import ReadPredicate, Wording


@dataclass(frozen=True, slots=True)
class Polarity:
    """A clause without its denial, and whether it was denied, or is said to have ended or to be past."""

    rest: str
    is_negated: bool = False
    has_ended: bool = False
    is_past: bool = False


_DENIED = re.compile(r"(?:do|does) not |(?:no longer|not any longer) ", re.IGNORECASE)
_BE_DENIED = re.compile(r"(?P<be>am|is|are) (?P<how>not|no longer) ", re.IGNORECASE)
_UNREAD = re.compile(
    r"(?:did not|never|had|was not|were not|have not|has not|will not|can not help|hope"
    r"|want|need|have to"
    r"|wanted|hoped|thought|felt|feel|wonder|remember|said|told|believe|know|guess|heard"
    r"|dreamt?|tried"
    r"|almost|nearly|pretend|claim|seem)\b",
    re.IGNORECASE,
)
_USED_TO = re.compile(r"used to ", re.IGNORECASE)
_STOPPED = re.compile(r"(?:have |has )?(?:stopped|quit|gave up|given up) (?=[a-z]{2,20}ing\b)", re.IGNORECASE)
_ANY_MORE = re.compile(r" any ?more\b| any longer\b", re.IGNORECASE)


def read_predicates(rest: str, *, is_greeting: bool = False) -> Iterator[ReadPredicate]:
    """What the part of a clause after its subject says; a possessive subject leaves "'s …"."""
    if rest.startswith("'s "):
        yield from _first(_POSSESSIVES, rest[3:])
        return
    if is_greeting and (matched := _INTRODUCED.match(rest)):
        yield ReadPredicate("name", matched["value"], Wording("possession", "name"))
        return
    polarity = _polarity(rest)
    if polarity is None:
        return
    for found in _first(_PREDICATES, polarity.rest):
        yield from _applied(found, polarity)


def read_possession(rest: str) -> ReadPredicate | None:
    """What no pattern knows, but the structure after "my" or "Ana's" gives: "gate code is 4411"."""
    matched = _POSSESSED.match(rest)
    if matched is None:
        return None
    noun, value = matched["noun"].split(), matched["value"].split()
    clause = split_clause(["my", *noun, "is", *value])
    is_known = clause is not None and clause.attribute[-1] in SINGLE_VALUED_ATTRIBUTES
    if not is_known or value_kind(value) == "words":
        return None
    return ReadPredicate("_".join(noun), matched["value"], Wording("possession", matched["noun"]))


def _polarity(rest: str) -> Polarity | None:
    """None for clauses that say nothing that the rules understand."""
    ended = _ANY_MORE.search(rest) is not None
    rest = _ANY_MORE.sub("", rest)
    if matched := _BE_DENIED.match(rest):
        is_end = ended or matched["how"].casefold() == "no longer"
        return Polarity(f"{matched['be']} {rest[matched.end() :]}", is_negated=True, has_ended=is_end)
    if matched := _DENIED.match(rest):
        is_end = ended or "longer" in matched[0].casefold()
        return Polarity(rest[matched.end() :], is_negated=True, has_ended=is_end)
    if matched := _STOPPED.match(rest):
        return Polarity(rest[matched.end() :], is_negated=True, has_ended=True)
    if matched := _USED_TO.match(rest):
        return Polarity(rest[matched.end() :], is_past=True)
    return None if _UNREAD.match(rest) else Polarity(rest)


def _applied(found: ReadPredicate, polarity: Polarity) -> Iterator[ReadPredicate]:
    if polarity.is_past:
        if found.tense == "current":
            yield replace(found, tense="past")
    elif not polarity.is_negated:
        yield found
    elif found.attribute == "likes" and not polarity.has_ended:
        yield replace(found, attribute="dislikes", wording=DISLIKE)
    elif found.attribute not in _NEVER_DENIED and found.tense == "current":
        yield replace(found, is_negated=True, has_ended=polarity.has_ended)


_NEVER_DENIED = frozenset({"dislikes", "age", "plans"})


def _first(patterns: tuple[tuple[re.Pattern[str], Read], ...], rest: str) -> Iterator[ReadPredicate]:
    """The predicates of the first pattern that matches and reads something."""
    for pattern, read in patterns:
        if matched := pattern.match(rest):
            found = list(read(matched))
            if found:
                yield from found
                return


def _rule(pattern: str, read: Read) -> tuple[re.Pattern[str], Read]:
    return re.compile(pattern), read


_POSSESSED = re.compile(
    r"(?P<noun>[a-z]{2,20}(?: [a-z-]{2,20}){0,3}) is (?P<value>[^.;!?\n]{1,80}?)(?=[.;!]|$| and\b| but\b)"
)
_INTRODUCED = re.compile(rf"(?:am|is) (?P<value>{PERSON})(?=[.,!]|$| and\b| from\b)")
_THING = r"(?P<thing>[a-z][a-z'-]{1,20}(?: [a-z'-]{2,20}){0,2})"
_SINCE = r"(?: (?:for|since)\b.{0,80})?"
# "When I was six", "as a child": what was true then says nothing about now.
_NOT_LONG_AGO = (
    r"(?!.{0,80}\b(?:when (?:I|we|he|she|they) (?:was|were)|as an? (?:child|kid|teenager|student|baby)"
    r"|growing up|for an? (?:day|week|month|while|year|summer)|once|briefly)\b)"
)
_AT_THAT_TIME = (
    r" (?=(?:at school|in (?:high )?school|in college|at university|as an? (?:child|kid|teenager|student)"
    r"|growing up|when (?:I|we|he|she|they) (?:was|were))\b)"
)
_WORKED_AS = (
    r"(?P<article>(?:an?|the) )?"
    r"(?P<value>[A-Za-z][\w'/&-]{1,30}(?: [A-Za-z][\w'/&-]{1,30}){0,4}?)"
    rf"(?:,? (?:at|for|with) (?P<employer>{PROPER}))?"
    r"(?=[.,;!]|$| and\b| in\b| for\b| at\b| who\b| with\b| by\b| since\b| until\b| before\b)"
)

_PREDICATES: tuple[tuple[re.Pattern[str], Read], ...] = (
    # Home.
    _rule(
        rf"(?i:live|lives|living|reside|resides) (?i:in|near) (?P<value>{PLACE})", simple("lives_in", LIVE)
    ),
    _rule(
        rf"(?i:live|lives|living) (?i:in|on|at) (?:an?|the|my|our) [a-z -]{{3,40}} in "
        rf"(?P<value>{PLACE})",
        simple("lives_in", LIVE),
    ),
    _rule(rf"(?i:am|is|are) (?i:living|based|settled) in (?P<value>{PLACE})", simple("lives_in", LIVE)),
    _rule(
        rf"(?i:have|has) (?:been living|lived) in (?P<value>{PLACE}) (?:for|since)\b",
        simple("lives_in", LIVE),
    ),
    _rule(
        rf"(?:(?:have|has) )?(?:moved|relocated) (?:back |home |here |over |up |down )?"
        rf"(?:from {PLACE} )?to (?P<value>{PLACE})"
        rf"(?!.{{0,80}}\b(?:team|department|role|job|company|position)\b){_NOT_LONG_AGO}",
        simple("lives_in", LIVE),
    ),
    _rule(rf"lived in (?P<value>{PLACE})", past(simple("lives_in", LIVE))),
    _rule(
        rf"(?:moved away from|moved out of) (?P<value>{PLACE}) for good",
        ended(simple("lives_in", LIVE)),
    ),
    _rule(
        rf"(?:grew up|was raised) in (?P<value>{PLACE})",
        simple("grew_up_in", Wording("verb", "come from {}", "grew up in {}")),
    ),
    _rule(
        rf"(?:am|is) (?:originally )?from (?P<value>{PLACE})", simple("home_town", Wording("be", "from {}"))
    ),
    # Work.
    _rule(
        rf"(?:work|works|working) (?:part-time |full-time |remotely )?(?:at|for) (?:the )?"
        rf"(?P<value>{PROPER})",
        simple("works_at", WORK_AT),
    ),
    _rule(
        rf"(?:am|is) (?:working|employed) (?:part-time |full-time )?(?:at|for|by) (?:the )?"
        rf"(?P<value>{PROPER})",
        simple("works_at", WORK_AT),
    ),
    _rule(
        rf"(?:have|has) (?:been working|worked) (?:at|for) (?P<value>{PROPER}) (?:for|since)\b",
        simple("works_at", WORK_AT),
    ),
    _rule(
        r"(?:work|works|am working|is working) in (?:the )?[a-z][a-z -]{2,30} (?:at|for) "
        rf"(?P<value>{PROPER})",
        simple("works_at", WORK_AT),
    ),
    _rule(rf"worked (?:at|for) (?P<value>{PROPER})", past(simple("works_at", WORK_AT))),
    _rule(
        rf"(?:(?:have|has) )?(?:started|began|begun) (?:working|work|a new job|my new job) "
        rf"(?:at|for|with) (?P<value>{PROPER})",
        simple("works_at", WORK_AT),
    ),
    _rule(
        rf"(?:(?:have|has) )?(?:got|accepted|landed|took|taken) (?:an?|the|my)"
        rf"(?: [a-z-]{{2,20}}){{0,2}} (?:job|position|role) (?:at|with) (?P<value>{PROPER})",
        simple("works_at", WORK_AT),
    ),
    _rule(
        rf"(?:(?:have|has) )?(?:left|quit|resigned from) (?:my|his|her|their) (?:job|position"
        rf"|role) at (?P<value>{PROPER})",
        ended(simple("works_at", WORK_AT)),
    ),
    _rule(rf"(?:work|works|am working|is working|working) as {_WORKED_AS}", read_occupation),
    _rule(rf"(?:am|is) (?=an? |the ){_WORKED_AS}", read_occupation),
    _rule(rf"(?:have|has) been (?=an? ){_WORKED_AS}(?= for\b| since\b)", read_occupation),
    _rule(rf"was (?=an? ){_WORKED_AS}", past(read_occupation)),
    _rule(
        rf"(?:was |have been |has been )?(?:promoted to|(?:accepted|got) (?:a"
        rf"|the) promotion to) {_WORKED_AS}",
        read_occupation,
    ),
    _rule(
        rf"(?:study|studies|am studying|is studying) at (?:the )?(?P<value>{PROPER})",
        simple("studies_at", STUDY_AT),
    ),
    _rule(
        r"(?:study|studies|am studying|is studying) (?P<value>[a-zA-Z][a-z]{2,20}"
        r"(?: [a-z]{2,20}){0,2}?)(?=[.,;!]| at\b| in\b|$)",
        free("studies", STUDY),
    ),
    # Person.
    _rule(rf"(?:was|were) born on (?P<value>{DATE})", simple("birthday", Wording("possession", "birthday"))),
    _rule(
        rf"(?:was|were) born (?:and raised )?in (?P<value>{PLACE})",
        simple("born_in", Wording("be", "born in {}")),
    ),
    _rule(r"(?:am|is) (?P<value>\d{1,3}) years? old\b", read_age),
    _rule(r"(?:am|is) (?P<value>[1-9]\d)(?=[.!]?$|, | and\b)", read_age),
    _rule(
        r"(?:have |has )?turned (?P<value>\d{1,3})(?=[.!,]| (?:years old|today|yesterday|last"
        r"|this|on|in|and)\b|$)",
        read_age,
    ),
    _rule(
        rf"(?:have |has )?turned (?P<value>{AGE})(?=[.!,]| (?:today|yesterday|last|this|on|in|and)\b|$)",
        read_age,
    ),
    _rule(
        r"(?:am|is) (?P<value>married|divorced|widowed|engaged|single)(?=[.,;!]|$| and\b"
        r"| with\b)",
        simple("marital_status", Wording("be", "{}")),
    ),
    _rule(
        rf"(?:am|is|got) (?:married|engaged) to (?P<value>{PERSON})",
        simple("partner", Wording("relation", "partner")),
    ),
    _rule(
        rf"(?:go|goes) by (?P<value>{PERSON})(?=[.,;!]|$)",
        simple("nickname", Wording("possession", "nickname")),
    ),
    _rule(
        rf"(?:am|is) (?P<value>{NUMBER} ?(?:cm|m|feet|ft|inches)) tall\b",
        simple("height", Wording("possession", "height")),
    ),
    _rule(
        rf"(?:weigh|weighs) (?:about |around )?(?P<value>{NUMBER} ?(?:kg|kilos|kilograms|lbs"
        rf"|pounds|stone))\b",
        simple("weight", Wording("possession", "weight")),
    ),
    # Health and food.
    _rule(
        r"(?:am|is) (?:(?:severely|deathly|highly|mildly|very|extremely|badly) )?allergic to "
        r"(?P<value>.{2,120})",
        free("allergic_to", Wording("be", "allergic to {}"), splits_pairs=True),
    ),
    _rule(
        r"(?:have|has) an? (?:(?:severe|bad|serious|mild|life-threatening) )?"
        r"(?P<value>[a-z]{3,20}(?: [a-z]{3,20})?) allergy\b",
        free("allergic_to", Wording("be", "allergic to {}")),
    ),
    _rule(
        r"(?:am|is) (?P<value>lactose|gluten|fructose|histamine)[ -]intolerant\b",
        simple("intolerant_to", Wording("be", "intolerant to {}")),
    ),
    _rule(
        r"(?:am|is) (?:an? )?(?:strict )?(?P<value>vegetarian|vegan|pescatarian)(?=[.,;!]|$"
        r"| and\b| for\b| since\b)",
        simple("diet", Wording("be", "{}")),
    ),
    _rule(
        r"(?:have|has) been (?:an? )?(?P<value>vegetarian|vegan|pescatarian)(?= for\b| since\b)",
        simple("diet", Wording("be", "{}")),
    ),
    _rule(
        r"(?:became|have become|has become|went) (?:an? )?(?P<value>vegetarian|vegan"
        rf"|pescatarian)\b{_NOT_LONG_AGO}",
        simple("diet", Wording("be", "{}")),
    ),
    _rule(
        r"(?:have|has) (?:been diagnosed with )?(?P<value>(?:(?:type [12]|mild|severe|chronic"
        r"|bad) )?[A-Za-z']{2,20}(?: disease)?)(?=[.,;!]|$| and\b| since\b)",
        read_condition,
    ),
    _rule(
        r"(?:was|were) diagnosed with (?P<value>(?:(?:type [12]|mild|severe"
        r"|chronic) )?[A-Za-z']{2,20}(?: disease)?)(?=[.,;!]|$| and\b| in\b| when\b| last\b"
        r"| at\b| as\b)",
        simple("has_condition", OWN),
    ),
    _rule(
        rf"(?:take|takes|am taking|is taking|am on|is on) (?P<value>{NUMBER} ?(?:mg|mcg|µg|ml|g|iu|IU"
        rf"|units|milligrams|micrograms|millilitres|drops)) of (?P<medicine>[A-Za-z]{{4,30}})\b",
        read_dose,
    ),
    # Likes.
    _rule(
        r"(?:like|likes|love|loves|enjoy|enjoys|adore|adores) (?P<value>(?!to (?:think|hear"
        r"|say|see|know|be)\b).{2,160})",
        free("likes", LIKE),
    ),
    _rule(
        r"(?:am|is) (?:an? )?(?:(?:big|huge|massive|avid|great|lifelong|real) )?(?:fan of"
        r"|fond of|obsessed with|passionate about|addicted to|keen on|crazy about) "
        r"(?P<value>.{2,160})",
        free("likes", LIKE),
    ),
    _rule(
        r"(?:hate|hates|dislike|dislikes|detest|detests|loathe|loathes"
        r"|can not stand(?! (?:up|by|still|here|there|in|on|out|straight)\b)) "
        r"(?P<value>(?!to (?:think|hear|say|see|know|be)\b).{2,160})",
        free("dislikes", DISLIKE),
    ),
    _rule(r"(?:prefer|prefers) (?P<value>.{2,160})", free("prefers", PREFER)),
    # People, animals and things.
    _rule(
        rf"(?:have|has) an? (?:[a-z-]{{3,15}} ){{0,2}}?(?P<relation>[a-z-]{{3,20}})(?: who is"
        rf"| that is)?,? (?:named|called) (?P<name>{PERSON})",
        read_relative,
    ),
    _rule(
        rf"(?:have|has|own|owns|adopted|got|bought) (?P<count>an?|{COUNT}|one) (?P<kind>"
        rf"(?:[a-z-]{{3,15}} ){{0,2}}?)(?P<animal>{'|'.join(sorted({*PETS, *POSSESSIONS}))})"
        rf"(?P<plural>s)?(?:(?: who is| that is)?,? (?:named|called) (?P<name>{PERSON}))?"
        rf"(?=[.,;!]|$| and\b| named\b| called\b| that\b| which\b| in\b| with\b| at\b| from\b)",
        read_pet,
    ),
    _rule(
        rf"(?:have|has) (?P<value>{COUNT}) (?:(?:older|younger|little|grown-up|adult|young) )?"
        rf"(?P<relation>children|kids|sons|daughters|brothers|sisters|siblings|grandchildren)\b",
        read_count,
    ),
    _rule(r"(?:own|owns|drive|drives|ride|rides) (?P<value>(?:an?|my own) .{2,80})", free("owns", OWN)),
    _rule(
        r"(?:speak|speaks|am fluent in|is fluent in) (?P<value>(?:(?:fluent|some|any|a little"
        r"|basic|good) )?[A-Z][^.;!?\n]{2,80})",
        read_languages,
    ),
    _rule(
        r"(?:play|plays) (?P<value>(?!along|around|with|it|dead|safe|fair)(?:the )?"
        r"[a-z][a-z]{2,20}(?: [a-z]{3,20})?)(?=[.,;!]|$| and\b| in\b| for\b| on\b| every\b| with\b| at\b)",
        free("plays", PLAY),
    ),
    _rule(
        rf"played (?P<value>(?:the )?[a-z][a-z]{{2,20}}(?: [a-z]{{3,20}})??){_AT_THAT_TIME}",
        past(free("plays", PLAY)),
    ),
    # Plans and habits.
    _rule(
        r"(?:(?:am|is) (?:planning|intending|preparing)|plan|plans|intend|intends|(?:have"
        r"|has) decided|decided) to (?P<value>[a-z].{3,160})",
        read_plan,
    ),
    _rule(
        rf"(?:am|is) planning (?:an?|my|our) (?:[a-z-]{{3,15}} )?(?:trip|holiday|vacation|visit"
        rf"|move) to (?P<value>{PLACE})",
        read_trip,
    ),
    _rule(r"(?:(?:am|is|are) going to|will) (?P<value>[a-z].{3,160})", read_planned_verb),
    _rule(
        rf"(?P<value>(?:{'|'.join(sorted(HABIT_VERBS))}) (?:[\w'-]{{1,20}} ){{0,6}}?(?:{OFTEN}))"
        r"(?=[.,;!]|$| and\b| but\b| with\b| at\b| in\b| before\b| after\b| for\b| to\b)",
        read_habit,
    ),
)

_POSSESSIVES: tuple[tuple[re.Pattern[str], Read], ...] = (
    _rule(
        rf"(?:(?:full|first|real|actual) )?name is (?P<value>{PROPER})(?=[.,;!]|$| and\b"
        rf"| but\b)",
        simple("name", Wording("possession", "name")),
    ),
    _rule(rf"nickname is (?P<value>{PROPER})", simple("nickname", Wording("possession", "nickname"))),
    _rule(
        rf"birthday (?:is|falls) (?:on )?(?P<value>{DATE})",
        simple("birthday", Wording("possession", "birthday")),
    ),
    _rule(
        rf"(?:date of birth|birth date|birthdate) is (?P<value>{DATE})",
        simple("birthday", Wording("possession", "birthday")),
    ),
    _rule(
        rf"(?:(?:all-time|absolute|very|current|new) )?favou?rite {_THING} (?:is|are) "
        rf"(?P<value>.{{2,120}})",
        read_favourite,
    ),
    _rule(
        r"(?P<field>phone|mobile|cell|telephone|phone number|mobile number|cell number"
        r"|telephone number) is (?P<value>\+?\d[\d ()/-]{4,20}\d)",
        read_field,
    ),
    _rule(
        r"(?P<field>email|e-mail|email address|e-mail address) is "
        r"(?P<value>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4})",
        read_field,
    ),
    _rule(r"(?P<field>address|home address) is (?P<value>\d{1,5} [A-Z][^.;!?\n]{3,80})", read_field),
    _rule(
        rf"(?P<field>rent|salary|monthly income|income|budget|weight|height|shoe size"
        rf"|mortgage) is (?P<value>(?:about |around )?[$€£]?{NUMBER}(?: ?(?:k|kg|cm|m|euros"
        rf"|dollars|pounds|yuan|%|a month|per month|a year|per year)){{0,3}})(?=[.,;!]|$| and\b"
        rf"| but\b)",
        read_field,
    ),
    _rule(
        r"(?P<field>blood type) is (?P<value>(?:A|B|AB|O)(?: ?[+-]| positive| negative)?)"
        r"(?=[.,;!]|$| and\b)",
        read_field,
    ),
    _rule(
        r"(?P<field>native language|mother tongue|pronouns|time zone|timezone|star sign"
        r"|nationality) (?:is|are) (?P<value>[\w/+-]{2,20}(?: [\w/+-]{2,20})?)(?=[.,;!]|$"
        r"| and\b| but\b)",
        read_field,
    ),
    _rule(rf"(?:home ?town) is (?P<value>{PLACE})", simple("home_town", Wording("be", "from {}"))),
    _rule(
        rf"(?P<relation>[a-z-]{{3,20}})(?:'s name is| is called| is named) (?P<name>{PERSON})"
        rf"(?=[.,;!]|$| and\b| but\b)",
        read_relative,
    ),
    _rule(rf"(?P<relation>[a-z-]{{3,20}}) is (?P<name>{PERSON})(?=[.;!]|$)", read_relative),
    _rule(
        rf"(?P<count>)(?P<kind>)(?P<plural>)(?P<animal>{'|'.join(sorted(PETS))})(?:'s name is| is called"
        rf"| is named) (?P<name>{PERSON})(?=[.,;!]|$| and\b| but\b)",
        read_pet,
    ),
)
