"""A message of the proxy itself in a stream, with all events that the provider would send."""

from collections.abc import Iterator

from mnemic.proxy.protocol import Body


def message_item(text: str, item_id: str) -> Body:
    """A message of the assistant."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": item_id, "role": "assistant", "status": "completed", "content": [part]}


def message_events(item: Body) -> Iterator[Body]:
    """The events of a message, without their numbers."""
    part = item["content"][0]
    place = {"item_id": item["id"], "content_index": 0}
    begun = {**item, "status": "in_progress", "content": []}
    yield {"type": "response.output_item.added", "item": begun}
    yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
    yield {"type": "response.output_text.delta", **place, "delta": part["text"], "logprobs": []}
    yield {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": part}
    yield {"type": "response.output_item.done", "item": item}
