"""The words and patterns with which `statements` reads: attributes, changes, values, relatives, stopwords.

Attributes and changes have single words, which are looked up, and phrases, which are patterns. A word that
ends in * stands for all words that begin so.
"""

import re
from collections.abc import Mapping

ATTRIBUTE_WORDS: Mapping[str, str] = {
    "home": "relocated umgezogen déménagé* mudado mudada resides reside",
    "work": """
        job employed employer employs hired promoted resigned joined retired trabajo trabaja jubilado jubilada
        arbeitet arbeite travaille
    """,
    "manager": "boss jefe jefa vorgesetzte* chefin",
    "contact": "phone telephone email e-mail mobile teléfono correo telefon handy téléphone",
    "partner": """
        married divorced dating separated single wife husband girlfriend boyfriend fiancé fiancée casado
        casada divorciado divorciada verheiratet geschieden marié* divorcé*
    """,
    "drink": """
        drink drinks coffee tea teas decaf espresso latte cappuccino juice wine beer beers alcohol soda café
        cerveza vino kaffee tee bier thé
    """,
    "diet": """
        vegetarian vegan eat eats diet meat gluten pescatarian kosher halal vegetariano vegetariana
        vegano vegana vegetarier vegetarierin végétarien*
    """,
    "dose": """
        dose doses dosage tablet tablets pill pills mg milligram* mcg microgram* dosis pastilla pastillas
        tabletten tablette comprimé* prescri*
    """,
    "money": """
        price cost costs worth value budget salary income rent fee charge charges spend owe owes paid pay pays
        quote discount deal precio cuesta alquiler presupuesto preis kostet miete gehalt prix loyer coûte
    """,
    "version": "version release pinned bumped upgrade upgraded downgrade downgraded versión",
    "schedule": """
        deadline due scheduled rescheduled postponed departing depart departs publication expire expires
        appointment meeting pushed delayed cancelled canceled caduca plazo termin frist verschoben
    """,
    "secret": "password passcode passphrase pin contraseña passwort kennwort",
    "status": """
        status stage merged fixed deployed released closed resolved reopened blocked signed shipped done
        pending evaluation approved rejected operational broken repaired estado
    """,
    "command": "command test tests build port branch endpoint url lint comando befehl",
    "record": """
        record score scored mark grade level rank points win wins won hold holds finished page pages página
        páginas seiten weigh weighs weight weighed progress nivel nota
    """,
    "role": """
        plays playing rule rules ruled king queen president mayor captain ceo chairperson crown regent
        chancellor minister
    """,
    "weekly": """
        monday mondays tuesday tuesdays wednesday wednesdays thursday thursdays friday fridays saturday
        saturdays sunday sundays weekday weekdays weekend weekends lunes martes miércoles jueves viernes
        sábado sábados domingo domingos
    """,
    "favourite": """
        favourite favorite favourites favorites prefer prefers preference favorito favorita favoritos
        favoritas lieblings* préféré*
    """,
    "rest": "left remaining leaves",
}
"""Attributes of which a subject mostly has one value at a time, and the words that speak of them."""

ATTRIBUTE_PHRASES: Mapping[str, str] = {
    "home": (
        r"(?:lives?|lived|living|based|settled|stays) (?:\w+ ){0,2}?(?:in|on|at|with|above|near|alone)"
        r"|(?:we|i|family|has|have|she|he|they) moved"
        r"|moved (?:(?!the |an? |my |our )\w+ ){0,2}?(?:to|into|back|out|house|in with)"
        r"|home address|address is|(?:rented|new|terraced) (?:flat|apartment|house|home)|viv[oe] (?:\w+ )?en"
        r"|me mudé|wohn(?:e|t|en) (?:in|bei|an|am)|habit(?:e|ons) "
    ),
    "work": r"work(?:s|ing)? (?:as|at|for|in)|(?:head|director|manager|chief) (?:of|at)|left in|laid off",
    "manager": r"line manager|reports? to|reporting to|my manager|['’]s manager|(?:mon|ma|mein) chef",
    "contact": r"number is|direct line",
    "partner": r"engaged to|broke up",
    "drink": r"flat whites?",
    "version": r"v\d",
    "schedule": (
        r"planned for|leaves at|runs? on|valid until|starts? (?:on|at|in)|takes place|going to"
        r"|brought forward"
    ),
    "secret": r"(?:alarm|door|access|entry) code|mot de passe",
    "status": r"in progress|out of service",
    "command": r"run with|listens? on",
    "record": r"personal best|best time",
    "role": r"played by|chief executive officer|head coach",
    "weekly": r"every (?:week|day|month|morning|evening)",
}

ATTRIBUTES_OF_ONE_VALUE = frozenset({"home", "manager", "secret", "dose", "version"})
"""Attributes whose words rarely speak of anything else, and of which nobody has two."""

CHANGE_WORDS: Mapping[str, str] = {
    "ended": """
        anymore quit quits stopped cancelled canceled retired left resigned died dies burned burnt
        divorced sold jubilado jubilada aufgehört
    """,
    "now": """
        now nowadays currently ahora actualmente jetzt inzwischen mittlerweile maintenant désormais ya
    """,
    "since": "desde seit depuis",
    "changed": """
        changed changes switch switched switches replaced replaces instead swapped updated revised rewritten
        corrected correction actually admitted retracted withdrew reversed reconsidered evolved became becomes
        cambiado cambiada cambié geändert gewechselt stattdessen changé remplacé
    """,
    "moved": """
        moved relocated rescheduled postponed pushed delayed transferred promoted mudado mudada umgezogen
        verschoben déménagé reporté
    """,
    "amount": """
        raised increased decreased reduced lowered halved doubled bumped upgraded downgraded grew final
        finally subido bajado aumentado erhöht gesenkt augmenté réduit
    """,
    "done": """
        merged signed finished completed paid settled square solved fixed arrived passed recovered terminado
        pagado fertig bezahlt terminé payé
    """,
    "new": "nuevo nueva nuevos nuevas neue neuer neues neuen nouveau nouvelle",
}
"""Words of a newer statement that announce that something is no longer as it was, by kind of change."""

CHANGE_PHRASES: Mapping[str, str] = {
    "ended": (
        r"no longer|any more|g[ia]ve[sn]? up|(?:is|are|was) gone|got rid of|called off|dropped out|pulled out"
        r"|turned down|was (?:poisoned|killed)|broke up|ya no|dej(?:é|ado) de|nicht mehr|ne (?:\w+ ){1,3}plus"
    ),
    "now": r"these days|at present|as of",
    "since": (
        r"since (?!\d{4}\b)\S|from (?:\w+ )?(?:january|february|march|april|may|june|july|august|september"
        r"|october|november|december|next week|next month|tomorrow) on|ab sofort"
    ),
    "changed": (
        r"rather than|turn(?:ed|s) out|t(?:aking|ook|akes) (?:it )?back|made an exception|turned into"
        r"|en vez de"
    ),
    "moved": r"brought forward|me mudé",
    "amount": (
        r"cut to|(?:went|goes|gone|go|put|turned) (?:up|down)|dropped to|which (?:makes|leaves)|first time"
    ),
    "done": r"c(?:ame|omes) back|is solid",
    "new": r"(?:new|latest|another) \w",
}

WEAK_CHANGES = frozenset({"new", "since"})
"""Changes whose words are frequent in statements that outdate nothing."""

_NUMBER = r"\d{1,3}(?:[,.]\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?"
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_COUNTED = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dos|tres|cuatro|cinco|zwei|drei|vier"
)
_CURRENCIES = "usd|eur|gbp|euros?|dollars?|pounds?|yuan|crowns?"


def _value(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


NUMBERS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("clock", _value(r"(?<![\d:])(?P<value>\d{1,2}:\d{2}(?::\d{2})?)(?![\d:])")),
    ("version", _value(r"(?<![\d.])(?P<value>\d+\.\d+\.\d+)(?![\d.])")),
    ("percent", _value(r"(?<!\d)(?P<value>\d{1,20}(?:[.,]\d{1,20})?) ?(?:%|percent|per cent)")),
    ("share", _value(r"(?<![\d/])(?P<value>\d{1,3}/\d{1,3})(?![\d/])")),
    ("date", _value(rf"\b(?P<value>\d{{1,2}} (?:{_MONTHS})|(?:{_MONTHS}) \d{{1,2}}(?!\d))\b")),
    ("month", _value(rf"\b(?P<value>(?:{_MONTHS}),? \d{{4}})\b")),
    ("money", _value(rf"[$€£¥] ?(?P<value>{_NUMBER})(?![\w.]*\d)")),
    ("money", _value(rf"(?<![\w.])(?P<value>{_NUMBER})(?:k| ?(?:{_CURRENCIES}))\b")),
    ("number", _value(rf"(?<![\w.:/-])(?P<value>{_NUMBER}) (?P<unit>[^\W\d_]{{2,}})")),
    ("number", _value(rf"\b(?P<unit>[^\W\d_]{{3,}})(?: (?:is|of|to|a|=))? (?P<value>{_NUMBER})(?![\w:/-])")),
    ("port", _value(r"(?:localhost|port)[: ](?:is )?(?P<value>\d{2,5})\b")),
)
"""Values with digits, by kind; with a group `unit`, each unit is a kind of its own."""

WORDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("weekday", _value(r"\b(?P<value>(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?\b")),
    ("count", _value(rf"\b(?P<value>{_COUNTED})\b")),
    ("quoted", _value(r"(?:^|(?<=[\s(:]))['‘\"“`](?P<value>[^'’\"”`\n]{2,80})['’\"”`](?!\w)")),
)
"""Values without digits, by kind."""

_KIN_TEXT = """
mother father mum mom dad sister brother son daughter wife husband partner child children aunt uncle
cousin niece nephew grandmother grandfather grandma grandpa mother-in-law father-in-law friend neighbour
neighbor colleague boss dog cat madre padre hermana hermano hija hijo marido mujer tía tío amiga amigo
gato perro mutter vater schwester bruder sohn tochter mann frau tante onkel freund freundin hund katze
mère père soeur sœur frère fils fille mari femme ami amie chat chien
"""
KIN = frozenset(_KIN_TEXT.split())
"""Whom a statement can be about beside the owner."""

_MANY_VALUED_TEXT = """
like likes love loves enjoy enjoys visited went attended bought read reads watched met ate made saw has
have speak speaks told said say says think thinks believe believes feel feels felt hope hopes want wants
tried shared shares encouraged encourages appreciate appreciates values planning considering
"""
MANY_VALUED = frozenset(_MANY_VALUED_TEXT.split())
"""Verbs of which a subject has many objects: a second one does not replace the first."""

_PAST_VERBS_TEXT = """
ate became began bought brought built came caught chose did drank drove fell flew found gave got grew had
heard held kept knew led left lent lost made met paid ran read rode said sang sat saw sent sold spent stood
swam taught thought threw told took went won wore wrote
"""
PAST_VERBS = frozenset(_PAST_VERBS_TEXT.split())
"""Irregular verbs in the simple past."""
AUXILIARIES = frozenset(
    {"is", "are", "was", "were", "be", "been", "being", "am", "i'm", "it's", "has", "have", "had", "got"}
)
"""A participle after one of these is no verb in the simple past: "is based in", "has moved"."""

_OWNER_TEXT = "i i'm i've i'd i'll my me mine we we've we're our user"
OWNER_WORDS = frozenset(_OWNER_TEXT.split())

_STOPWORDS_TEXT = """
a about above after again all also always am an and any anything are as at be because been before being
but by can can't could did didn't do does doesn't doing don't done down during each else ever every few
for from further get gets got had has have having he he's her here hers him his how i i'd i'll i'm i've
if in into is isn't it it's its itself just last least less let like made make makes many may me mine
more most much must my myself never new no nor not now of off on once one only or other our ours out over
own per quite rather really said same say says she she's should since so some still such than that that's
the their theirs them then there there's these they they're this those though through till to today
together tomorrow too two under until up us use user very via was wasn't way we we're we've went were
what when where which while who whom whose why will with within without won't would yes yesterday yet you
your yours january february march april june july august september october november december monday
tuesday wednesday thursday friday saturday sunday el la los las un una unos unas de del al y o que en con
por para es son está se su sus mi mis me te lo le les ya no muy más como pero desde hasta ha he han hay
der die das ein eine einen und oder ist sind im am zu mit für von auf bei aus nach seit ich mein meine er
sie es wir nicht des du et ou est sont dans avec pour par sur je mon ma mes il elle nous ne pas qui
"""
STATEMENT_STOPWORDS = frozenset(_STOPWORDS_TEXT.split())
"""Words that do not say what a statement is about."""
