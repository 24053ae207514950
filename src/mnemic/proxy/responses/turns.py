"""Which items of a request are a turn that an exchange replaces.

A turn is a run of items that the model made. Clients keep different parts of it: some drop ids, some drop
reasoning, some send only references. So a turn is recognised by any item that identifies it (a call,
encrypted reasoning, an id), else by its text and what it answers. The exchange replaces the items that it
holds; other items of the run stay.
"""

from collections.abc import Iterable, Iterator, Mapping

from mnemic.proxy.protocol import CAPPED, Body, Exchange
from mnemic.proxy.responses.items import assistant_text, is_made_by_model, text_of, type_of
from mnemic.proxy.turn_keys import text_hash, turn_key


class KnownTurns:
    """The exchanges of a session, found by the items that they hold. Each replaces one turn of a request."""

    def __init__(self, exchanges: Mapping[str, Exchange]) -> None:
        self._by_key = exchanges
        self._by_mark = {
            mark: one for one in exchanges.values() for item in one.items for mark in marks(item)
        }
        self._by_text = {
            text_hash(assistant_text(one.items)): one
            for one in exchanges.values()
            if one.response_ids and assistant_text(one.items)
        }
        self._by_response = {shown: one for one in exchanges.values() for shown in one.response_ids}
        self._used: set[str] = set()

    def continuing(self, response_id: str) -> Exchange | None:
        """The exchange of a response that the client knows by this id."""
        return self._by_response.get(response_id)

    def replaced(self, run: list[Body], answers: str) -> Iterator[Body]:
        """A run of items as the provider has it."""
        whole = self._by_key.get(key_of_turn(run, answers))
        if whole is not None and whole.key not in self._used:
            yield from self._inserted(whole)
            return
        exchange = self._exchange_of(run)
        if exchange is None:
            yield from run
            return
        held = _HeldBy(exchange)
        for item in run:
            if not held.holds(item):
                yield item
            elif exchange.key not in self._used:
                yield from self._inserted(exchange)

    def _inserted(self, exchange: Exchange) -> Iterator[Body]:
        self._used.add(exchange.key)
        yield from exchange.items
        # A call that was cut short is only at the provider, and its result with it.
        calls = {item.get("call_id") for item in exchange.items}
        yield from (result for result in exchange.results if result["call_id"] in calls)

    def _exchange_of(self, run: Iterable[Body]) -> Exchange | None:
        items = list(run)
        found = (self._by_mark.get(mark) for item in items for mark in marks(item))
        exchange = next((exchange for exchange in found if exchange is not None), None)
        # Stored turns have the key of their response, which a client that keeps only texts does not send.
        return exchange or self._by_text.get(text_hash(assistant_text(items)))


def key_of_turn(run: Iterable[Body], answers: str) -> str:
    """The key of a turn."""
    items = list(run)
    ids = [str(item["call_id"]) for item in items if item.get("call_id")]
    return turn_key(ids, text=assistant_text(items), answers=answers)


def marks(item: Body) -> Iterator[str]:
    """What identifies an item wherever a client keeps it."""
    if is_made_by_model(item):
        for name in ("call_id", "id", "encrypted_content"):
            if isinstance(item.get(name), str) and item[name]:
                yield f"{name}:{item[name]}"


class _HeldBy:
    """Whether an exchange holds an item of the client."""

    def __init__(self, exchange: Exchange) -> None:
        self._marks = {mark for item in exchange.items for mark in marks(item)}
        self._texts = {_text_hash(item) for item in exchange.items if _is_message(item)}
        # Only the client has the note.
        self._texts.add(text_hash(CAPPED))
        self._all_text = text_hash(assistant_text(exchange.items))

    def holds(self, item: Body) -> bool:
        if not self._marks.isdisjoint(marks(item)):
            return True
        return _is_message(item) and (_text_hash(item) in self._texts or _text_hash(item) == self._all_text)


def _is_message(item: Body) -> bool:
    return type_of(item) == "message"


def _text_hash(item: Body) -> str:
    return text_hash(text_of(item.get("content")))
