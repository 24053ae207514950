"""Validation errors of a request in the words of JSON: which field is wrong, and what it must be.

pydantic reports one error for each branch of a union and puts the branch into the path (`content.str`). The
message names the JSON field alone and joins the branches: "content must be a string or an array".
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

FIELDS_NAMED_MAX = 5
FIELD_SHOWN_MAX_CHARACTERS = 64

_EXPECTED = {
    "string_type": "a string",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "an array",
    "tuple_type": "an array",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "base64_decode": "base64",
}
"""What pydantic's type of error says that the value must be."""


def explain(errors: Sequence[Mapping[str, Any]], name: str | None, fields: Collection[str] = ()) -> str:
    """One sentence for all fields that are wrong. `fields` are those that the body may have."""
    expected: dict[str, list[str]] = {}
    complaints: dict[str, str] = {}
    paths = {_path(error["loc"], name) for error in errors}
    for error in errors:
        where = _path(error["loc"], name)
        if any(path.startswith(f"{where}.") for path in paths):
            continue  # Another branch of the union fits better: what is wrong is inside of it.
        if error["type"] in _EXPECTED:
            expected.setdefault(where, []).append(_EXPECTED[error["type"]])
        else:
            complaints.setdefault(where, _complaint(where, error))
    for where, kinds in expected.items():
        complaints.setdefault(where, f"{where} must be {_alternatives(kinds)}")
    unknown = any(error["type"] == "extra_forbidden" for error in errors)
    known = f"; the fields are {', '.join(fields)}" if unknown and fields else ""
    return "; ".join(list(complaints.values())[:FIELDS_NAMED_MAX]) + known + "."


def _path(location: tuple[str | int, ...], name: str | None) -> str:
    """The JSON field, with the index where it is inside an array; never the branch of a union."""
    head = [name] if name else [str(part) for part in location[:1]]
    rest = location if name else location[1:]
    path = [*head, *(str(part) for part in rest if isinstance(part, int))]
    return ".".join(path)[:FIELD_SHOWN_MAX_CHARACTERS] or "The body"


def _alternatives(kinds: Sequence[str]) -> str:
    """Each kind once; a whole number is a number."""
    unique = dict.fromkeys(kinds)
    if "a number" in unique:
        unique.pop("a whole number", None)
    return " or ".join(unique)


def _complaint(where: str, error: Mapping[str, Any]) -> str:
    match error["type"]:
        case "missing":
            return f"{where} is required"
        case "extra_forbidden":
            return f"{where.encode('ascii', 'replace').decode()!r} is not a field of this request"
        case "json_invalid":
            return f"The body is not valid JSON ({error['msg'].removeprefix('Invalid JSON: ')})"
    return f"{where}: {error['msg']}"
