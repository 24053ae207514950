"""Micro-faults on recorded sessions: does the answer hold the line that a later response needed?

    python -m bench.context.passages FILE

A needed line has a name that a response uses at least `CALLS_LATER` requests after an object was read. It is
asked for by that name, by a short question with the name, and by the words that the name is made of. Times
are wall-clock times of one question.
"""

import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from bench.context.transcripts import Session, read_sessions
from mnemic.context.entry import Entry
from mnemic.context.levels.kinds import source_key
from mnemic.context.levels.names import count_names
from mnemic.context.levels.passages import TOKENS_MAX, find_passage

CALLS_LATER = 8
TEXT_CHARS_MIN = 400
"""Shorter results are not paged."""
OBJECTS_MAX = 6
"""A name in more objects is a common word of the project."""
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


def main() -> None:
    """Print the share of answers with the line, their tokens and times, for each way of asking."""
    found: dict[str, list[bool]] = defaultdict(list)
    times: list[float] = []
    tokens: list[int] = []
    for session in read_sessions(Path(sys.argv[1]), is_split=False):
        for entry, name in needed_names(session):
            for way, question in questions(name):
                start = time.perf_counter()
                passage = find_passage(entry.text, question, path=source_key(entry.tool, entry.arguments))
                times.append(time.perf_counter() - start)
                tokens.append(passage.tokens)
                found[way].append(passage.is_found and name in count_names(passage.text))
    for way, hits in found.items():
        print(f"{way:<16} {sum(hits) / len(hits):7.2%} of {len(hits)} lines")
    times.sort()
    print(f"tokens at most {max(tokens)} of {TOKENS_MAX}")
    print(f"p50 {times[len(times) // 2] * 1000:.1f} ms, p95 {times[int(len(times) * 0.95)] * 1000:.1f} ms")


def needed_names(session: Session) -> Iterator[tuple[Entry, str]]:
    """Names that a response uses for the first time, and the latest object that holds each."""
    objects: dict[str, list[tuple[int, Entry]]] = defaultdict(list)
    used: set[str] = set()
    for number, call in enumerate(session.calls):
        for entry in call.new:
            if entry.role == "result" and len(entry.text) >= TEXT_CHARS_MIN:
                for name in count_names(entry.text):
                    objects[name].append((number, entry))
        for name in count_names(call.response):
            if name in used or not 0 < len(objects.get(name, ())) <= OBJECTS_MAX:
                continue
            used.add(name)
            read_at, entry = objects[name][-1]
            if number - read_at >= CALLS_LATER:
                yield entry, name


def questions(name: str) -> Iterator[tuple[str, str]]:
    """Ways to ask for a name."""
    yield "name", name
    yield "short question", f"Where is {name} used and what does it do?"
    yield "words of it", f"how does the {' '.join(_WORDS.findall(name)).lower()} work?"


if __name__ == "__main__":
    main()
