"""Texts that make a pattern or a rule slow: the time must grow with their length, not with its square."""

import importlib
import pkgutil
import re
import re._constants as constants  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

import mnemic
from mnemic.documents.reading.chunks import chunks_of
from mnemic.documents.reading.source import read_source
from mnemic.documents.reading.text import DocumentText
from mnemic.models import wordpiece
from mnemic.recall.bridging import looks_like_join
from mnemic.recall.query_analysis import analyse_query
from mnemic.retain.split import split
from mnemic.text_analysis.detect import detect_names, detect_times
from mnemic.text_analysis.name_matching import NameMatcher, split_words
from mnemic.text_analysis.personal_facts import facets_of
from mnemic.text_analysis.relations import RELATION_WORDS, names_beside
from mnemic.types.checks import check_text

SHORT, LONG = 750, 6_000
# A square would be 64. What takes less CPU time than this in all is not measured: it would be noise.
GROWTH_MAX = 24
NOTICED_S = 0.01
MEASURED_AGAIN = 5
# The first look is at a quarter of the long text: a square takes a sixteenth of the time there.
FIRST_LOOK = LONG // 4
FIRST_NOTICED_S = NOTICED_S / 16
UNITS_MAX = 100

MATCHED_ONLY = {
    "mnemic.adapters.importing.langgraph.FILES": "names of files, by fullmatch",
    "mnemic.adapters.importing.mem0.FILES": "names of files, by fullmatch",
    "mnemic.backup.archive._ENTRY": "lines of a listing, by match",
    "mnemic.backup.copy_script._SKIPPED": "lines of a script, by fullmatch",
    "mnemic.context.levels.definition_rules._KEYWORD": "the start of a line, by match",
    "mnemic.context.levels.definition_rules._MODIFIED": "the start of a line, by match",
    "mnemic.context.levels.definition_rules._SHELL": "the start of a line, by match",
    "mnemic.context.levels.definition_rules._TYPED": "the start of a line, by match",
    "mnemic.context.levels.search._HIT": "the start of a line, by match",
    "mnemic.documents.reading.chunks._PAGE_LINKS": "lines of a piece, by fullmatch",
    "mnemic.documents.reading.html_tokens._EQUALS": "at one position, by match",
    "mnemic.recall.overview_question._OPENING": "the start of a query, by match",
    "mnemic.recall.query_filler._FORM_OF_ANSWER": "sentences of a query, by fullmatch",
    "mnemic.text_analysis.assertions._QUESTION_START": "the start of a sentence, by match",
    "mnemic.text_analysis.personal_facts._PERSON_FIRST": "the start of a text, by match",
    "mnemic.text_analysis.self_statements._NAMED": "the start of a clause, by match",
    "mnemic.text_analysis.self_statements._OPENER": "the start of a sentence, by match",
}
"""Patterns that are never searched for, only matched at one position."""


def all_patterns() -> dict[str, re.Pattern[str]]:
    """Every compiled pattern in a module of Mnemic, also in tables, by its module and variable."""
    for package in pkgutil.walk_packages(mnemic.__path__, "mnemic."):
        if not package.name.endswith("__main__"):
            importlib.import_module(package.name)
    modules = [(name, module) for name, module in sorted(sys.modules.items()) if name.startswith("mnemic.")]
    found: dict[tuple[str, int], tuple[str, re.Pattern[str]]] = {}
    for module_name, module in modules:
        for variable, value in vars(module).items():
            for pattern in patterns_in(value):
                found.setdefault((pattern.pattern, pattern.flags), (f"{module_name}.{variable}", pattern))
    return {f"{name} {key[0][:40]}": pattern for key, (name, pattern) in found.items()}


def patterns_in(value: object, depth: int = 3) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value
    elif depth and isinstance(value, list | tuple | set | frozenset | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from patterns_in(item, depth - 1)


def characters_of(parsed: Any) -> Iterator[str]:
    """One character for each part of a pattern, in its order."""
    for operation, argument in parsed:
        if operation is constants.LITERAL:
            yield chr(argument)
        elif operation is constants.IN:
            yield from characters_of(argument)
        elif operation is constants.RANGE:
            yield chr(argument[0])
        elif operation is constants.CATEGORY:
            yield {"CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " "}.get(str(argument), "a")
        elif operation is constants.BRANCH:
            for branch in argument[1]:
                yield from characters_of(branch)
        elif operation in (constants.MAX_REPEAT, constants.MIN_REPEAT, constants.SUBPATTERN):
            yield from characters_of(argument[-1])
        elif operation in (constants.ASSERT, constants.ASSERT_NOT):
            yield from characters_of(argument[1])
        elif operation is constants.ATOMIC_GROUP:
            yield from characters_of(argument)


def units_for(pattern: re.Pattern[str]) -> list[str]:
    """Texts to repeat: characters of the pattern, pairs of them, and its words."""
    characters = list(dict.fromkeys(characters_of(parser.parse(pattern.pattern))))
    few = dict.fromkeys([*characters[:8], *characters[-4:]])
    pairs = [first + second for first in few for second in few]
    words = re.findall(r"[A-Za-z/:]{3,}", pattern.pattern)[:20]
    units = dict.fromkeys([*characters[:40], " ", "\n", "a", *words, *(f"{word} " for word in words), *pairs])
    return list(units)[:UNITS_MAX]


def seconds(work: Callable[[str], object], text: str) -> float:
    began_s = time.thread_time()
    work(text)
    return time.thread_time() - began_s


def check_growth(work: Callable[[str], object], unit: str) -> None:
    """Compare a text with one of eight times its length; nothing to compare if both take next to nothing."""
    short, first, long = (unit * (length // len(unit) + 1) + "x" for length in (SHORT, FIRST_LOOK, LONG))
    if seconds(work, first) < FIRST_NOTICED_S:
        return
    long_s = seconds(work, long)
    if long_s > NOTICED_S:
        # The least of several: the first run may load something, and the machine may be busy.
        short_s = min(seconds(work, short) for _ in range(3))
        most_s = GROWTH_MAX * max(short_s, NOTICED_S / 64)
        for _ in range(MEASURED_AGAIN):
            if long_s < most_s:
                break
            long_s = min(long_s, seconds(work, long))
        assert long_s < most_s, f"{unit!a}: {short_s:.4f} s, {long_s:.4f} s"


def test_every_pattern_takes_linear_time(subtests: pytest.Subtests) -> None:
    patterns = all_patterns()
    assert len(patterns) > 80
    for name, pattern in patterns.items():
        only_matched = name.partition(" ")[0] in MATCHED_ONLY
        with subtests.test(name):
            for unit in units_for(pattern):
                check_growth(pattern.fullmatch if only_matched else partial(find_all, pattern), unit)


def find_all(pattern: re.Pattern[str], text: str) -> None:
    for _ in pattern.finditer(text):
        pass


NAMES = [f"a {'b ' * count}c{count}" for count in range(60)] + ["Bob"] * 5_000
MATCHER = NameMatcher((name, number) for number, name in enumerate(NAMES))
MOMENT = datetime(2026, 3, 1, tzinfo=UTC)

RULES: dict[str, Callable[[str], object]] = {
    "names": detect_names,
    "times": lambda text: detect_times(text, moment=MOMENT),
    "words": split_words,
    "known names": lambda text: MATCHER.find(split_words(text)),
    "splitting": lambda text: list(split(text * 8)),
    "query": lambda text: analyse_query(text, MOMENT),
    "join": looks_like_join,
    "facets": facets_of,
    "relations": lambda text: list(names_beside(text, RELATION_WORDS)),
    "tokens": lambda text: wordpiece.encode(text, 256),
    "check of a text": lambda text: check_text("content", text),
    "Markdown": lambda text: read_source(f"a{text}", "text/markdown"),
    "HTML": lambda text: read_source(f"a{text}", "text/html"),
    # Long enough for several chunks, the short one, too.
    "chunks": lambda text: list(chunks_of(DocumentText(text * 8))),
}
UNITS = [
    *(
        "a ",
        "Bob ",
        "a b b b ",
        "A",
        "Ab ",
        "@a",
        "a@a.",
        "http://",
        "www.a.",
        '"a',
        "“A",
        "'s ",
        "1 ",
        "1-",
        "19",
    ),
    *(
        "May 5 ",
        "last ",
        "in the ",
        "monday, ",
        "2024-01-01T",
        "\n",
        " \n",
        ". ",
        '."',
        "#",
        "# a\n",
        "- a\n",
        "> ",
    ),
    *(
        "a\n=\n",
        "```\n",
        "[a](#b)",
        "[",
        "<",
        "<a ",
        "<p>",
        "<!--",
        "&#",
        "&a",
        "\u0301\u0327",
        "é",
        "字",
        "\U0001f600",
    ),
    *(
        "| a ",
        "1. ",
        "* ",
        "\t",
        "  ",
        "&#x",
        "<a b='",
        "</",
        "a\u0301",
        "\u1100\u1161",
        "keep ",
        "you ",
        "our ",
    ),
]


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_takes_linear_time(rule: str, subtests: pytest.Subtests) -> None:
    for unit in UNITS:
        with subtests.test(unit=unit):
            check_growth(RULES[rule], unit)
