"""Finds the object that a model means: by its key, by what its tool was asked for, or by a question."""

from collections.abc import Sequence
from dataclasses import dataclass

from mnemic.context.levels.level import FULL
from mnemic.context.levels.passages import Passage, find_passage
from mnemic.context.levels.question_terms import terms_of
from mnemic.context.step import SavedObject
from mnemic.context.window import Window

ASKED_MAX = 3
"""Objects in which a question without an object looks for lines."""


@dataclass(frozen=True, slots=True)
class Found:
    """Lines of an object."""

    key: str
    title: str
    passage: Passage


def find_object(window: Window, name: str) -> str | None:
    """The key of the object with this key or source; of several, the newest that is not superseded.

    Models shorten paths and commands, so the end or a part of a source is enough.
    """
    objects = window.saved().objects
    wanted = _plain(name)
    if any(each.key == name for each in objects):
        return name
    for matches in (str.__eq__, str.endswith, str.__contains__):
        found = [each for each in objects if each.source_key and matches(_plain(each.source_key), wanted)]
        if found:
            return _newest(found).key
    return None


def find_objects(window: Window, question: str) -> list[str]:
    """Keys of the objects that hold most of a question's terms, best first.

    Of objects that hold the same terms, shortened ones come first: the model sees the others.
    """
    terms = [(term.text.lower(), term.weight) for term in terms_of(question)]
    scored = []
    for position, each in enumerate(window.saved().objects):
        text = f"{each.source_key}\n{window.text_of(each.key)}".lower()
        score = sum(weight for term, weight in terms if term in text)
        scored.append((-score, each.level == FULL, -position, each.key))
    return [key for score, _, _, key in sorted(scored)[:ASKED_MAX] if score or not terms]


def passage_of(window: Window, keys: Sequence[str], question: str, tokens_max: int) -> Found:
    """The lines that answer a question, from the first object that has some."""
    sources = {each.key: each for each in window.saved().objects}
    passages = []
    for key in keys:
        source = sources[key].source_key if key in sources else ""
        found = Found(
            key,
            _title(sources.get(key)),
            find_passage(window.text_of(key), question, tokens_max, path=source),
        )
        if found.passage.is_found:
            return found
        passages.append(found)
    return passages[0]


def _newest(found: Sequence[SavedObject]) -> SavedObject:
    valid = [each for each in found if each.superseded_by is None]
    return (valid or found)[-1]


def _title(source: SavedObject | None) -> str:
    if source is None:
        return ""
    return f"[{source.tool} {_plain(source.source_key)[:200]}]"


def _plain(text: str) -> str:
    return " ".join(text.split())
