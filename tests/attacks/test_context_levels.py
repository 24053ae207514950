"""Texts that are made to cost time or memory when they are shortened or searched.

Each takes milliseconds. The limit is far above that, and far below the cost of work that grows with the
square of the size.
"""

import json
import time
from collections.abc import Iterator

import pytest

from mnemic.context.levels.kinds import kind_of, source_key
from mnemic.context.levels.level import ObjectType, Source
from mnemic.context.levels.names import key_names
from mnemic.context.levels.passages import find_passage
from mnemic.context.levels.shortening import make_level

SECONDS_MAX = 20.0
"""CPU time for all levels of one text."""
TYPES: tuple[ObjectType, ...] = ("file", "command", "search", "diff", "data", "prose")
MEGABYTE = 1_000_000
SIZE, LINES = 200_000, 20_000


def large_texts() -> Iterator[tuple[str, str, str]]:
    """As large as an object can be in practice."""
    yield "a line of 1 MB", "a.js", "ab-cd/" * (MEGABYTE // 6)
    yield "100,000 equal lines", "a.log", "error: the same line again\n" * 100_000
    yield (
        "100,000 different lines",
        "a.log",
        "\n".join(f"line {n} of src/file_{n}.py" for n in range(100_000)),
    )


def hostile_texts() -> Iterator[tuple[str, str, str]]:
    """What is hostile about a text, a key, and the text."""
    yield "a line of 200 kB of letters", "a.js", "x" * SIZE
    yield "a line of 200 kB of short words", "a.js", "ab-cd " * (SIZE // 6)
    yield "a line of 200 kB of dots and dashes", "a.py", "a.-" * (SIZE // 3)
    yield "a line of 200 kB of slashes", "a.txt", "/" * SIZE
    yield "a line of 200 kB of colons and digits", "a.txt", "a:1" * (SIZE // 3)
    yield "a line of 200 kB of quotes", "a.ts", "\"'`" * (SIZE // 3)
    yield "20,000 equal lines", "a.log", "error: the same line again\n" * LINES
    yield "20,000 different lines", "a.log", "\n".join(f"line {n} of src/file_{n}.py" for n in range(LINES))
    yield "20,000 hits", "a.log", "\n".join(f"src/file_{n % 977}.py:{n}: hit" for n in range(LINES))
    yield "20,000 paths of one name", "a.log", "\n".join(f"{n}/main.py" for n in range(LINES))
    yield "200 kB of line breaks", "a.md", "\n" * SIZE
    yield "20,000 definitions", "a.py", "\n".join(f"def name_{n}(): pass" for n in range(LINES))
    yield "20,000 headings", "a.md", "\n".join(f"# Heading {n}" for n in range(LINES))
    yield "20,000 hunks", "a.diff", "@@ -1 +1 @@ x\n+a\n" * LINES
    yield "JSON nested 20,000 deep", "a.json", "[" * LINES + "]" * LINES
    yield "JSON objects nested 20,000 deep", "a.json", '{"a":' * LINES + "1" + "}" * LINES
    yield "JSON with 20,000 keys", "a.json", json.dumps({f"key_{n}": n for n in range(LINES)})
    yield "an endless number", "a.json", "[" + "9" * SIZE + "]"
    yield "a line number of 200 kB", "a.py", "1" * SIZE + "→"
    yield "sentences without an end", "a.md", "a. " * (SIZE // 3)


def hostile_code() -> Iterator[tuple[str, str, str]]:
    """Code within the size that is parsed."""
    size = 200_000
    yield "open brackets", "a.go", "(" * size
    yield "open templates", "a.cpp", "a<" * (size // 2)
    yield "open comparisons", "a.ts", "a<b>(" * (size // 5)
    yield "open functions", "a.go", "func f() {\n" * (size // 11)
    yield "nested classes", "a.py", "\n".join(" " * n + "class C:" for n in range(600))
    yield "many casts", "a.c", "(a)" * (size // 3)
    yield "many casts in many statements", "a.c", ("(a)" * 1_900 + ";") * (size // 5_701)
    yield "many templates in many statements", "a.cpp", ("a<b," * 1_400 + ";") * (size // 5_601)
    yield "many casts in many lines", "a.c", "(a)\n\n" * (size // 5)
    yield "generics over many lines", "a.java", "\n".join(f"Type{n}<" for n in range(size // 10))
    yield "generics in many statements", "a.java", (("T<" * 90) + ";") * (size // 181)
    yield "many stars", "a.c", "a * b;" * (size // 6)
    yield "nested strings of a shell", "a.sh", '"$(' * (size // 3)
    yield "here documents", "a.rb", "<<A\n" * (size // 4)
    yield "open templates of strings", "a.js", "`${" * (size // 3)
    yield "unfinished attributes", "a.rs", "#[a(" * (size // 4)
    yield "nested generics", "a.java", "List<" * (size // 5)
    yield "chained conditions", "a.cs", "a ? b : " * (size // 8)
    yield "tags inside tags", "a.php", "<?php ?>" * (size // 8)
    yield "binary text", "a.py", "\x00\ud800ÿ" * (size // 3)


def test_the_cost_of_shortening_grows_with_the_size_only(subtests: pytest.Subtests) -> None:
    for what, key, text in hostile_texts():
        with subtests.test(what):
            start = time.thread_time()
            for kind in TYPES:
                assert len(make_level(Source(text, kind, "Read", key), 1).text) <= len(text)
            assert time.thread_time() - start < SECONDS_MAX


def test_large_texts_are_shortened_within_limits(subtests: pytest.Subtests) -> None:
    for what, key, text in large_texts():
        with subtests.test(what):
            start = time.thread_time()
            for kind in TYPES[:2]:
                assert len(make_level(Source(text, kind, "Read", key), 2).text) <= len(text) // 4
            assert time.thread_time() - start < SECONDS_MAX


def test_hostile_code_is_not_parsed_for_long(subtests: pytest.Subtests) -> None:
    for what, key, text in hostile_code():
        with subtests.test(what):
            start = time.thread_time()
            assert len(make_level(Source(text, "file", "Read", key), 1).text) <= len(text)
            assert find_passage(text, "where is f defined", path=key).tokens <= 400
            assert time.thread_time() - start < SECONDS_MAX


def test_a_question_to_a_hostile_text_is_answered_within_its_budget(subtests: pytest.Subtests) -> None:
    hostile_questions = ("error a name_7 src/file_12.py:900", "'" * 5_000 + "x " * 5_000, "lines 1-999999999")
    for what, key, text in hostile_texts():
        with subtests.test(what):
            start = time.thread_time()
            for question in hostile_questions:
                assert find_passage(text, question, path=key).tokens <= 400
            assert len(key_names(text)) <= 200
            assert time.thread_time() - start < SECONDS_MAX


def test_hostile_arguments_give_a_short_key(subtests: pytest.Subtests) -> None:
    hostile = (
        {"command": "x" * MEGABYTE},
        {"command": ["bash", "-lc", "cat " * 100_000]},
        {"file_path": "\n\x00\ud800" * 1_000, "offset": 10**400, "limit": -1},
        {"pattern": "(a+)+$" * 10_000, "path": "/" * MEGABYTE},
        {"view_range": [{}, []], "path": "a.py"},
    )
    for arguments in hostile:
        with subtests.test(str(arguments)[:60]):
            key = source_key("Bash", arguments)
            assert len(key) <= 200
            kind = kind_of("Bash", arguments, "text")
            made = make_level(Source("a line of text\n" * 500, kind, "Bash", key), 3)
            assert len(made.text) < 400
