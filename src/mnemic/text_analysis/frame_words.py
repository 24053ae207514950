"""The words with which `clauses` splits a statement, in classes of their meaning."""

import re
from collections.abc import Mapping

PRESENT_COPULAS = frozenset({"is", "are", "es", "ist", "est"})
COPULAS = PRESENT_COPULAS | {"was", "were", "fue", "war", "était"}
DEFINITE = frozenset({"the", "el", "la", "der", "die", "das", "le"})
INDEFINITE = frozenset({"a", "an", "one", "another"})
OF_WORDS = frozenset({"of", "de", "del", "von", "des", "du"})
OWN = frozenset({"my", "our"})
SPEAKER = OWN | {"i", "we"}
"""First words of a statement whose subject is its speaker."""
CLAUSE_WORDS = frozenset({"that", "which", "who", "where", "whom", "whose"})
_CLAUSE_STARTS_TEXT = """
if unless when while since after before because although though maybe perhaps once until but or not never
only both either neither whether
"""
CLAUSE_STARTS = frozenset(_CLAUSE_STARTS_TEXT.split())
"""Words that begin a clause even before a name: "If Ana …", where "Will Smith" is a name."""
PREPOSITIONS = frozenset({"in", "at", "on", "by", "to", "for", "with", "from", "as", "of", "under", "near"})
ADVERBS = frozenset(
    {"now", "currently", "presently", "still", "officially", "actually", "nowadays", "today", "just"}
)
"""Words between subject and value that do not say what a statement is about."""

NO_FRAME_WORDS = re.compile(
    r"\b(?:not|never|no longer|nor|neither|without|n['’]t|former(?:ly)?|previous(?:ly)?|used to|originally"
    r"|once|until|ex|if|unless|would|could|might|may be|should|must|will|maybe|perhaps|probably|possibly"
    r"|supposedly|allegedly|almost|nearly|partly|mainly|mostly|sometimes|often|usually|both|either|among"
    r"|one of|some of|such as|including|between|except|only|too|also|another|according to|said|says|told"
    r"|asked|and|or|but|because|while|when|since|after|before|although|though|i|you|he|she|we|they|it|me|him"
    r"|us|them|his|her|their|your|its|this|these|those|there|here|someone|everyone|somebody|everybody"
    r"|nobody)\b",
    re.IGNORECASE,
)
"""What a simple assertion about the present has not got, outside of names: denials, the past, several
clauses, pronouns whose meaning depends on other memories."""

_KNOWN_NOUNS_TEXT = """
title size colour color role position rank grade score date time day duration length width number state
language country city region denomination sport genre music type kind category class species breed brand
model make framework database editor preference seat dose dosage diagnosis bank university destination venue
location
"""
KNOWN_NOUNS = frozenset(_KNOWN_NOUNS_TEXT.split())
"""Nouns of which something that is named has one value at a time, beside the attributes of one value."""

_MANY_NOUNS_TEXT = """
friend neighbour neighbor colleague coworker teammate classmate roommate flatmate sibling child kid relative
ancestor descendant cousin twin dog cat pet horse puppy kitten rabbit hamster member fan follower supporter
customer client student pupil patient teacher employee worker guest visitor rival enemy opponent hero idol
ally hobby interest skill talent strength weakness fear goal dream wish plan hope idea reason problem issue
worry trouble challenge habit thing part example fact point song album film movie book novel poem story play
painting picture photo paper article series show game recipe invention discovery work product project
feature tool task event trip lesson gift present memory ingredient symptom allergy effect cause benefit
advantage disadvantage tip highlight best one way contributor award prize medal toy
"""
MANY_NOUNS = frozenset(_MANY_NOUNS_TEXT.split())
"""Nouns of which something can have several at once: a second one does not replace the first."""

_OCCASIONS_TEXT = """
meeting appointment visit call flight trip journey lunch dinner breakfast party date interview exam test
class lesson concert holiday vacation session match race talk
"""
OCCASIONS = frozenset(_OCCASIONS_TEXT.split())
"""What somebody has many of, each at another time: "my appointment is on Friday"."""

NOT_SPECIFIC = frozenset({"next", "last", "first", "second", "other", "new", "old", "same", "only", "main"})
"""Words after "the" that choose by the situation: "the next stop"."""

_JUDGING_TEXT = """
good great nice fine bad poor terrible awful wonderful beautiful ugly lovely amazing excellent perfect
interesting boring fun funny important useful useless strange weird fast cheap expensive better best worse
worst
"""
JUDGING = frozenset(_JUDGING_TEXT.split())
"""Adjectives that judge: no values of an attribute."""

_ACTS_TEXT: Mapping[str, str] = {
    "by": """
        founded established created written authored coined invented discovered designed devised developed
        programmed engineered built constructed erected composed arranged performed choreographed painted
        sculpted drawn illustrated directed produced filmed edited adapted translated narrated voiced
        published issued released recorded distributed manufactured made assembled commissioned launched
        introduced completed opened inaugurated succeeded preceded
    """,
    "in": """
        born raised educated founded established created written published composed recorded filmed printed
        built constructed made invented discovered completed opened inaugurated introduced launched released
        buried set
    """,
    "at": "born built filmed recorded buried",
    "on": "born released launched opened completed deployed",
    "to": "dedicated",
}
_STATES_TEXT: Mapping[str, str] = {
    "by": """
        owned controlled managed led run headed chaired coached captained governed ruled administered
        operated maintained moderated supervised hosted employed sponsored funded insured audited
        represented organised organized written published edited narrated manufactured made produced
        developed built powered
    """,
    "in": """
        located situated based headquartered housed stationed stored kept parked moored docked anchored
        installed deployed hosted incorporated domiciled manufactured assembled made printed held written
        buried set
    """,
    "at": """
        located based headquartered housed stationed stored kept parked hosted held employed priced valued
    """,
    "on": "located situated stored hosted deployed installed held listed",
    "under": "licensed stored filed",
    "to": "married engaged assigned allocated deployed signed moored set",
    "with": "affiliated",
    "for": "reserved kept set famous renowned",
    "of": """
        citizen native resident national inhabitant subsidiary division suburb district borough quarter
        neighbourhood tributary province
    """,
}
_TIMED_TEXT = "scheduled due planned set booked expected timed slated"
_TIMED = frozenset(
    (word, preposition) for word in _TIMED_TEXT.split() for preposition in ("for", "on", "at", "in")
)


def _pairs(classes: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset((word, preposition) for preposition, words in classes.items() for word in words.split())


ACTS = _pairs(_ACTS_TEXT)
"""Participles, with their preposition, of what is done to a thing once: by one author, in one place."""
STATES = _pairs(_STATES_TEXT) | _TIMED
"""Participles, adjectives and nouns, with their preposition, of what holds of a thing with one value at a
time: position, control, affiliation, time. Of past states there may have been several: "was married to"."""
NAMED_ONLY = frozenset({("famous", "for"), ("renowned", "for")})
"""What gives one value only if it is a name."""
NAMING = frozenset({"called", "named", "titled"})

_VERBS_TEXT: Mapping[str, str] = {
    "in": "lives live resides reside works work stays stay sleeps sits lies stands died",
    "at": """
        lives live works work stays sits stands died studies study trains train banks starts ends begins
        opens closes leaves arrives departs expires
    """,
    "on": """
        lives live sits stands lies died starts ends begins opens closes listens runs expires leaves departs
    """,
    "near": "lives live",
    "for": "works work plays play",
    "with": "banks",
    "into": "flows",
    "as": "works work serves",
    "to": "reports report answers belongs belong",
    "under": "runs",
}
VERBS = _pairs(_VERBS_TEXT)
"""Verbs, with their preposition, of position, time and affiliation, that give one value at a time."""
MEASURES = frozenset(
    {"weighs", "weigh", "costs", "cost", "earns", "earn", "measures", "lasts", "pays", "pay"}
)
"""Verbs that give one number."""
DIMENSIONS = frozenset({"high", "tall", "long", "wide", "deep", "thick", "heavy"})
"""Adjectives after a number with its unit."""

TYPED_VERBS = frozenset({"plays", "play", "speaks", "speak", "follows", "follow", "worked", "practises"})
TYPED_PREDICATES = frozenset({"associated", "affiliated", "registered", "enrolled"})
"""What gives one value only if it says of which type: "plays the position of", "associated with the sport
of"."""

_NUMBER_WORDS_TEXT = """
january february march april may june july august september october november december monday tuesday
wednesday thursday friday saturday sunday usd eur gbp am pm h hours hour minutes days weeks months years kg
kilos g mg ml l units km m metres meters cm mm miles feet square kilometres euros dollars pounds percent
over x
"""
NUMBER_WORDS = frozenset(_NUMBER_WORDS_TEXT.split())
"""Words of numbers and dates: "9 am", "Friday 3 May"."""
