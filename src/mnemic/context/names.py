"""Names in a text: identifiers, paths and hashes, which an agent may want to use again."""

import re

_NAME = re.compile(r"/[\w./-]{6,}|[A-Za-z_][A-Za-z0-9_]{6,}|[0-9a-f]{7,40}")
_STRUCTURED = re.compile(r"[a-z][A-Z]|[_/\d]")


def names_of(text: str) -> tuple[str, ...]:
    """Each name once: those with the shape of code first, then plain words, in the order of the text."""
    unique = dict.fromkeys(_NAME.findall(text))
    structured = [name for name in unique if _STRUCTURED.search(name)]
    return (*structured, *(name for name in unique if not _STRUCTURED.search(name)))


def listed_names(names: tuple[str, ...], chars_max: int) -> str:
    """As many of the names as fit, in their order."""
    used, listed = 0, []
    for name in names:
        used += len(name) + 1
        if used > chars_max:
            break
        listed.append(name)
    return " ".join(listed)
