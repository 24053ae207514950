"""The body of a Responses request for the provider."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from mnemic.proxy.protocol import Body, Changes
from mnemic.proxy.responses.items import (
    follow,
    is_made_by_model,
    is_text_only,
    items_of,
    opening_items,
    tool_definition,
    type_of,
    with_text,
)
from mnemic.proxy.responses.turns import KnownTurns
from mnemic.proxy.turn_keys import Answered


def rewrite_body(body: Body, changes: Changes) -> Body:
    """A new body: hidden turns inserted, results shortened, hidden tools offered."""
    turns = KnownTurns(changes.exchanges)
    previous_id = str(body.get("previous_response_id") or "")
    items = list(_items(items_of(body), changes, turns, opens=not previous_id))
    rewritten = dict(body)
    exchange = turns.continuing(previous_id) if previous_id else None
    if exchange is not None:
        rewritten["previous_response_id"] = exchange.response_ids[previous_id]
        items = [*exchange.results, *items]
    if items != items_of(body):
        rewritten["input"] = items
    if changes.tools and body.get("tools"):
        rewritten["tools"] = [*body["tools"], *map(tool_definition, changes.tools)]
    return rewritten


def _items(items: Iterable[Body], changes: Changes, turns: KnownTurns, *, opens: bool) -> Iterator[Body]:
    """The items for the provider. With `previous_response_id`, it has the opening already."""
    opening = changes.opening if opens else None
    answered = Answered()
    for is_turn, run in groupby(items, is_made_by_model):
        if is_turn:
            # Without exchanges no turn has to be recognised.
            turn = list(run)
            yield from turns.replaced(turn, answered.key) if changes.exchanges else turn
            continue
        for item in run:
            if changes.exchanges:
                follow(answered, item)
            yield _shortened(item, changes)
            if item.get("role") == "user" and opening is not None:
                yield from opening_items(opening)
                opening = None


def _shortened(item: Body, changes: Changes) -> Body:
    """An item with the text that the pager decided."""
    if type_of(item) != "function_call_output" or not is_text_only(item.get("output")):
        return item
    text = changes.replaced.get(item["call_id"])
    return item if text is None else {**item, "output": with_text(item["output"], text)}
