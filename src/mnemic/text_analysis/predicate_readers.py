"""Readers: what the match of a pattern for predicates says (`predicates`)."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from mnemic.text_analysis.attribute_names import COUNT_PREFIX, DOSE_PREFIX, FAVOURITE_PREFIX
from mnemic.text_analysis.predicate_values import SPEAKING, free_values, is_self_contained
from mnemic.text_analysis.self_statement_words import (
    CALENDAR,
    CONDITIONS,
    JUDGING_WORDS,
    LANGUAGES,
    NO_VALUE_WORDS,
    OCCUPATIONS,
    PETS,
    PLAN_VERBS,
    POSSESSIONS,
    RELATIVE_NAMES,
    RELATIVES,
)
from mnemic.text_analysis.wording import ReadPredicate, Wording

AGE_MAX = 115
HABIT_MAX_WORDS = 8
PLAN_MAX_WORDS = 14
TITLE_MAX_WORDS = 5

Read = Callable[[re.Match[str]], Iterator[ReadPredicate]]

LIVE = Wording("verb", "live in {}", "lives in {}")
WORK_AT = Wording("verb", "work at {}", "works at {}")
WORK_AS = Wording("verb", "work as {}", "works as {}")
LIKE = Wording("verb", "like {}", "likes {}")
DISLIKE = Wording("verb", "dislike {}", "dislikes {}")
PREFER = Wording("verb", "prefer {}", "prefers {}")
OWN = Wording("verb", "have {}", "has {}")
SPEAK = Wording("verb", "speak {}", "speaks {}")
PLAY = Wording("verb", "play {}", "plays {}")
STUDY = Wording("verb", "study {}", "studies {}")
STUDY_AT = Wording("verb", "study at {}", "studies at {}")
PLAN = Wording("verb", "plan to {}", "plans to {}")
TAKE = Wording("verb", "take {}", "takes {}")


def simple(attribute: str, wording: Wording) -> Read:
    """Reads the group `value`."""

    def read(matched: re.Match[str]) -> Iterator[ReadPredicate]:
        value = matched["value"].strip(" .,;!")
        if value and (attribute == "birthday" or not is_calendar(value)):
            yield ReadPredicate(attribute, value, wording)

    return read


def free(attribute: str, wording: Wording, *, splits_pairs: bool = False) -> Read:
    """Reads the free values in the group `value`."""

    def read(matched: re.Match[str]) -> Iterator[ReadPredicate]:
        for value in free_values(matched["value"], splits_pairs=splits_pairs):
            if is_calendar(value):
                continue
            yield ReadPredicate(attribute, value, wording)

    return read


def past(read: Read) -> Read:
    """The same, of a time that is over."""

    def read_past(matched: re.Match[str]) -> Iterator[ReadPredicate]:
        for found in read(matched):
            yield replace(found, tense="past")

    return read_past


def ended(read: Read) -> Read:
    """The same, as something that has ended."""

    def read_ended(matched: re.Match[str]) -> Iterator[ReadPredicate]:
        for found in read(matched):
            yield replace(found, is_negated=True, has_ended=True)

    return read_ended


def is_calendar(value: str) -> bool:
    return value.casefold().split()[0].removesuffix("s") in CALENDAR


def read_occupation(matched: re.Match[str]) -> Iterator[ReadPredicate]:
    """An occupation and the employer beside it: "a nurse at Acme"."""
    title = matched["value"].strip(" .,;!")
    words = title.casefold().split()
    is_title = bool(words) and (words[-1] in OCCUPATIONS or "-".join(words[-2:]) in OCCUPATIONS)
    if not is_title or len(words) > TITLE_MAX_WORDS:
        return
    if not NO_VALUE_WORDS.isdisjoint(words) or not JUDGING_WORDS.isdisjoint(words):
        return
    article = (matched["article"] or "").casefold()
    yield ReadPredicate("works_as", " ".join(f"{article} {title}".split()), WORK_AS)
    if matched["employer"]:
        yield ReadPredicate("works_at", matched["employer"].strip(" .,"), WORK_AT)


def read_age(matched: re.Match[str]) -> Iterator[ReadPredicate]:
    value = matched["value"]
    if not value.isdecimal() or 0 < int(value) <= AGE_MAX:
        yield ReadPredicate("age", value, Wording("be", "{} years old"))


def read_favourite(matched: re.Match[str]) -> Iterator[ReadPredicate]:
    thing = matched["thing"].casefold().strip()
    values = free_values(matched["value"])
    if values and not NO_VALUE_WORDS & set(thing.split()):
        name = FAVOURITE_PREFIX + re.sub(r"\W{1,9}", "_", thing)
        yield ReadPredicate(name, values[0], Wording("possession", f"favourite {thing}"))


def read_field(matched: re.Match[str]) -> Iterator[ReadPredicate]:
    field = re.sub(r" number$| address$", "", matched["field"].casefold())
    field = {"mobile": "phone", "cell": "phone", "telephone": "phone", "e-mail": "email"}.get(field, field)
    field = "address" if matched["field"].casefold() in ("address", "home address") else field
    yield ReadPredicate(
        field.replace(" ", "_"), matched["value"].strip(" .,;!"), Wording("possession", field)
    )


def read_condition(matched: re.Match[str]) -> Iterator[ReadPredicate]:
    value = matched["value"].strip(" .,;!")
    if not CONDITIONS.isdisjoint(value.casefold().split()):
        yield ReadPredicate("has_condition", value, OWN)


def read_dose(matched: re.Match[str]) -> Iterator[ReadPredicate]:
    medicine = matched["medicine"].casefold()
    wording = Wording("verb", f"take {{}} of {medicine}", f"takes {{}} of {medicine}")
    yield ReadPredicate(f"{DOSE_PREFIX}{medicine}", matched["value"], wording)


def read_pet(matched: re.Match[str]) -> Iterator[ReadPredicate]:
    animal = matched["animal"].casefold()
    if animal.removesuffix("s") in PETS:
        if matched["name"]:
            attribute = animal
            yield ReadPredicate(attribute, matched["name"].strip(" ."), Wording("relation", attribute))
        else:
            yield ReadPredicate(
                "has_pet", f"{matched['count']} {animal}{matched['plural'] or ''}".casefold(), OWN
            )
    elif animal.removesuffix("s") in POSSESSIONS:
        value = f"{matched['count']} {matched['kind']}{animal}{matched['plural'] or ''}"
        if is_self_contained(value):
            yield ReadPredicate("owns", value, OWN)


def read_relative(matched: re.Match[str]) -> Iterator[ReadPredicate]:
    said = matched["relation"].casefold()
    relation = RELATIVE_NAMES.get(said, said)
    if said in RELATIVES and not is_calendar(matched["name"]):
        yield ReadPredicate(relation, matched["name"].strip(" ."), Wording("relation", relation))


def read_count(matched: re.Match[str]) -> Iterator[ReadPredicate]:
    relation = RELATIVE_NAMES.get(matched["relation"].casefold(), matched["relation"].casefold())
    wording = Wording("verb", f"have {{}} {relation}", f"has {{}} {relation}")
    yield ReadPredicate(f"{COUNT_PREFIX}{relation}", matched["value"].casefold(), wording)


def read_languages(matched: re.Match[str]) -> Iterator[ReadPredicate]:
    for word in re.findall(r"[A-Z][a-z]{2,12}", matched["value"]):
        if word in LANGUAGES:
            yield ReadPredicate("speaks", word, SPEAK)


_PLAN_END = re.compile(
    r"[.;:!?()\n–—]| - |, "
    r"| (?:because|since|so that|but|although|though|even|when|if|so|as|which|that)\b",
    re.IGNORECASE,
)


def read_plan(matched: re.Match[str]) -> Iterator[ReadPredicate]:
    text = matched["value"]
    end = _PLAN_END.search(text)
    value = (text[: end.start()] if end else text).strip(" ,")
    words = value.casefold().split()
    if 2 <= len(words) <= PLAN_MAX_WORDS and not SPEAKING.search(value) and not VAGUE & set(words):
        yield ReadPredicate("plans", value, PLAN, tense="future")


VAGUE = NO_VALUE_WORDS - {"all", "people", "part", "one", "way", "lot"}


def read_planned_verb(matched: re.Match[str]) -> Iterator[ReadPredicate]:
    if matched["value"].casefold().split()[0] in PLAN_VERBS:
        yield from read_plan(matched)


def read_trip(matched: re.Match[str]) -> Iterator[ReadPredicate]:
    yield ReadPredicate(
        "plans",
        f"a trip to {matched['value'].rstrip(' .')}",
        Wording("verb", "plan {}", "plans {}"),
        tense="future",
    )


def read_habit(matched: re.Match[str]) -> Iterator[ReadPredicate]:
    value = matched["value"]
    verb, *others = value.split()
    if len(others) > HABIT_MAX_WORDS or SPEAKING.search(value):
        return
    third = verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "o")) else "s")
    yield ReadPredicate("habit", value, Wording("verb", "{}", " ".join([third, *others])))
