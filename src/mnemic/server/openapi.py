"""The OpenAPI document: FastAPI's description of the routes, and what applies to all of them."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from mnemic.sdk.http.surface import SURFACE
from mnemic.sdk.http.wire import NULLS
from mnemic.server.paths import Target
from mnemic.server.problems import MEDIA_TYPE, Problem

SCHEME = "apiKey"
PROBLEM_REFERENCE = {"$ref": "#/components/schemas/Problem"}
OPEN_PATHS = frozenset({"/healthz", "/readyz"})
DESCRIPTION = """\
The memory of AI agents over HTTP. Every call of the Python SDK is one request here, with the same names.

Send an API key with each request: `Authorization: Bearer mn_…`. `mnemic keys create` creates one. Errors are
`application/problem+json`. A write with an `Idempotency-Key` is carried out once, even if it is repeated.
"""
IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A key of your choice. For a day, repeating the request with it gets the first answer.",
    "schema": {"type": "string", "pattern": "^[\\x21-\\x7e]{1,255}$"},
}


NULLS_PARAMETER = {
    "name": NULLS,
    "in": "query",
    "required": False,
    "description": "`true` keeps fields that are null; otherwise the answer leaves them out.",
    "schema": {"type": "boolean", "default": False},
}
NULLABLE = {"type": "null"}
ROLE = "x-mnemic-role"
"""Where an operation says which role its API key needs."""


def describe(app: FastAPI, *, reading: frozenset[Target]) -> dict[str, Any]:
    """The document, built once. `reading` are the requests that do not write."""
    if app.openapi_schema is None:
        document = get_openapi(
            title="Mnemic", version=app.version, description=DESCRIPTION, routes=app.routes
        )
        _add_components(document)
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                _complete(
                    operation, path=path, writes=method != "get" and (method.upper(), path) not in reading
                )
        for route in SURFACE:
            operation = document["paths"][route.path][route.method.lower()]
            operation[ROLE] = route.role
            if route.omits_nulls:
                _omit_nulls(document, operation)
        app.openapi_schema = document
    return app.openapi_schema


def _add_components(document: dict[str, Any]) -> None:
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas |= schema.pop("$defs", {})
    schemas["Problem"] = schema
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    components["securitySchemes"] = {
        SCHEME: {"type": "http", "scheme": "bearer", "description": "An API key: `mn_` and 43 characters."}
    }


def _complete(operation: dict[str, Any], *, path: str, writes: bool) -> None:
    """Add the API key that an operation needs, its error responses, and the idempotency header."""
    responses = operation.setdefault("responses", {})
    responses.pop("422", None)
    responses["default"] = {
        "description": "The error.",
        "content": {MEDIA_TYPE: {"schema": PROBLEM_REFERENCE}},
    }
    if path not in OPEN_PATHS:
        operation["security"] = [{SCHEME: []}]
    if writes:
        operation.setdefault("parameters", []).append(IDEMPOTENCY_KEY)


def _omit_nulls(document: dict[str, Any], operation: dict[str, Any]) -> None:
    """Add the parameter `nulls`, and require no nullable field of the answer."""
    operation.setdefault("parameters", []).append(NULLS_PARAMETER)
    schemas: dict[str, Any] = document["components"]["schemas"]
    pending, seen = [operation["responses"]["200"]], set[str]()
    while pending:
        for name in _references(pending.pop()) - seen:
            seen.add(name)
            pending.append(schemas[name])
    for name in seen:
        _require_non_null(schemas[name])


def _references(part: Any) -> set[str]:
    """The names of the schemas that a part of the document refers to."""
    if isinstance(part, dict):
        own = {part["$ref"].rpartition("/")[2]} if "$ref" in part else set[str]()
        return own.union(*map(_references, part.values()))
    return set[str]().union(*map(_references, part)) if isinstance(part, list) else set()


def _require_non_null(schema: dict[str, Any]) -> None:
    properties = schema.get("properties", {})
    schema["required"] = [
        name for name in schema.get("required", []) if NULLABLE not in properties[name].get("anyOf", [])
    ]
