"""Conversational filler in queries, and how it is removed.

Queries contain words about the conversation and about the answer: "Can you remind me what we talked about
regarding my garden? Keep it short." is about a garden. Memories do not contain such words, so they are
removed before the query is embedded and searched lexically. English only; a query in another language stays
as it is.
"""

import re

_STOPWORDS_TEXT = """
a about all an and any anything at did do does doing done during everything for from go going gone had
happen happened happening has have how i in is it last me my of on our out say said show since so talk
talked tell that the there thing things this to told up us was we went were what when where which who why
with you your
"""
_OTHER_STOPWORDS_TEXT = (
    """
algo con de dije el en es fue ha he hice hicimos hizo la las lo los me mi nos paso pase pasado que se y
das es gab geschehen gemacht habe haben hast ich ist los mir passiert sind war was wir
ai ce des du est fait il j je les nous on passe passé qu quoi s
"""
    + "pasó pasé qué"
)
QUESTION_STOPWORDS = frozenset(f"{_STOPWORDS_TEXT} {_OTHER_STOPWORDS_TEXT}".split())
"""Words that do not say what a question is about."""
WORDS_FOR_MEMORIES = frozenset(
    [
        "entries",
        "entry",
        "events",
        "event",
        "logs",
        "log",
        "memories",
        "memory",
        "messages",
        "message",
        "news",
        "note",
        "notes",
        "noted",
        "record",
        "records",
        "eintrag",
        "einträge",
        "ereignisse",
        "notizen",
        "nachrichten",
        "notas",
        "mensajes",
        "recuerdos",
        "notes",
        "souvenirs",
        "messages",
    ]
)
"""Words for memories of any topic: "notes between May 3 and May 9" asks for everything of that time."""

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
_FILLERS = (
    # About the answer: "Can you please give me a detailed summary of …", "Any tips?"
    rf"\b(?:can|could|would|will) you (?:please )?(?:{_SHOW}|{_ADVISE}|help me(?: to)?)\b",
    rf"(?:^|(?<=[.?!] ))(?:please )?{_SHOW}\b",
    rf"\b(?:do you have )?any (?:other )?{_ADVICE}\b",
    r"\b(?:do you think|is|would)(?: it(?: would be|'s| is| be)?)? a good idea(?: for me)?(?: to)?\b",
    r"\bdo you (?:remember|recall)\b",
    r"\b(?:an? |the )?(?:\w+ )?(?:summary|overview|recap|rundown|timeline) of\b",
    r"\bthe order in which\b|,? \bin (?:chronological )?order(?=[.?!,]|$)",
    r"\b(?:the )?(?:different|various|specific|key|main) (?:aspects|parts|topics|things|points|areas) of\b",
    # About the conversation: "throughout our conversations", "I mentioned"
    r"\b(?:(?:throughout|across|through|during|in|from|over|based on) )?"
    rf"our (?:\w+ )?{_TALK}(?: about| on| regarding)?\b",
    rf"\b(?:throughout|across) my {_TALK}\b",
    rf"\b(?:I|we|you)(?:'ve| have)? {_SAID}\b|\bwe(?:'ve| have)? (?:covered|gone over)\b",
    rf"\b(?:did|have|had) (?:I|we|you) (?:ever )?{_SAY}\b",
    rf"\bI(?:'m| am| was|'ve been)? {_LOOK_BACK}(?=[ ,])",
)
_FILLER = re.compile("|".join(_FILLERS), re.IGNORECASE)
# A whole sentence about the form of the answer: "Name at most five.", "Answer in one sentence."
_FORM_OF_ANSWER = re.compile(
    r"(?:please )?(?:(?:mention|list|name|give(?: me)?) (?:only|just|at most|no more than|exactly)\b.*"
    r"|(?:answer|respond|reply|limit|keep)\b.*\b(?:only|items|words|sentences?|bullets?|points|brief|briefly|short)\b.*)",
    re.IGNORECASE | re.DOTALL,
)
# Function words that PostgreSQL's English stopwords lack; not "may", which is a month.
_FUNCTION_WORDS = re.compile(
    r"(?<=\w)['’](?:ve|ll|re|m|d)\b|\b(?:would|could|might|must|shall|many|much)\b"
    # Without their apostrophe: "whats", "dont".
    r"|\b(?:(?:what|where|who|when|how|that|there|here)s|(?:do|does|did|is|are|was|were|have|has|had|would|could|should"
    r"|ca|wo)nt|(?:i|you|we|they)ve|im|(?:you|they)re)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")
_LEFT_OVER = re.compile(r"[\s,.?!]+(?=[.?!,])|^[\s,.?!]+")
_WORD = re.compile(r"\w+")


def strip_filler(query: str) -> str:
    """The query without filler; the whole query if only stopwords would remain."""
    left = remove_filler(query)
    if left == query or QUESTION_STOPWORDS.issuperset(_WORD.findall(left.casefold())):
        return query
    return _LEFT_OVER.sub("", " ".join(left.split()))


def remove_filler(query: str) -> str:
    """The query without filler, which may leave nothing."""
    sentences = [each for each in _SENTENCE_END.split(query) if not _FORM_OF_ANSWER.fullmatch(each)]
    return _FILLER.sub(" ", " ".join(sentences))


def remove_function_words(text: str) -> str:
    """The text without function words; the whole text if nothing else would remain."""
    left = _FUNCTION_WORDS.sub(" ", text)
    return left if _WORD.search(left) else text
