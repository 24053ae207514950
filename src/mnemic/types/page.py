"""Bounds on lists."""

from mnemic.errors import InvalidInputError

LIST_MAX = 1000


def check_limit(limit: object) -> int:
    """The limit of a list; InvalidInputError unless it is 1 to LIST_MAX."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= LIST_MAX:
        raise InvalidInputError(f"limit must be a whole number from 1 to {LIST_MAX}.")
    return limit
