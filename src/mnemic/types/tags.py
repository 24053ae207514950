"""Tags as they are stored: trimmed, lower case, sorted, none twice."""

from collections.abc import Iterable, Mapping
from itertools import islice

from mnemic.errors import InvalidInputError
from mnemic.types.checks import check_text
from mnemic.types.memory import TAG_MAX_CHARACTERS, TAGS_MAX


def check_tags(value: object) -> tuple[str, ...]:
    """The normalised tags of a caller. Idempotent."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InvalidInputError("tags must be a list of texts.")
    given = list(islice(value, TAGS_MAX + 1))
    if len(given) > TAGS_MAX:
        raise InvalidInputError(f"tags: at most {TAGS_MAX} are allowed.")
    normalised = {normal_tag(check_text("a tag", tag)) for tag in given}
    for tag in normalised:
        if len(tag) > TAG_MAX_CHARACTERS:
            raise InvalidInputError(
                f"A tag has 1 to {TAG_MAX_CHARACTERS} characters; {tag[:20]!a}… has {len(tag)}."
            )
    return tuple(sorted(normalised))


def normal_tag(tag: str) -> str:
    """One tag, trimmed and in lower case.

    Lowered character by character where that gives one character: `str.lower` would make two of İ,
    and the length of a tag should not depend on that.
    """
    return "".join(low if len(low := character.lower()) == 1 else character for character in tag.strip())
