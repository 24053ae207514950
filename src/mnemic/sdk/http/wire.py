"""A call as an HTTP request and its result as JSON, both derived from the signature of the call.

Both sides use `Call`. The HTTP backend turns arguments into a `Request` and parses the response; the server
turns a request into arguments and serialises the result. Types and values survive the round trip. Arguments
that are not given are not sent, so the defaults of the server apply.
"""

import inspect
import json
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from types import NoneType
from typing import Any, Literal, get_args, get_type_hints
from urllib.parse import quote
from uuid import UUID

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model

from mnemic.errors import InvalidInputError
from mnemic.sdk.http.surface import Route
from mnemic.sdk.http.validation_messages import explain
from mnemic.sdk.http.wire_types import is_json, is_list, json_type
from mnemic.types.entity import Entity, Triple

Location = Literal["path", "query", "body"]
NULL = "null"
NULLS = "nulls"
"""Query parameter of the calls whose answers leave out null fields: `nulls=true` keeps them."""

JSON_MEDIA_TYPE = "application/json"
LINES_MEDIA_TYPE = "application/x-ndjson"


@dataclass(frozen=True)
class Request:
    """A request: the path with its ids filled in, the query, and a body if the call has one."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None


@dataclass(frozen=True)
class Parameter:
    """One parameter of a call and where it is in the request; `annotation` is its Python type."""

    name: str
    location: Location
    annotation: Any
    default: Any
    is_variadic: bool

    @property
    def is_required(self) -> bool:
        """Whether a call must pass it."""
        return self.default is inspect.Parameter.empty and not self.is_variadic

    @property
    def null_is_distinct(self) -> bool:
        """Whether None differs from leaving it out, so that the query needs a way to write None."""
        return self.default is not None and not self.is_required and NoneType in get_args(self.annotation)

    @cached_property
    def is_list(self) -> bool:
        """Whether it takes several values."""
        return self.is_variadic or is_list(self.annotation)

    @cached_property
    def json_type(self) -> Any:
        """The type of its JSON value."""
        return json_type(list[self.annotation] if self.is_variadic else self.annotation)  # type: ignore[name-defined]

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        """Parses it from a path or a query."""
        return TypeAdapter(self.json_type)


class Call:
    """One call of the SDK and its representation in HTTP."""

    def __init__(self, route: Route, function: Callable[..., Any]) -> None:
        self.route = route
        self.function = function
        self._signature = inspect.signature(function)
        self._hints = get_type_hints(function, include_extras=True)
        self.parameters = (
            *(
                Parameter(name, "path", str, inspect.Parameter.empty, is_variadic=False)
                for name in route.group_parameters
            ),
            *(
                self._parameter(parameter)
                for parameter in list(self._signature.parameters.values())[1:]
                if parameter.name not in route.excluded | route.local
            ),
        )

    @cached_property
    def response(self) -> TypeAdapter[Any]:
        """Serialises and parses what the call returns."""
        return TypeAdapter(self.returns)

    @property
    def returns(self) -> Any:
        """The type that the call returns."""
        return self._hints["return"]

    @property
    def returns_nothing(self) -> bool:
        """Whether the call returns None."""
        return self.returns is NoneType

    @cached_property
    def body_model(self) -> type[BaseModel] | None:
        """The model of the JSON body; None if all parameters are in the path and the query."""
        if not self._carries_body:
            return None
        fields: dict[str, Any] = {
            parameter.name: (parameter.json_type, ... if parameter.is_required else _default(parameter))
            for parameter in self.parameters
            if parameter.location == "body"
        }
        # Strict: no type conversion. Parameter names may begin with model_, which pydantic reserves.
        config = ConfigDict(extra="forbid", strict=True, protected_namespaces=())
        name = "".join(word.title() for word in self.route.call.replace(".", "_").split("_"))
        return create_model(f"{name}Input", __config__=config, **fields)

    def request(self, *arguments: Any, **named: Any) -> Request:
        """The request for these arguments; the first argument is the `self` of the call."""
        given = self._signature.bind(*arguments, **named).arguments
        if self.route.group_parameters:
            given |= arguments[0]._arguments
        path, query, body = self.route.path, list[tuple[str, str]](), dict[str, Any]()
        for parameter in self.parameters:
            if parameter.name not in given:
                continue
            value = given[parameter.name]
            match parameter.location:
                case "path":
                    path = path.replace(f"{{{parameter.name}}}", _segment(_text(parameter.name, value)))
                case "query":
                    query += _query(parameter, value)
                case "body":
                    body[parameter.name] = _json_value(parameter.name, value, parameter.annotation)
        if self.route.omits_nulls:
            # The client rebuilds objects that have every field.
            query.append((NULLS, "true"))
        sent = _dumps(body) if self._carries_body else None
        return Request(self.route.method, path, tuple(query), sent)

    def arguments(
        self, path: Mapping[str, str], query: Iterable[tuple[str, str]], body: bytes
    ) -> dict[str, Any]:
        """The arguments in a request; InvalidInputError if one is missing, invalid or unknown."""
        given = self._from_query(query)
        for parameter in self.parameters:
            if parameter.location == "path":
                given[parameter.name] = _reference(parameter, path[parameter.name])
        body_model = self.body_model
        if body_model is not None:
            model = _checked(
                lambda: body_model.model_validate_json(body or b"{}"), fields=body_model.model_fields
            )
            given |= {name: getattr(model, name) for name in model.model_fields_set}
        return given

    def keeps_nulls(self, query: Mapping[str, str]) -> bool:
        """Whether the answer to a request with this query has its null fields."""
        wanted = query.get(NULLS, "false") if self.route.omits_nulls else "true"
        if wanted not in ("true", "false"):
            raise InvalidInputError(f"{NULLS} must be true or false.")
        return wanted == "true"

    def of(self, memory: Any, **group_arguments: str) -> Callable[..., Any]:
        """The bound method of this call on a memory; a group that concerns one thing needs its name."""
        *groups, name = self.route.call.split(".")
        for group in groups:
            memory = getattr(memory, group)
            if self.route.group_parameters:
                memory = memory(**group_arguments)
        bound: Callable[..., Any] = getattr(memory, name)
        return bound

    async def run(self, memory: Any, arguments: dict[str, Any]) -> Any:
        """Make the call."""
        positional = list[Any]()
        group = {name: arguments[name] for name in self.route.group_parameters}
        arguments = {name: value for name, value in arguments.items() if name not in group}
        if any(parameter.is_variadic for parameter in self.parameters):
            for parameter in self.parameters:
                if parameter.is_variadic:
                    positional += arguments.pop(parameter.name, ())
                    break
                positional.append(arguments.pop(parameter.name))
        return await self.of(memory, **group)(*positional, **arguments)

    @property
    def _carries_body(self) -> bool:
        return self.route.method not in ("GET", "DELETE") and not self.route.is_stream

    def _parameter(self, parameter: inspect.Parameter) -> Parameter:
        location: Location = "body" if self._carries_body else "query"
        if f"{{{parameter.name}}}" in self.route.path:
            location = "path"
        is_variadic = parameter.kind is inspect.Parameter.VAR_POSITIONAL
        return Parameter(
            parameter.name, location, self._hints[parameter.name], parameter.default, is_variadic
        )

    def _from_query(self, query: Iterable[tuple[str, str]]) -> dict[str, Any]:
        known = {parameter.name: parameter for parameter in self.parameters if parameter.location == "query"}
        texts = dict[str, list[str]]()
        options = (NULLS,) if self.route.omits_nulls else ()
        for name, text in query:
            if name in options:
                continue
            if name not in known:
                raise InvalidInputError(_unknown(name, (*known, *options)))
            texts.setdefault(name, []).append(text)
        for name, parameter in known.items():
            if parameter.is_required and name not in texts:
                raise InvalidInputError(f"{name} is required.")
        return {name: _from_texts(known[name], given) for name, given in texts.items()}


def find_call(route: Route, memory_class: type) -> Call:
    """The call of a route: a method of the memory, or of the group that its property or method returns."""
    found: Any = memory_class
    *groups, name = route.call.split(".")
    for group in groups:
        member = inspect.getattr_static(found, group)
        found = get_type_hints(member.fget if isinstance(member, property) else member)["return"]
    return Call(route, inspect.getattr_static(found, name))


def _unknown(name: str, known: Iterable[str]) -> str:
    shown = name.encode("ascii", "replace").decode()[:64]
    return f"There is no parameter {shown!r}. Parameters: {', '.join(known) or 'none'}."


def _default(parameter: Parameter) -> Any:
    """The default as JSON. It is only shown in the API description, never passed on."""
    if parameter.is_variadic:
        return []
    default = parameter.default
    return list(default) if isinstance(default, tuple | frozenset) else default


def _from_texts(parameter: Parameter, texts: list[str]) -> Any:
    """The value of a query parameter; `name=` is an empty list, `null` is None where that is distinct."""
    if parameter.null_is_distinct and texts == [NULL]:
        return None
    if parameter.is_list:
        values: Any = [] if texts == [""] else texts
    elif len(texts) > 1:
        raise InvalidInputError(f"{parameter.name} was given {len(texts)} times; give it once.")
    else:
        values = _reference(parameter, texts[0])
    return _checked(lambda: parameter.adapter.validate_python(values), parameter.name)


def _reference(parameter: Parameter, text: str) -> Any:
    """The text, or the pair of category and name if the text is a JSON list."""
    if text.startswith("[") and parameter.annotation is not str:
        try:
            return _checked(lambda: parameter.adapter.validate_json(text))
        except InvalidInputError:
            return text
    return text


def _checked(validate: Callable[[], Any], name: str | None = None, fields: Collection[str] = ()) -> Any:
    try:
        return validate()
    except ValidationError as error:
        # Without the input, which may be long or confidential, and without pydantic's URL.
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        raise InvalidInputError(explain(problems, name, fields)) from None


def _query(parameter: Parameter, value: Any) -> list[tuple[str, str]]:
    if value is None:
        return [] if parameter.default is None else [(parameter.name, NULL)]
    if not parameter.is_list:
        return [(parameter.name, _text(parameter.name, value))]
    values = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    return [(parameter.name, _text(parameter.name, each)) for each in values] or [(parameter.name, "")]


def _text(name: str, value: Any) -> str:
    """A value as text in a path or a query."""
    value = to_json(value)
    text = value if isinstance(value, str) else _dumps(value).decode()
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInputError(f"{name} must not contain broken Unicode.") from None
    return text


def _segment(text: str) -> str:
    """One segment of a path, without separators, "." or ".."."""
    encoded = quote(text, safe="")
    return encoded.replace(".", "%2E") if encoded in (".", "..") else encoded


def _json_value(name: str, value: Any, annotation: Any) -> Any:
    if is_json(annotation):
        try:
            json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInputError(f"{name} must be JSON: {error}.") from None
        return value
    return to_json(value)


def to_json(value: Any) -> Any:
    """A value as JSON types; `metadata` is left as it is."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case UUID() | Decimal():
            return str(value)
        case bytes():
            return b64encode(value).decode()
        case datetime():
            return value.isoformat()
        case Entity():
            return str(value.entity_id)
        case Triple():
            return str(value.triple_id)
        case Mapping():
            return {key: each if key == "metadata" else to_json(each) for key, each in value.items()}
        case Iterable():
            return [to_json(each) for each in value]
    raise InvalidInputError(f"A value of the type {type(value).__name__} cannot be sent to a server.")


def json_line(item: Any) -> bytes:
    """One item of a stream as a line of JSON."""
    return _dumps(to_json(item)) + b"\n"


def _dumps(value: Any) -> bytes:
    try:
        return json.dumps(value, separators=(",", ":")).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"Values that are sent to a server must be JSON: {error}.") from None
