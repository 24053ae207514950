"""Whether the words of a speaker are about the speaker, or about somebody that belongs to the speaker.

"My cat lives in Oslo" does not say where the user lives. A model that takes it so would replace the user's
home, so statements that replace others are compared with the words that they quote.
"""

import re

from mnemic.text_analysis.attribute_names import SINGLE_VALUED_ATTRIBUTES

_FIRST_PERSON = re.compile(r"\b(?:i|i['’]\w{1,2}|we|we['’]\w{1,2}|me|us|myself)\b", re.IGNORECASE)
_POSSESSED = re.compile(r"\b(?:my|our)\s([\w-]{1,30})", re.IGNORECASE)
# What somebody has as a property, not as another being; words that stand before such a noun count, too.
_PROPERTIES_TEXT = """
name surname nickname pronouns home house place residence address town city country apartment flat job work
profession occupation career position role title employer company office age birthday birth date email phone
number hobby diet religion nationality language timezone height weight size salary degree major school
university college current new old first full real main native present
"""
_PROPERTIES = frozenset(_PROPERTIES_TEXT.split())


def is_about_another(quotation: str, attribute: str, *, replaces: bool) -> bool:
    """Whether a quotation says the attribute of something that the speaker has, and not of the speaker.

    Only attributes of which there is one value are judged, and statements that replace a known one: others
    change nothing.
    """
    if not (replaces or attribute in SINGLE_VALUED_ATTRIBUTES) or _FIRST_PERSON.search(quotation):
        return False
    nouns = [found[1].casefold() for found in _POSSESSED.finditer(quotation)]
    own = _PROPERTIES | set(attribute.split("_"))
    return bool(nouns) and all(noun not in own for noun in nouns)
