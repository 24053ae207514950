"""Options whose value is JSON."""

import json
from typing import Any

from mnemic.errors import InvalidInputError


def parse_object(option: str, text: str) -> dict[str, Any]:
    """The JSON object that was given to an option."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{option} must be JSON: {error}.") from None
    if not isinstance(given, dict):
        raise InvalidInputError(f'{option} must be a JSON object, as in {{"name": "value"}}.')
    return given
