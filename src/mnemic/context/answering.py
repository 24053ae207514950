"""Faults of `memory.context(session)`: answer a question from full texts, or bring an object back.

A micro-fault finds the lines that a question is about; the object keeps its level. Without a key, the object
is chosen that knows most of the question's words: by its source, its names, its line.
"""

import asyncio
import re

from mnemic.context.changing import Changed, change_window, faulted, find_key, object_in
from mnemic.context.description import describe_missing
from mnemic.context.levels.passages import TOKENS_MAX, Passage, find_passage
from mnemic.context.step import SavedWindow
from mnemic.context.store import load_contents, place_of
from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import NotFoundError
from mnemic.types.checks import check_text, check_whole
from mnemic.types.context import ContextAnswer, RestoredContext
from mnemic.types.page import LIST_MAX
from mnemic.types.scope import Scope

QUESTION_MAX_CHARACTERS = 4_096
TOKENS_MIN, TOKENS_LIMIT = 50, 20_000
ASKED_MAX = 5
"""Objects that a question without a key is tried on."""

_WORD = re.compile(r"\w{3,}")


async def query(
    database: TenantDatabase,
    scope: Scope,
    session: str,
    question: str,
    *,
    key: str | None,
    max_tokens: int = TOKENS_MAX,
) -> ContextAnswer:
    """Answer a question from the full text of an object, and record the micro-fault."""
    asked = check_text("question", question, max_characters=QUESTION_MAX_CHARACTERS)
    tokens_max = check_whole("max_tokens", max_tokens, TOKENS_MIN, TOKENS_LIMIT)
    answers: list[ContextAnswer] = []
    if key is None:
        await describe_missing(database, scope, session)

    async def change(transaction: Transaction, window: SavedWindow) -> Changed:
        found, passage = await _ask(transaction, scope, session, window, asked, key, tokens_max)
        item = object_in(window, found)
        level = item.level if item is not None else 4
        answers[:] = [ContextAnswer(found, passage.text, passage.tokens, level, passage.is_found)]
        return faulted(window, found, "micro", question=asked, tokens=passage.tokens)

    await change_window(database, scope, session, change)
    return answers[0]


async def restore(database: TenantDatabase, scope: Scope, session: str, key: str) -> RestoredContext:
    """Bring an object back, with what it depends on within two hops; repeated faults pin it."""
    restored: list[RestoredContext] = []

    async def change(transaction: Transaction, window: SavedWindow) -> Changed:
        found = await find_key(transaction, scope, session, key)
        changed = faulted(window, found, "restore")
        contents = await load_contents(transaction, scope, session, changed.restored)
        item = object_in(changed.window, found)
        restored[:] = [
            RestoredContext(
                key=found,
                texts={each: contents[each] for each in changed.restored},
                tokens=changed.faults[0].tokens,
                is_pinned=item is not None and item.is_pinned,
            )
        ]
        return changed

    await change_window(database, scope, session, change)
    return restored[0]


async def _ask(
    transaction: Transaction,
    scope: Scope,
    session: str,
    window: SavedWindow,
    question: str,
    key: str | None,
    tokens_max: int,
) -> tuple[str, Passage]:
    if key is not None:
        keys = [await find_key(transaction, scope, session, key)]
    else:
        keys = await _likely_keys(transaction, scope, session, question)
    contents = await load_contents(transaction, scope, session, keys)
    sources = {item.key: item.source_key for item in window.objects}
    passages = []
    for each in keys:
        passage = await asyncio.to_thread(
            find_passage, contents[each], question, tokens_max, path=sources.get(each, "")
        )
        if passage.is_found:
            return each, passage
        passages.append((each, passage))
    return passages[0]


async def _likely_keys(transaction: Transaction, scope: Scope, session: str, question: str) -> list[str]:
    """Keys of the objects that know most of the question's words, the newest first among equals."""
    parameters = {**place_of(scope, session), "key": None, "after": None, "limit": LIST_MAX}
    rows = await transaction.rows("context_sessions.objects", parameters)
    if not rows:
        raise NotFoundError(f"The session {session!a} has no objects yet: admit some first.")
    words = {word.lower() for word in _WORD.findall(question)}
    ranked = sorted(enumerate(rows), key=lambda pair: (-_overlap(pair[1], words), -pair[0]))
    return [row["key"] for _, row in ranked[:ASKED_MAX]]


def _overlap(row: Row, words: set[str]) -> int:
    known = " ".join([row["source_key"], row["line"], *row["names"]]).lower()
    return sum(word in known for word in words)
