"""Makes the provider's body from the client's. Messages that do not change stay the same objects."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mnemic.proxy.anthropic.blocks import THINKING, Run, blocks_of, result_ids, runs_of
from mnemic.proxy.anthropic.opening import opening_messages
from mnemic.proxy.anthropic.reading import result_text
from mnemic.proxy.anthropic.thinking import dropping_unfit, unfit_thinking, without_thinking
from mnemic.proxy.anthropic.turns import TurnPlaces
from mnemic.proxy.opening_call import OPENING_TOOL
from mnemic.proxy.protocol import Body, Changes, Exchange, HiddenTool, ThinkingCut


def rewrite_body(body: Body, changes: Changes) -> Body:
    """The provider's body. Fields keep their order, and unknown ones pass."""
    messages, must_drop = body["messages"], False
    if changes.exchanges or changes.cuts or changes.drops_thinking:
        messages, must_drop = _changed_turns(body, changes)
    elif changes.replaced:
        messages = [_with_replaced(message, changes.replaced) for message in messages]
    rewritten = {**body, "messages": [*_opening(changes), *messages]}
    if changes.tools:
        rewritten["tools"] = [*body["tools"], *_definitions(body, changes.tools)]
    if must_drop:
        rewritten["thinking"] = dropping_unfit(body.get("thinking"))
    return rewritten


def _changed_turns(body: Body, changes: Changes) -> tuple[list[Body], bool]:
    """Messages of which turns may differ, and whether thinking stays that does not fit."""
    runs = list(runs_of(body["messages"]))
    cuts = changes.cuts or ((_closed_turns(runs),) if changes.drops_thinking else ())
    unfit = unfit_thinking(body, runs, cuts)
    return list(_Messages(changes, unfit.removed).rewritten(runs)), bool(unfit.kept)


class _Messages:
    """One pass over the client's messages."""

    def __init__(self, changes: Changes, removed: frozenset[int]) -> None:
        self._changes = changes
        self._removed = removed
        self._places = TurnPlaces()
        self._owed: Sequence[Body] = ()

    def rewritten(self, runs: Sequence[Run]) -> Iterator[Body]:
        for number, run in enumerate(runs):
            match run.role:
                case "assistant":
                    messages = self._turn(run)
                    yield from without_thinking(messages) if number in self._removed else messages
                case "user":
                    yield from self._user(run)
                case _:
                    yield from run.messages
            self._places.pass_by(run)

    def _turn(self, run: Run) -> Sequence[Body]:
        """A turn of the assistant as the provider has it."""
        exchanges = self._changes.exchanges
        exchange = exchanges.get(self._places.key_of(run)) if exchanges else None
        if exchange is None:
            return run.messages
        self._owed = exchange.results
        return _with_marker(exchange, run)

    def _user(self, run: Run) -> Iterator[Body]:
        """Messages of the user: results of hidden calls first, results of tools as the pager shows them."""
        owed, self._owed = self._owed, ()
        if not owed and self._changes.replaced.keys().isdisjoint(run.results):
            yield from run.messages
            return
        for message in run.messages:
            shown = _with_replaced(message, self._changes.replaced)
            if owed:
                shown, owed = {**shown, "content": [*owed, *blocks_of(shown)]}, ()
            yield shown


def _with_replaced(message: Body, replaced: Mapping[str, str]) -> Body:
    """A message with results as the pager shows them."""
    if message["role"] != "user":
        return message
    blocks = blocks_of(message)
    if not replaced or replaced.keys().isdisjoint(result_ids(blocks)):
        return message
    return {**message, "content": [_replaced_block(block, replaced) for block in blocks]}


def _replaced_block(block: Mapping[str, Any], replaced: Mapping[str, str]) -> Mapping[str, Any]:
    """A result with another text; everything else of it stays."""
    text = replaced.get(block.get("tool_use_id", "")) if block.get("type") == "tool_result" else None
    if not text or result_text(block) is None:
        return block
    if isinstance(block["content"], str):
        return {**block, "content": text}
    # The last block, because that is where clients put a cache marker.
    return {**block, "content": [{**block["content"][-1], "text": text}]}


def _with_marker(exchange: Exchange, run: Run) -> Sequence[Body]:
    """The messages of an exchange, with the cache marker that the client put on its turn."""
    marker = next((block["cache_control"] for block in run.blocks if block.get("cache_control")), None)
    if marker is None:
        return exchange.items
    *before, last = exchange.items
    *blocks, end = last["content"]
    if end.get("type") in THINKING:
        return exchange.items
    return [*before, {**last, "content": [*blocks, {**end, "cache_control": marker}]}]


def _opening(changes: Changes) -> Sequence[Body]:
    """The opening; none if `recall` is a tool of the client."""
    is_offered = any(tool.name == OPENING_TOOL for tool in changes.tools)
    return opening_messages(changes.opening) if changes.opening and is_offered else ()


def _definitions(body: Body, tools: Sequence[HiddenTool]) -> Iterator[Body]:
    """The hidden tools, without those whose name the client uses."""
    names = {tool.get("name") for tool in body["tools"]}
    for tool in tools:
        if tool.name not in names:
            yield {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _closed_turns(runs: Sequence[Run]) -> ThinkingCut:
    """A cut of all turns but the one that has not ended, for callers that store no cuts."""
    places, last, kept_from = TurnPlaces(), "", ""
    for run in runs:
        if run.role == "assistant":
            last = places.key_of(run)
            kept_from = kept_from or last
        elif run.role == "user" and not run.results:
            kept_from = ""
        places.pass_by(run)
    return ThinkingCut("", last, kept_from)
