"""The OpenAPI document as one HTML page: every route by tag, then every schema.

It is rendered on the server and loads nothing: no script, no font, no stylesheet from elsewhere, so it works
offline and under a Content-Security-Policy that forbids everything but its own style. Nothing is folded away,
so the browser's own search finds every field.
"""

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any
from urllib.parse import quote, urlencode

from mnemic.sdk.http.wire import JSON_MEDIA_TYPE
from mnemic.server.descriptions import SCOPE_HEADERS
from mnemic.server.openapi import IDEMPOTENCY_KEY, NULLABLE, ROLE

COMMON_HEADERS = frozenset({*SCOPE_HEADERS, IDEMPOTENCY_KEY["name"]})
SERVER = "$MNEMIC_SERVER"
"""Stands for the server's address in examples; the page cannot know by which name it was reached."""

_CODE = re.compile("`([^`]+)`")
Operation = tuple[str, str, Mapping[str, Any]]
"""Method, path and what the document says about them."""


def render_docs(document: Mapping[str, Any]) -> str:
    """The body of the page."""
    groups = _by_tag(document["paths"])
    parts = [
        f"<h1>{escape(document['info']['title'])} {escape(document['info']['version'])}</h1>",
        *(f"<p>{_prose(text)}</p>" for text in document["info"]["description"].strip().split("\n\n")),
        "<p>The same as a machine reads it: <a href='/openapi.json'>/openapi.json</a>.</p>",
        _common_headers(),
        _index(groups),
    ]
    for tag, operations in groups.items():
        parts.append(f"<section><h2 id='tag-{escape(tag)}'>{escape(tag)}</h2>")
        parts += [_operation(*operation) for operation in operations]
        parts.append("</section>")
    parts.append("<section><h2 id='schemas'>Schemas</h2>")
    parts += [_schema(name, schema) for name, schema in sorted(document["components"]["schemas"].items())]
    return "\n".join([*parts, "</section>"])


def _by_tag(paths: Mapping[str, Any]) -> dict[str, list[Operation]]:
    groups: dict[str, list[Operation]] = {}
    for path, operations in paths.items():
        for method, operation in operations.items():
            groups.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))
    return groups


def _common_headers() -> str:
    texts = {**SCOPE_HEADERS, f"{IDEMPOTENCY_KEY['name']} (writes)": str(IDEMPOTENCY_KEY["description"])}
    rows = [(f"<code>{escape(name)}</code>", _prose(text)) for name, text in texts.items()]
    return "<h2 id='headers'>Optional headers of every request</h2>" + _table(("header", "meaning"), rows)


def _index(groups: Mapping[str, Iterable[Operation]]) -> str:
    entries = [
        f"<h4><a href='#tag-{escape(tag)}'>{escape(tag)}</a></h4><ul>"
        + "".join(
            f"<li><a href='#{_anchor(operation)}'>{method} {escape(path)}</a></li>"
            for method, path, operation in operations
        )
        + "</ul>"
        for tag, operations in groups.items()
    ]
    return "<nav><h2 id='routes'>Routes</h2>" + "".join(entries) + "</nav>"


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    anchor, role = _anchor(operation), operation.get(ROLE)
    needs = f"Needs a key with the role <code>{escape(role)}</code>." if role else "Needs no key."
    parts = [
        f"<article id='{anchor}'><h3><a href='#{anchor}'><span class='method'>{method}</span> "
        f"{escape(path)}</a></h3>",
        f"<p>{_prose(operation['summary'])}.</p>",
        f"<p>{_prose(operation['description'])}</p>" if operation.get("description") else "",
        f"<p class='note'>{needs}</p>",
        _parameters(operation),
        f"<h4>Example</h4><pre><code>{escape(_curl(method, path, operation))}</code></pre>",
        f"<h4>Answer</h4><p>{_answer(operation)}</p></article>",
    ]
    return "\n".join(part for part in parts if part)


def _parameters(operation: Mapping[str, Any]) -> str:
    outside = [each for each in operation.get("parameters", []) if each["name"] not in COMMON_HEADERS]
    rows = [
        _field(each["name"], each["in"], each["schema"], each["required"], each.get("description", ""))
        for each in outside
    ]
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        schema = content["schema"]
        if media_type != JSON_MEDIA_TYPE:
            rows.append(_field(media_type, "body", schema, True, "One JSON value per line."))
        required = schema.get("required", [])
        rows += [
            _field(name, "body", each, name in required, each.get("description", ""))
            for name, each in schema.get("properties", {}).items()
        ]
    if not rows:
        return ""
    return "<h4>Parameters</h4>" + _table(("name", "in", "type", "meaning"), rows)


def _field(name: str, place: str, schema: Mapping[str, Any], required: bool, text: str) -> tuple[str, ...]:
    default = schema.get("default")
    notes = [
        "required." if required else "",
        _prose(text),
        f"Default: <code>{escape(json.dumps(default))}</code>." if default not in (None, "", []) else "",
    ]
    meaning = " ".join(note for note in notes if note)
    return f"<code>{escape(name)}</code>", escape(place), _type(schema, nullable=required), meaning


def _curl(method: str, path: str, operation: Mapping[str, Any]) -> str:
    """A command that makes the request, with the examples of the document."""
    given = [each for each in operation.get("parameters", []) if "example" in each]
    for each in given:
        if each["in"] == "path":
            path = path.replace(f"{{{each['name']}}}", quote(_text(each["example"]), safe=""))
    query = urlencode([(each["name"], _text(each["example"])) for each in given if each["in"] == "query"])
    url = f"{SERVER}{path}?{query}" if query else f"{SERVER}{path}"
    lines = [f'curl {"" if method == "GET" else f"-X {method} "}"{url}"']
    if operation.get("security"):
        lines.append('-H "Authorization: Bearer $MNEMIC_API_KEY"')
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        lines.append(f'-H "Content-Type: {media_type}"')
        lines.append(f"--data-binary {shlex.quote(_text(content.get('example', {})))}")
    return " \\\n  ".join(lines)


def _answer(operation: Mapping[str, Any]) -> str:
    """The statuses that a request may get, each with the type of its body."""
    answers = []
    for status, response in operation["responses"].items():
        types = [_type(content.get("schema", {})) for content in response.get("content", {}).values()]
        shown = "otherwise" if status == "default" else f"<code>{escape(status)}</code>"
        answers.append(f"{shown}: {' or '.join(types) or 'no content'}")
    return "; ".join(answers)


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    required = schema.get("required", [])
    rows = [
        (f"<code>{escape(field)}</code>", _type(each), "always" if field in required else "", _prose(text))
        for field, each in schema.get("properties", {}).items()
        for text in [each.get("description", "")]
    ]
    anchor = f"schema-{escape(name)}"
    head = f"<article id='{anchor}'><h3><a href='#{anchor}'>{escape(name)}</a></h3>"
    about = f"<p>{_prose(schema['description'])}</p>" if schema.get("description") else ""
    fields = _table(("field", "type", "present", "meaning"), rows) if rows else f"<p>{_type(schema)}</p>"
    return f"{head}{about}{fields}</article>"


def _type(schema: Mapping[str, Any], *, nullable: bool = True) -> str:
    """The type of a value in a few words; a schema of its own is a link."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f"<a href='#schema-{name}'>{name}</a>"
    if "anyOf" in schema:
        kinds = [each for each in schema["anyOf"] if nullable or each != NULLABLE]
        return " or ".join(dict.fromkeys(map(_type, kinds)))
    if choices := schema.get("enum", [schema["const"]] if "const" in schema else []):
        return ", ".join(f"<code>{escape(str(choice))}</code>" for choice in choices)
    if schema.get("type") == "array":
        return f"array of {_type(schema['items'])}" if "items" in schema else "array"
    if isinstance(schema.get("additionalProperties"), dict) and schema["additionalProperties"]:
        return f"object of {_type(schema['additionalProperties'])}"
    form = f" ({escape(schema['format'])})" if "format" in schema else ""
    return escape(schema.get("type", "any JSON")) + form


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = "".join(f"<th>{each}</th>" for each in head)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<div class='wide'><table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>"


def _prose(text: str) -> str:
    """Text with its `code` marked up."""
    return _CODE.sub(r"<code>\1</code>", escape(" ".join(text.split()).rstrip(), quote=False))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _anchor(operation: Mapping[str, Any]) -> str:
    return escape(operation["operationId"])
