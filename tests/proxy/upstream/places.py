"""Where a conversation is in the script.

A proxy may insert turns that the scripted model did not make, such as recalled memories. They hold calls
whose ids the stand-in did not give out. They are no turns of the script, and a prompt that leads to nothing
else is no prompt of the user.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tests.proxy.upstream.script import Place


@dataclass(frozen=True, slots=True)
class Prompt:
    """A message of the user that holds no results of tools."""


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """A message of the assistant."""

    calls: tuple[str, ...]
    """Ids."""
    text: str


def text_key(text: str) -> str:
    """What is kept of a text that the stand-in said; clients may trim it."""
    return f"text:{text.strip()}"


def history_ids(history: Sequence[Prompt | ModelTurn]) -> frozenset[str]:
    """Ids of calls, and keys of texts."""
    turns = [one for one in history if isinstance(one, ModelTurn)]
    calls = {call for turn in turns for call in turn.calls}
    return frozenset(calls | {text_key(turn.text) for turn in turns if turn.text.strip()})


def place_of(history: Sequence[Prompt | ModelTurn], issued: Collection[str]) -> Place:
    """The number of the last prompt, and of the model's turns since; prompts in a row count once."""
    segments: list[list[ModelTurn]] = []
    last: Prompt | ModelTurn | None = None
    for one in history:
        if isinstance(one, ModelTurn):
            segments = segments or [[]]
            segments[-1].append(one)
        elif not isinstance(last, Prompt):
            segments.append([])
        last = one
    own = [segment for segment in segments[:-1] if not _is_inserted(segment, issued)]
    turns = [turn for turn in (segments[-1] if segments else ()) if not _is_foreign(turn, issued)]
    return Place(len(own), len(turns))


def _is_inserted(segment: Sequence[ModelTurn], issued: Collection[str]) -> bool:
    has_foreign = any(_is_foreign(turn, issued) for turn in segment)
    return has_foreign and not any(_is_issued(turn, issued) for turn in segment)


def _is_foreign(turn: ModelTurn, issued: Collection[str]) -> bool:
    return any(call not in issued for call in turn.calls)


def _is_issued(turn: ModelTurn, issued: Collection[str]) -> bool:
    has_said = bool(turn.text.strip()) and text_key(turn.text) in issued
    return has_said or any(call in issued for call in turn.calls)
