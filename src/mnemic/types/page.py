"""Bounds on lists."""

from mnemic.types.checks import check_whole

LIST_MAX = 1000


def check_limit(limit: object) -> int:
    """The limit of a list; InvalidInputError unless it is 1 to LIST_MAX."""
    return check_whole("limit", limit, 1, LIST_MAX)
