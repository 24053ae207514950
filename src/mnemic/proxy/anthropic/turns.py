"""Keys of the assistant's turns, the same in the client's transcript and in the provider's.

A turn that calls tools is named by the ids of the calls. Another turn is named by its text and its place: the
last call before it, and how many times the user spoke since. Text alone is no name, because "Done." repeats.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mnemic.proxy.anthropic.blocks import Run, call_ids, result_ids, runs_of, texts_of
from mnemic.proxy.anthropic.opening import OPENING_MESSAGES, has_opening
from mnemic.proxy.protocol import Body
from mnemic.proxy.turn_keys import turn_key


class TurnPlaces:
    """Walks over a transcript and names its turns. Calls of hidden tools do not count."""

    def __init__(self, hidden: frozenset[str] = frozenset()) -> None:
        self._hidden = hidden
        self._hidden_ids: set[str] = set()
        self._last_call = ""
        self._prompts = 0

    def pass_by(self, run: Run) -> None:
        """Go on past messages."""
        blocks = list(run.blocks)
        if run.role == "user" and self._is_prompt(blocks):
            self._prompts += 1
        elif run.role == "assistant":
            ids = call_ids(blocks, self._hidden)
            self._hidden_ids.update(set(call_ids(blocks)).difference(ids))
            if ids:
                self._last_call, self._prompts = ids[-1], 0

    def key_of(self, blocks: Sequence[Mapping[str, Any]]) -> str:
        """The key of a turn at this place; empty if the turn has neither calls nor text."""
        ids = call_ids(blocks, self._hidden)
        # Clients join the texts of a turn in different ways: without whitespace all are the same.
        text = "".join("".join(texts_of(blocks)).split())
        if not ids and not text:
            return ""
        return turn_key(ids, text=text, answers=f"{self._last_call}/{self._prompts}")

    def _is_prompt(self, blocks: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the user speaks: no result of the client's tools, and something besides results."""
        ids = result_ids(blocks)
        return self._hidden_ids.issuperset(ids) and len(ids) < len(blocks)


def place_after(body: Body, hidden: frozenset[str]) -> TurnPlaces:
    """The place of the turn that answers a rewritten body."""
    messages = body["messages"]
    places = TurnPlaces(hidden)
    for run in runs_of(messages[OPENING_MESSAGES:] if has_opening(messages) else messages):
        places.pass_by(run)
    return places
