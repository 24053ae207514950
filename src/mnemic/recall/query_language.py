"""Whether a query is in another language than the memories that it found.

An embedding model for English places a German question near to no English memory, and the two have few words
in common. So neither says much about what the memories know. English queries are not examined, since most
are, and neither is a query in Latin letters whose language is unknown (`text_analysis.languages`).
"""

from collections.abc import Callable, Sequence

from mnemic.text_analysis.languages import DETECTION_MAX_CHARACTERS, detect_language

LATIN_ENDS = "\u024f"
"""The last letter of Latin Extended-B."""


def is_in_another_language(query: str, read_texts: Callable[[], Sequence[str]]) -> bool:
    """Whether the language of the query is known, those of some texts, too, and none of these is the same.

    The texts are read only where the query may be in another language.
    """
    if not _is_latin(query):
        texts = read_texts()
        return bool(texts) and all(map(_is_latin, texts))
    language = detect_language(query)
    if language is None or language == "english":
        return False
    found = {detect_language(text) for text in read_texts()} - {None}
    return bool(found) and language not in found


def _is_latin(text: str) -> bool:
    """Whether most letters are Latin ones; without any letter, yes."""
    letters = [character for character in text[:DETECTION_MAX_CHARACTERS] if character.isalpha()]
    return 2 * sum(character <= LATIN_ENDS for character in letters) >= len(letters)
