"""Keys of the assistant's turns, the same in the client's transcript and in the provider's.

A turn that calls tools is named by the ids of the calls. Another turn is named by its text and its place: the
last call before it, and how many times the user spoke since. Text alone is no name, because "Done." repeats.
"""

from collections.abc import Sequence
from copy import copy
from typing import Self

from mnemic.proxy.anthropic.blocks import Block, Run, runs_of, texts_of
from mnemic.proxy.anthropic.opening import OPENING_MESSAGES, has_opening
from mnemic.proxy.beginning import ShownTurn
from mnemic.proxy.protocol import Body
from mnemic.proxy.turn_keys import turn_key


class TurnPlaces:
    """Walks over a transcript and names its turns. Calls of hidden tools do not count."""

    def __init__(self, hidden: frozenset[str] = frozenset()) -> None:
        self._hidden = hidden
        self._hidden_ids: set[str] = set()
        self._last_call = ""
        self._prompts = 0

    def copy(self) -> Self:
        """Another walk from the same place."""
        copied = copy(self)
        copied._hidden_ids = set(self._hidden_ids)
        return copied

    def pass_by(self, run: Run) -> None:
        """Go on past messages."""
        if run.role == "user":
            if self._is_prompt(run):
                self._prompts += 1
        elif run.calls:
            for call in run.calls:
                if call.get("name") in self._hidden:
                    self._hidden_ids.add(call["id"])
                else:
                    self._last_call, self._prompts = call["id"], 0

    def key_of(self, run: Run) -> str:
        """The key of a turn at this place; empty if the turn has neither calls nor text."""
        ids = [call["id"] for call in run.calls if call.get("name") not in self._hidden]
        if ids:
            return turn_key(ids, text="", answers="")
        # Clients join the texts of a turn in different ways: without whitespace all are the same.
        text = "".join("".join(texts_of(run.blocks)).split())
        return turn_key((), text=text, answers=f"{self._last_call}/{self._prompts}") if text else ""

    def _is_prompt(self, run: Run) -> bool:
        """Whether the user speaks: no result of the client's tools, and something besides results."""
        return len(run.results) < len(run.blocks) and self._hidden_ids.issuperset(run.results)


def turn_of(blocks: Sequence[Block]) -> Run:
    """A turn of the assistant with these blocks."""
    return Run("assistant", [{"role": "assistant", "content": list(blocks)}])


def shown_turn(run: Run) -> ShownTurn:
    """What identifies a turn of the assistant at the beginning of a conversation."""
    return ShownTurn("".join(texts_of(run.blocks)), run.call_ids)


def place_after(body: Body, hidden: frozenset[str]) -> TurnPlaces:
    """The place of the turn that answers a rewritten body."""
    messages = body["messages"]
    places = TurnPlaces(hidden)
    for run in runs_of(messages[OPENING_MESSAGES:] if has_opening(messages) else messages):
        places.pass_by(run)
    return places
