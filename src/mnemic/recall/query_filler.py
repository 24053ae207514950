"""What a query is about, without how it asks.

People wrap what they look for into words about the talk and about the answer: "Can you remind me what we
talked about regarding my garden? Keep it short." is about a garden. What is stored is not like these words,
so they are left out before the query is embedded and its words are looked up. English only; a query in
another language stays as it is.
"""

import re

_EMPTY_TEXT = """
a about all an and any anything at did do does doing done during everything for from go going gone had
happen happened happening has have how i in is it last me my of on our out say said show since so talk
talked tell that the there thing things this to told up us was we went were what when where which who why
with you your
"""
EMPTY_WORDS = frozenset(_EMPTY_TEXT.split())
"""Words of a question that do not say what it is about."""

_SHOW = (
    r"(?:(?:tell|show|give|remind|walk|guide|take) me(?: through| about| of)?"
    r"|summari[sz]e|list|provide|recap|outline|describe|explain)"
)
_ADVISE = r"(?:suggest|recommend)(?: me)?(?: some| any| a few)?"
_ADVICE = r"(?:tips|suggestions|advice|ideas|recommendations|thoughts)(?: for| on| about)?"
_TALK = r"(?:conversation|chat|discussion|session|message|question|request|talk|exchange)s?"
_SAID = r"(?:brought up|(?:talked|spoke|asked|told you|told me) about|mentioned|discussed)"
_SAY = r"(?:bring up|(?:talk|speak|ask|tell you|tell me) about|mention|say|discuss|tell you|tell me)"
_LOOK_BACK = (
    r"(?:want(?:ed)? to follow up on|(?:looking|thinking|going) back (?:to|at|on|through)|wondering"
    r"|(?:checking|(?:looking|going) through)(?= our\b)|trying to (?:remember|recall)"
    r"|(?:remember|recall)(?= (?:you|we|our)\b))"
)
_ASIDES = (
    # The asking: "Can you please give me a detailed summary of …", "Any tips?"
    rf"\b(?:can|could|would|will) you (?:please )?(?:{_SHOW}|{_ADVISE}|help me(?: to)?)\b",
    rf"(?:^|(?<=[.?!] ))(?:please )?{_SHOW}\b",
    rf"\b(?:do you have )?any (?:other )?{_ADVICE}\b",
    r"\b(?:do you think|is|would)(?: it(?: would be|'s| is| be)?)? a good idea(?: for me)?(?: to)?\b",
    r"\bdo you (?:remember|recall)\b",
    r"\b(?:an? |the )?(?:\w+ )?(?:summary|overview|recap|rundown|timeline) of\b",
    r"\bthe order in which\b|,? \bin (?:chronological )?order(?=[.?!,]|$)",
    r"\b(?:the )?(?:different|various|specific|key|main) (?:aspects|parts|topics|things|points|areas) of\b",
    # The talk: "throughout our conversations", "I mentioned"
    r"\b(?:(?:throughout|across|through|during|in|from|over|based on) )?"
    rf"our (?:\w+ )?{_TALK}(?: about| on| regarding)?\b",
    rf"\b(?:throughout|across) my {_TALK}\b",
    rf"\b(?:I|we|you)(?:'ve| have)? {_SAID}\b|\bwe(?:'ve| have)? (?:covered|gone over)\b",
    rf"\b(?:did|have|had) (?:I|we|you) (?:ever )?{_SAY}\b",
    rf"\bI(?:'m| am| was|'ve been)? {_LOOK_BACK}(?=[ ,])",
)
_ASIDE = re.compile("|".join(_ASIDES), re.IGNORECASE)
# A sentence about nothing but the answer: "Name at most five.", "Answer in one sentence."
_FORM = re.compile(
    r"(?:please )?(?:(?:mention|list|name|give(?: me)?) (?:only|just|at most|no more than|exactly)\b.*"
    r"|(?:answer|respond|reply|limit|keep)\b.*\b(?:only|items|words|sentences?|bullets?|points|brief|briefly|short)\b.*)",
    re.IGNORECASE | re.DOTALL,
)
# Words that hold others together and that PostgreSQL's list of such words lacks; not "may", which is a month.
_LINKING = re.compile(
    r"(?<=\w)['’](?:ve|ll|re|m|d)\b|\b(?:would|could|might|must|shall|many|much)\b", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")
_LEFT_OVER = re.compile(r"[\s,.?!]+(?=[.?!,])|^[\s,.?!]+")
_WORD = re.compile(r"\w+")


def focus(query: str) -> str:
    """The query without words about the talk and the answer; as it is, if nothing else would be left."""
    left = without_asides(query)
    if left == query or EMPTY_WORDS.issuperset(_WORD.findall(left.casefold())):
        return query
    return _LEFT_OVER.sub("", " ".join(left.split()))


def without_asides(query: str) -> str:
    """What is left of a query without words about the talk and the answer, which may be nothing."""
    sentences = [each for each in _SENTENCE_END.split(query) if not _FORM.fullmatch(each)]
    return _ASIDE.sub(" ", " ".join(sentences))


def words_to_look_up(focused: str) -> str:
    """What a query is about (its focus) without the words that only hold others together."""
    left = _LINKING.sub(" ", focused)
    return left if _WORD.search(left) else focused
