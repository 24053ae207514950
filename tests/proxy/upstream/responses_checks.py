"""What the OpenAI Responses API rejects."""

import hashlib
import hmac
from collections.abc import Mapping, Sequence

from tests.proxy.upstream.api import Body, Invalid

KEY = b"a key of the stand-in"
SIGNED_DIGITS = 32
CALLS = ("function_call", "custom_tool_call", "local_shell_call")
FOLLOWERS = (*CALLS, "message", "reasoning", "web_search_call")
ID_PREFIXES = {"function_call": "fc", "reasoning": "rs", "message": "msg"}


def encrypted(reasoning_id: str) -> str:
    """Encrypted reasoning, which its id can be read from."""
    signed = hmac.new(KEY, reasoning_id.encode(), hashlib.sha256).hexdigest()
    return f"enc.{reasoning_id}.{signed[:SIGNED_DIGITS]}"


def kind_of(item: Body) -> str:
    """The type of an item; messages may leave it out."""
    return str(item.get("type") or "message")


def is_output(item: Body) -> bool:
    return kind_of(item).endswith("_call_output")


def check(items: Sequence[Body], is_stored: Mapping[str, bool], companions: Mapping[str, str]) -> None:
    """Raise `Invalid`.

    `is_stored` tells for each reasoning item of the stand-in whether it was stored; `companions` names the
    reasoning item before each call.
    """
    _check_pairs(items)
    for number, item in enumerate(items):
        _check_id(number, item)
        if kind_of(item) == "reasoning":
            _check_reasoning(item, items[number + 1 : number + 2], is_stored)
    present = {item.get("id") for item in items}
    for item in items:
        companion = companions.get(str(item.get("id")))
        if companion is not None and companion not in present:
            raise Invalid(
                f"Item '{item['id']}' of type '{kind_of(item)}' was provided without its required "
                "'reasoning' "
                f"item: '{companion}'."
            )


def _check_pairs(items: Sequence[Body]) -> None:
    made: list[str] = []
    answered: list[str] = []
    for item in items:
        if kind_of(item) in CALLS:
            made.append(item["call_id"])
        elif is_output(item):
            if item["call_id"] not in made:
                raise Invalid(f"No tool call found for function call output with call_id {item['call_id']}.")
            answered.append(item["call_id"])
    for ids, what in ((made, "function call"), (answered, "function call output")):
        if len(set(ids)) < len(ids):
            raise Invalid(f"Duplicate {what} for one call_id.")
    missing = [call for call in made if call not in answered]
    if missing:
        raise Invalid(f"No tool output found for function call {missing[0]}.")


def _check_id(number: int, item: Body) -> None:
    prefix = ID_PREFIXES.get(kind_of(item), "")
    if item.get("id") and not str(item["id"]).startswith(prefix):
        raise Invalid(
            f"Invalid 'input[{number}].id': '{item['id']}'. Expected an ID that begins with '{prefix}'."
        )


def _check_reasoning(item: Body, following: Sequence[Body], is_stored: Mapping[str, bool]) -> None:
    if (
        not following
        or kind_of(following[0]) not in FOLLOWERS
        or following[0].get("role") in ("user", "developer")
    ):
        raise Invalid(
            f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item."
        )
    content = item.get("encrypted_content")
    if content is None:
        if not is_stored.get(str(item.get("id"))):
            raise Invalid(
                f"Item with id '{item.get('id')}' not found. Items are not persisted when `store` is "
                "set to false."
            )
        return
    parts = str(content).split(".")
    if len(parts) != 3 or content != encrypted(parts[1]) or item.get("id") not in (None, parts[1]):
        raise Invalid("The encrypted content could not be verified.", "invalid_encrypted_content")
