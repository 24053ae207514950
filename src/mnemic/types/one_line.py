"""Somebody's own words within text of ours: on one line, so that they cannot imitate other lines."""


def one_line(text: str, *, indent: int = 0) -> str:
    """The text in one line, without control characters and others that a terminal would obey."""
    visible = "".join(each if each.isprintable() else " " for each in text)
    return " " * indent + " ".join(visible.split())


def shortened(text: str, max_characters: int) -> str:
    """The text, or its beginning with an ellipsis."""
    return text if len(text) <= max_characters else text[: max_characters - 1] + "…"
