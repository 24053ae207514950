"""Recognising a query that asks for an overview: "What do you know about me?", "Summarise Priya".

Such a query has few words in common with the memories that answer it, so recall does not search for its
words: it selects memories (`overview.py`). An overview is about the owner ("me"), about somebody or something
with a name, or about a topic ("the conventions of this repo"). Rules for English, Spanish, German and French.
"""

import re
from dataclasses import dataclass
from typing import Literal

from mnemic.text_analysis.detect import detect_names
from mnemic.text_analysis.personal_facts import OTHER_PEOPLE, RELATIVES, Facet

Focus = Literal["owner", "entity", "topic"]

QUERY_MAX_CHARACTERS = 300
"""A longer query is a text that is searched for, not a request for an overview."""
TOPIC_MAX_WORDS = 3
"""A topic with more words than this, function words not counted, is specific enough to be searched for."""
NAME_MAX_WORDS = 4


@dataclass(frozen=True)
class OverviewQuestion:
    """What an overview is asked for.

    `name` is set for an entity, `topic` for a topic. `facets` and `categories` are what the topic asks for
    by its
    own words: "my family" asks for people, "the conventions" for procedural memories. `is_own` means that
    the topic is the owner's: "this project", "how we travel".
    """

    focus: Focus
    name: str | None = None
    topic: str | None = None
    facets: frozenset[Facet] = frozenset()
    categories: frozenset[str] = frozenset()
    is_own: bool = False


_WORD = re.compile(r"\w+")
_FUNCTION_WORDS_TEXT = """
s all our my this these the that how i we she he they what is are was were of in on at to for and or with a
an us me it
still now mi mis nuestro nuestra este esta el la las los lo de del en y con cómo que mein meine unser
unsere dieses diese die
der das von im und wie ich wir mon ma mes nos notre cette ce ces le les des du et comment je nous on
"""
_FUNCTION_WORDS = frozenset(_FUNCTION_WORDS_TEXT.split())
_POLITE = (
    r"(?:(?:please|hey|hi|ok|okay|so|now|por favor|bitte|s['’]il (?:te|vous) plaît)[, ]{1,3}){0,3}"
    r"(?:(?:can|could|would|will) you (?:please )?|i(?:'d| would) like (?:you to )?|i want (?:you to )?"
    r"|puedes |podrías |kannst du "
    r"(?:mir )?(?:bitte )?|könntest du |(?:peux|pourrais)-tu )?"
)
_KIND = (
    r"(?:overview|summary|summaries|recap|rundown|run-down|profile|synopsis|snapshot|briefing|picture"
    r"|sketch|portrait|bio"
    r"|resumen|perfil|panorama|überblick|zusammenfassung|profil|übersicht|aperçu|résumé|portrait|bilan)"
)
# "Give a substitute tutor a short profile of Zofia": who receives it is not what it is about.
_GIVE = (
    r"(?:give|write|make|show|provide|prepare|draft|create|send|get|need|dame|hazme|prepara|escribe|gib"
    r"|mach|schreib"
    r"|erstelle|donne|fais|écris|prépare)(?:[- ](?:moi|mir))?\s"
    rf"(?:[\w'’-]{{1,30}} ){{0,7}}?{_KIND}\b(?: (?:of|about|on|for|regarding|de|del|sobre|acerca de|von"
    rf"|über|zu"
    rf"|sur|du|des))?"
)
_ASK = (
    r"what (?:all )?(?:do|did|can) (?:you|we) (?:already |all )?(?:know|remember|have(?: stored)?|recall"
    r"|tell me) (?:about|of|on)"
    r"|what(?:'s| is| have you) (?:known|stored|saved|learn(?:ed|t)) about"
    r"|(?:tell|show) (?:me|us) (?:everything|all|anything|more|something)? ?(?:(?:that )?you know )?about"
    r"|(?:tell|show) (?:me|us) what you (?:know|remember) (?:about|of)|(?:all|everything)(?: you know)? about"
    r"|describe|introduce"
    r"|(?:qué|que) sabes (?:de|sobre|acerca de)|(?:cuéntame|dime"
    r"|háblame)(?: (?:todo )?lo que sabes)? ?(?:de|sobre|acerca de)"
    r"|was wei(?:ß|ss)t du (?:alles )?(?:über|von)|erzähl(?:e)?(?: mir)?(?: alles| etwas| was du wei(?:ß"
    r"|ss)t)?,? ?(?:über|von)"
    r"|(?:que|qu['’]est-ce que tu) (?:sais(?:-tu)?|connais)(?: tu)? (?:de|sur|à propos de)|parle(?:-"
    r"| )moi (?:de|du|des)"
    r"|dis(?:-| )moi (?:tout )?(?:ce que tu sais )?(?:de|sur)"
)
_SUM = (
    rf"summari[sz]e|sum up|recap|brief me on|fill me in on|(?:bring|get) me up to (?:speed|date) (?:on"
    rf"|with)|catch me up on"
    rf"|(?:(?:an?|the|short|brief|quick) ){{0,4}}{_KIND} (?:of|about|on|de|del|sobre|von|über|zu|sur|du)"
    rf"|resume|resúmeme|haz un resumen de|fasse?|zusammenfass\w*|résume(?:-moi)?|récapitule(?:-moi)?|{_GIVE}"
)
_OPENING = re.compile(
    rf"\W{{0,5}}{_POLITE}(?:(?P<ask>{_ASK})|(?P<sum>{_SUM}))(?!\w)[\s:]{{0,5}}", re.IGNORECASE
)
_WHO_AM_I = re.compile(r"\W{0,5}(?:who am i|quién soy|wer bin ich|qui suis-je)\W{0,5}$", re.IGNORECASE)
_ENDING = re.compile(
    r"(?:[\s,]{1,3}(?:so far|please|briefly|in short|in brief|for me|to me|up to now|as of now|right now"
    r"|hasta ahora|por favor|bisher|bitte"
    r"|zusammen|jusqu['’]ici|jusqu['’]à présent|s['’]il te plaît|(?:for|to|para|für|pour) (?:an?|the|my|our"
    r"|un|una|einen?|une|le|la) "
    r"[\w'’-]{1,30}(?: [\w'’-]{1,30}){0,2}|in (?:\w{1,30} ){1,2}(?:words?|sentences?|lines?|bullet points?))"
    r"){1,3}\W{0,5}$|[\s.?!]{1,5}$",
    re.IGNORECASE,
)
_OWNER = re.compile(
    r"(?:me|myself|us|ourselves|the user|m[íi]|mí mism[oa]|nosotr[oa]s|mich|mir|uns|moi|nous|who i am"
    r"|what i(?: am|'m) like|my profile"
    r"|my ?self|me so far|my life|mi vida|mein leben|ma vie)",
    re.IGNORECASE,
)
_DEFINITE = re.compile(
    r"(?:my|our|this|these|the|that|how (?:i|we|she|he|they)|what(?:'s| is| are)|mis?|nuestr[oa]s?"
    r"|est[ea]s?|el|las?|los|lo|cómo|mein\w*"
    r"|unser\w*|dies\w*|die|der|das|wie (?:ich|wir)|mon|ma|mes|nos|notre|cette?|ces|les?|comment (?:je|nous"
    r"|on))\b",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"\b(?:my|our|this|these|how (?:i|we)|mis?|nuestr[oa]s?|est[ea]|mein\w*|unser\w*|dies\w*|mon|ma|mes|nos"
    r"|notre|cette?|ces)\b",
    re.IGNORECASE,
)
_PEOPLE_TOPIC = re.compile(
    rf"\b(?:{RELATIVES}|{OTHER_PEOPLE}|people|contacts?|team|gente|personas|leute|gens|équipe)\b",
    re.IGNORECASE,
)
_FACET_WORDS: tuple[tuple[tuple[Facet, ...], str], ...] = (
    (("health",), r"\b(?:health|medical|medications?|allerg\w+|salud|gesundheit|santé)\b"),
    (("work", "expertise"), r"\b(?:work|job|career|profession\w*|trabajo|arbeit|beruf|travail|métier)\b"),
    (("home",), r"\b(?:home|where (?:i|we) live|casa|wohnung|logement)\b"),
    (
        ("preferences", "style", "habits"),
        r"\b(?:preferences?|likes?|dislikes?|tastes?|favou?rites?|prefer|enjoy|habits?|hobb(?:y|ies)"
        r"|routines?|gustos|preferencias"
        r"|vorlieben|gewohnheiten|goûts|préférences)\b",
    ),
    (
        ("current",),
        r"\b(?:open|pending|outstanding|unfinished|to-?dos?|tasks?|next steps?|plans?|upcoming|status"
        r"|pipeline|deadlines?|going on"
        r"|still|current(?:ly)?|pendientes?|planes|offen\w*|pläne|aktuell\w*|en cours|projets)\b",
    ),
)
_TOPIC_FACETS = tuple(
    (frozenset(facets), re.compile(pattern, re.IGNORECASE)) for facets, pattern in _FACET_WORDS
)
_TOPIC_CATEGORIES: tuple[tuple[frozenset[str], re.Pattern[str]], ...] = tuple(
    (frozenset(categories), re.compile(pattern, re.IGNORECASE))
    for categories, pattern in (
        (
            ("procedural",),
            r"\b(?:conventions?|rules?|guidelines?|polic(?:y|ies)|procedures?|practices?|standards?"
            r"|workflows?|instructions?|set-?up"
            r"|how (?:we|i|they) (?:work|do|build|deploy|test)|convenciones|reglas|normas|regeln"
            r"|richtlinien|abläufe|règles|conventions)\b",
        ),
        (
            ("preference", "behavioral"),
            r"\b(?:preferences?|likes?|dislikes?|tastes?|favou?rites?|prefer|enjoy|gustos|preferencias"
            r"|vorlieben|goûts|préférences)\b",
        ),
        (
            ("episodic",),
            r"\b(?:stor(?:y|ies)|history|campaign|happened|events?|so far|progress|journey|timeline"
            r"|developments?|session|adventures?"
            r"|historia|geschichte|verlauf|histoire|déroulement)\b",
        ),
        (
            ("prospective",),
            r"\b(?:plans?|goals?|upcoming|to-?dos?|next steps?|planes|pläne|ziele|projets|objectifs)\b",
        ),
    )
)


def recognise_overview(query: str) -> OverviewQuestion | None:
    """The overview that a query asks for; None if it is an ordinary question."""
    if len(query) > QUERY_MAX_CHARACTERS:
        return None
    if _WHO_AM_I.match(query):
        return OverviewQuestion("owner")
    opening = _OPENING.match(query)
    if opening is None:
        return None
    return _about(
        _ENDING.sub("", query[opening.end() :]).strip(" :,"), query, is_summary=opening["sum"] is not None
    )


def _about(subject: str, query: str, *, is_summary: bool) -> OverviewQuestion | None:
    """What an overview is about. "Tell me about photosynthesis" is an ordinary question."""
    if not subject or _OWNER.fullmatch(subject):
        return OverviewQuestion("owner")
    if (name := _name_in(subject)) is not None:
        return OverviewQuestion("entity", name=name)
    if not is_summary and not _DEFINITE.match(subject):
        return None
    if len(set(_WORD.findall(subject.casefold())) - _FUNCTION_WORDS) > TOPIC_MAX_WORDS:
        return None
    return OverviewQuestion(
        "topic",
        topic=subject,
        facets=_facets(subject),
        categories=_categories(query),
        is_own=_OWN.search(subject) is not None,
    )


def _name_in(subject: str) -> str | None:
    """The name that a subject consists of; None if there are more words than the name."""
    words = subject.split()
    if len(words) > NAME_MAX_WORDS:
        return None
    # A name is detected by its capital letter inside of a sentence; the added words make it one.
    found = detect_names(f"about {subject} here")
    return subject if any(name.value == subject for name in found) else None


def _facets(topic: str) -> frozenset[Facet]:
    people: frozenset[Facet] = frozenset({"people"}) if _PEOPLE_TOPIC.search(topic) else frozenset()
    return people.union(*(facets for facets, pattern in _TOPIC_FACETS if pattern.search(topic)))


def _categories(query: str) -> frozenset[str]:
    return frozenset[str]().union(*(names for names, pattern in _TOPIC_CATEGORIES if pattern.search(query)))
