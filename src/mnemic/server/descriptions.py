"""The description of a call in the OpenAPI document: docstring, parameters and an example of each."""

import inspect
from typing import Any

from starlette.responses import Response

from mnemic.sdk.http.connection import CHANNEL_HEADER, OWNER_HEADER, PROCESS_HEADER
from mnemic.sdk.http.wire import JSON_MEDIA_TYPE, LINES_MEDIA_TYPE, Call, Parameter

SCOPE_HEADERS = {
    OWNER_HEADER: "The owner, if the request has no parameter `owner`. Percent-encoded.",
    CHANNEL_HEADER: "The channel, if the request has no parameter `channel`. Percent-encoded.",
    PROCESS_HEADER: "The part of your system that makes the request. Percent-encoded.",
}

_ID = "019a8f2e-6c00-7abc-8def-0123456789ab"
EXAMPLES: dict[str, Any] = {
    "action": "erase",
    "actor": "spam@example.com",
    "amount": "12.50",
    "attribute": "timezone",
    "automatic": True,
    "blocker_id": _ID,
    "category": "person",
    "changeset_id": _ID,
    "channel": "what-if",
    "content": "Alice moved to Berlin in March.",
    "consumer": "mailer",
    "conversation": "c-42",
    "currency": "EUR",
    "decision": "distinct",
    "document": {"theme": "dark"},
    "entity": _ID,
    "expected": 6,
    "input_usd": "0.25",
    "from_entity": ["person", "Alice"],
    "from_id": _ID,
    "goal_id": _ID,
    "grant_id": _ID,
    "group": "support",
    "items": '{"content": "Alice moved to Berlin in March.", "tags": ["home"]}\n"Bob likes tea."\n',
    "job_id": _ID,
    "job_type": "mail.digest",
    "key": "settings",
    "key_id": _ID,
    "like_id": _ID,
    "member": "bob",
    "memory_id": _ID,
    "message": "The mail server did not answer.",
    "model": "openai:gpt-5-mini",
    "moment": "2026-03-01T10:00:00Z",
    "name": "Alice",
    "object": "Berlin",
    "owner": "alice",
    "output_usd": "2.00",
    "payloads": [{"to": "alice"}],
    "policy": "accept_all",
    "position": "beginning",
    "predicate": "lives in",
    "query": "Where does Alice live?",
    "question": "Which port does the server use?",
    "reader": _ID,
    "receipt_id": _ID,
    "reason": "It was wrong.",
    "role": "read",
    "session": "monday",
    "source": "advisory_fee",
    "start": _ID,
    "strategy_id": _ID,
    "subject": "Alice",
    "succeeded": True,
    "tags": ["home"],
    "task": "book a flight",
    "to": "bob",
    "to_entity": ["place", "Berlin"],
    "to_id": _ID,
    "tool": "search",
    "triple": _ID,
    "type": "mail.digest",
    "usd": "5.00",
    "value": 3.5,
    "url": "https://example.com/hook",
    "version": 1,
    "webhook_id": _ID,
}
"""An example for each required parameter of a call, by its name."""

EXAMPLES_OF: dict[str, dict[str, Any]] = {
    "statements.set_attribute": {"attribute": "team", "is_single_valued": True},
    "statements.set_policy": {"policy": "flag_review"},
    "retain": {"tags": ["home"]},
    "cleanup.archive": {"kind": "never_recalled", "dry_run": True},
    "cleanup.list": {"kind": "never_recalled"},
    "curation.pairs": {"kind": "near_duplicate"},
    "curation.reopen": {"kind": "near_duplicate", "other_id": _ID},
    "curation.resolve": {"kind": "near_duplicate", "other_id": _ID, "decision": "keep_new"},
    "curation.set_policy": {"kind": "archive"},
    "entities.relate": {"kind": "lives in"},
    "entities.unrelate": {"kind": "lives in"},
    "errors.record": {"kind": "timeout"},
    "memories.decide_outdated": {"newer_id": _ID, "decision": "current"},
    "memories.relate": {"kind": "supports"},
    "context.admit": {"content": "port = 8080", "tool": "read", "key": "server.toml"},
    "context.get": {"key": "server.toml"},
    "context.pin": {"key": "server.toml"},
    "context.query": {"object": "server.toml"},
    "context.relate": {"key": "server.toml", "other": "client.toml"},
    "context.restore": {"key": "server.toml"},
    "context.unpin": {"key": "server.toml"},
    "documents.ingest": {"name": "guide.md", "content": "# Guide\n\nTea is green."},
    "conversations.set_outcome": {"outcome": "success"},
    "events.move_consumer": {"position": 7},
    "goals.create": {"content": "Learn to sail", "deadline": "2027-06-01T00:00:00Z"},
    "goals.update": {"status": "completed", "result": "Passed the exam."},
    "jobs.enqueue": {"payload": {"to": "alice"}},
    "metrics.record": {"kind": "recall", "name": "latency"},
    "strategies.learn": {"content": "Compare three airlines, then book.", "tools": ["search", "book"]},
    "working.add_thought": {"content": "Ask about the weather first."},
    "schedules.set": {"name": "digest", "cron": "30 3 * * mon-fri"},
}
"""Examples of one call: where a name has another meaning, or the example shows an optional parameter."""


def describe_call(call: Call) -> dict[str, Any]:
    """The arguments of FastAPI's `add_api_route` that describe a call."""
    group = call.route.call.rpartition(".")[0] or "memory"
    summary, _, description = (inspect.getdoc(call.function) or "").partition("\n\n")
    shown = example(call)
    outside = [_described(each, shown) for each in call.parameters if each.location != "body"]
    extra: dict[str, Any] = {"parameters": [*outside, *_scope_headers()]}
    if body := _request_body(call):
        extra["requestBody"] = body
    return {
        "tags": [group],
        "summary": " ".join(summary.split()).rstrip("."),
        "description": " ".join(description.split()) or None,
        "openapi_extra": extra,
        **_response(call),
    }


def _response(call: Call) -> dict[str, Any]:
    """What a call returns: nothing, a file of JSON lines, or JSON."""
    if call.returns_nothing:
        return {"status_code": 204}
    if call.route.returns_file:
        content = {LINES_MEDIA_TYPE: {"schema": {"type": "string"}}}
        return {"response_class": Response, "responses": {200: {"content": content, "description": "A file"}}}
    return {"response_model": call.returns}


def example(call: Call) -> dict[str, Any]:
    """Example arguments of a call: the required ones, and an owner."""
    special = EXAMPLES_OF.get(call.route.call, {})
    return {
        parameter.name: special.get(parameter.name, EXAMPLES.get(parameter.name))
        for parameter in call.parameters
        if parameter.is_required
        or parameter.is_variadic
        or parameter.name in special
        or parameter.name == "owner"
    }


def _described(parameter: Parameter, shown: dict[str, Any]) -> dict[str, Any]:
    described = {
        "name": parameter.name,
        "in": parameter.location,
        "required": parameter.location == "path" or parameter.is_required,
        "schema": _query_schema(parameter),
    }
    return described | ({"example": shown[parameter.name]} if parameter.name in shown else {})


def _query_schema(parameter: Parameter) -> dict[str, Any]:
    """The schema without null: in a query, a parameter without a value is left out."""
    schema = parameter.adapter.json_schema()
    kept = [each for each in schema.get("anyOf", []) if each != {"type": "null"}]
    if len(kept) == 1:
        schema = {**schema, **kept[0]}
        del schema["anyOf"]
    elif kept:
        # In a query, a pair of category and name is text, too.
        schema = {"type": "string"}
    default = parameter.default
    if default not in (None, inspect.Parameter.empty, ""):
        schema["default"] = list(default) if isinstance(default, tuple) else default
    return schema


def _request_body(call: Call) -> dict[str, Any] | None:
    if call.route.is_stream:
        content: dict[str, Any] = {"schema": {"type": "string"}, "example": EXAMPLES["items"]}
        return {"required": True, "content": {LINES_MEDIA_TYPE: content}}
    if call.body_model is None or not call.body_model.model_fields:
        return None
    inside = {parameter.name for parameter in call.parameters if parameter.location == "body"}
    content = {
        "schema": call.body_model.model_json_schema(),
        "example": {name: value for name, value in example(call).items() if name in inside},
    }
    is_required = any(parameter.is_required and parameter.location == "body" for parameter in call.parameters)
    return {"required": is_required, "content": {JSON_MEDIA_TYPE: content}}


def _scope_headers() -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "header", "required": False, "description": text, "schema": {"type": "string"}}
        for name, text in SCOPE_HEADERS.items()
    ]
