"""Thinking blocks that no longer fit.

The API checks of each thinking block that everything before it is what it was when the model wrote the block.
An epoch changes results in the middle of the conversation, so all thinking between the first of them and the
end is invalid from then on; thinking before it and later thinking stays valid. A `ThinkingCut` records that
range, and the blocks in it are removed from every later request, always the same ones: removing a block is
itself a change for those after it.

Thinking of the turn whose results are being sent cannot be removed while `thinking` has a fixed budget: such
a turn must begin with a thinking block. If an epoch begins there, the blocks stay for the rest of the epoch,
and the request asks the API to ignore what does not fit (`drop_block`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mnemic.proxy.anthropic.blocks import THINKING, Run, blocks_of
from mnemic.proxy.anthropic.reading import thinking_type
from mnemic.proxy.anthropic.turns import TurnPlaces
from mnemic.proxy.protocol import Body, ThinkingCut

BINDING_BETA = "thinking-binding-controls-2026-08-01"
BETA_HEADER = "anthropic-beta"


@dataclass(frozen=True, slots=True)
class UnfitThinking:
    """Which runs of a conversation hold thinking that does not fit, by their number."""

    removed: frozenset[int] = frozenset()
    kept: frozenset[int] = frozenset()


def unfit_thinking(body: Body, runs: Sequence[Run], cuts: Sequence[ThinkingCut]) -> UnfitThinking:
    """Where thinking is removed, and where it must stay although it does not fit."""
    if not cuts:
        return UnfitThinking()
    places = _Places(runs)
    removed: set[int] = set()
    kept: set[int] = set()
    for cut in cuts:
        unfit, start_kept = places.range_of(cut)
        removed.update(number for number in unfit if number < start_kept)
        kept.update(number for number in unfit if number >= start_kept)
    if thinking_type(body) == "disabled":
        # Nothing has to begin with thinking, and `drop_block` cannot be asked for.
        return UnfitThinking(frozenset(removed | kept))
    return UnfitThinking(frozenset(removed), frozenset(kept - removed))


def without_thinking(messages: Iterable[Body]) -> list[Body]:
    """Messages without their thinking blocks; a message of nothing else is left out."""
    return [bare for message in messages if (bare := _without_thinking(message)) is not None]


def dropping_unfit(thinking: object) -> object:
    """The `thinking` field of a request, asking the API to ignore blocks that do not fit."""
    if not isinstance(thinking, dict):
        return thinking
    binding = thinking.get("block_binding")
    kept = binding if isinstance(binding, dict) else {}
    return {**thinking, "block_binding": {**kept, "prefix_mismatch_behavior": "drop_block"}}


def binding_headers(body: Body, headers: Mapping[str, str]) -> Mapping[str, str]:
    """The beta header with the flag that `drop_block` needs."""
    thinking = body.get("thinking")
    if not isinstance(thinking, dict) or not thinking.get("block_binding"):
        return {}
    flags = next((value for name, value in headers.items() if name.lower() == BETA_HEADER), "")
    if BINDING_BETA in flags:
        return {}
    return {BETA_HEADER: f"{flags},{BINDING_BETA}" if flags else BINDING_BETA}


class _Places:
    """Numbers of the runs that cuts name."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._turns: dict[str, int] = {}
        self._results: dict[str, int] = {}
        self._count = len(runs)
        places = TurnPlaces()
        for number, run in enumerate(runs):
            if run.role == "assistant":
                self._turns[places.key_of(run)] = number
            elif run.role == "user":
                self._results.update(dict.fromkeys(run.results, number))
            places.pass_by(run)

    def range_of(self, cut: ThinkingCut) -> tuple[range, int]:
        """Runs whose thinking does not fit, and from which on it must stay.

        Nothing, if the changed entry is gone: the client rewrote the conversation itself. Everything after
        it, if the last turn is gone: the user went back to an earlier turn.
        """
        first = -1 if not cut.first else self._results.get(cut.first, self._count)
        last = self._turns.get(cut.last, self._count)
        kept_from = self._turns.get(cut.kept_from, self._count) if cut.kept_from else self._count
        return range(first + 1, last + 1), kept_from


def _without_thinking(message: Body) -> Body | None:
    blocks = blocks_of(message)
    bare = [block for block in blocks if block.get("type") not in THINKING]
    if len(bare) == len(blocks):
        return message
    return {**message, "content": bare} if bare else None
