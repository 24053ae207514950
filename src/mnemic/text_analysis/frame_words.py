"""The words with which `frames` splits a statement into what it is about and the value that it gives."""

import re

PRESENT_COPULAS = frozenset({"is", "es", "ist", "est"})
COPULAS = PRESENT_COPULAS | {"was", "fue", "war", "était"}
DEFINITE = frozenset({"the", "el", "la", "der", "die", "das", "le"})
INDEFINITE = frozenset({"a", "an", "one", "another"})
OF_WORDS = frozenset({"of", "de", "del", "von", "des", "du"})
OWN = frozenset({"my", "our"})
SPEAKER = OWN | {"i", "we"}
"""First words of a statement whose subject is its speaker."""
CLAUSE_WORDS = frozenset({"that", "which", "who", "where", "whom", "whose"})
CLAUSE_STARTS = frozenset(
    [
        "if",
        "unless",
        "when",
        "while",
        "since",
        "after",
        "before",
        "because",
        "although",
        "though",
        "maybe",
        "perhaps",
        "once",
        "until",
        "but",
        "or",
        "not",
        "never",
        "only",
        "both",
        "either",
        "neither",
        "whether",
    ]
)
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

_ATTRIBUTE_NOUNS_TEXT = """
name nickname surname title address hometown birthplace birthday birthdate age height weight size colour color
gender job occupation profession role position rank grade salary income rent price cost fee budget rate score
balance deadline date time day duration length width capacity number phone email extension username login
password passcode passphrase pin code key url port host branch version status stage state phase priority
severity language nationality citizenship country capital city region continent religion denomination sport
genre music type kind category class species breed brand model make manufacturer developer author creator
founder inventor designer composer director producer publisher owner landlord tenant employer manager boss
supervisor mentor coach captain president chairperson chairman chairwoman chair ceo cto cfo chief head leader
mayor governor king queen pope minister chancellor broadcaster headquarters headquarter spouse wife husband
fiancé fiancée mother father successor predecessor currency population temperature dose dosage diagnosis
preference seat gate platform room floor desk framework database editor timezone default maximum minimum limit
quota target sponsor provider supplier carrier bank insurer doctor dentist assignee reviewer maintainer lead
officer university destination venue location
"""
ATTRIBUTE_NOUNS = frozenset(_ATTRIBUTE_NOUNS_TEXT.split())
"""Nouns of which something has one value at a time: "the capital of", "Ana's password"."""

_MANY_NOUNS_TEXT = """
friend neighbour neighbor colleague coworker teammate classmate roommate sister brother sibling son daughter
child kid aunt uncle cousin niece nephew grandmother grandfather grandson granddaughter dog cat pet horse
relative ancestor member fan follower customer client student pupil patient teacher hobby interest skill
strength weakness goal dream plan idea reason problem issue challenge thing part example fact point song film
movie book series show game team product project feature tool task event trip lesson gift present memory story
picture photo recipe ingredient symptom allergy effect cause benefit advantage disadvantage tip highlight best
one way partner contributor founder-member sponsor
"""
MANY_NOUNS = frozenset(_MANY_NOUNS_TEXT.split())
"""Nouns of which something can have several at once: a second one does not replace the first."""

_PREDICATES_TEXT = {
    "by": """
        founded created written directed developed performed produced designed built invented composed painted
        published recorded owned managed led run employed hosted maintained coached chaired headed
    """,
    "in": "located based headquartered situated born founded established created written set filmed buried",
    "to": "married engaged set assigned allocated signed",
    "for": "scheduled due set planned famous renowned",
    "on": "scheduled due set hosted deployed born released",
    "at": "located based born hosted held set scheduled priced valued",
    "of": "citizen native resident national inhabitant",
}
EVENTS = frozenset(
    [
        "born",
        "founded",
        "established",
        "created",
        "written",
        "directed",
        "developed",
        "performed",
        "produced",
        "designed",
        "built",
        "invented",
        "composed",
        "painted",
        "published",
        "recorded",
        "filmed",
        "buried",
        "released",
    ]
)
"""Of these there is one in the past; of states there may have been several: "was married to"."""
PREDICATES = frozenset(
    (word, preposition) for preposition, words in _PREDICATES_TEXT.items() for word in words.split()
)
"""Participles, adjectives and nouns after a copula, with their preposition, that give one value at a time."""

_VERBS_TEXT = {
    "in": "lives live resides reside works work died",
    "at": "lives live works work died studies study starts ends begins opens closes leaves arrives",
    "on": "lives live died starts ends begins runs listens",
    "for": "works work",
    "as": "works work",
    "to": "reports report belongs",
    "": "weighs costs earns",
}
VERBS = frozenset((verb, preposition) for preposition, verbs in _VERBS_TEXT.items() for verb in verbs.split())
"""Verbs that give one value at a time, with their preposition, or with none."""

TYPED_VERBS = frozenset({"plays", "play", "speaks", "speak", "follows", "follow", "worked", "practises"})
TYPED_PREDICATES = frozenset({"associated", "affiliated", "registered", "enrolled"})
"""What gives one value only if it says of which type: "plays the position of", "associated with the sport
of"."""

NUMBER_WORDS = frozenset(
    [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "usd",
        "eur",
        "gbp",
        "am",
        "pm",
        "h",
        "hours",
        "hour",
        "minutes",
        "days",
        "weeks",
        "months",
        "years",
        "kg",
        "g",
        "mg",
        "ml",
        "l",
        "km",
        "m",
        "cm",
        "mm",
        "miles",
        "euros",
        "dollars",
        "pounds",
        "percent",
    ]
)
"""Words of numbers and dates: "9 am", "Friday 3 May"."""
