"""Words of time in English, Spanish, German and French, as tables that the rules in `times.py` look up.

Everything is in small letters without accents: the text is converted by `plain_letters` first. A word that
means something else in another language (French "hier" is German for "here") has a rule of its own.
"""

from collections.abc import Iterable

# One character for one, so that positions stay the same. The first four match English letters in a
# case-insensitive pattern.
_PLAIN_LETTERS = str.maketrans(
    "\u0130\u0131\u017f\u212aáàâäãéèêëíìîïóòôöõúùûüñçÁÀÂÄÉÈÊËÍÌÎÏÓÒÔÖÚÙÛÜÑÇ’\u00a0",
    "IisKaaaaaeeeeiiiiooooouuuuncAAAAEEEEIIIIOOOOUUUUNC' ",
)


def plain_letters(text: str) -> str:
    """The text without accents, of the same length."""
    return text.translate(_PLAIN_LETTERS)


def one_of(words: Iterable[str]) -> str:
    """A pattern for any of the words, the longest first."""
    return "|".join(sorted(words, key=len, reverse=True))


def _numbered(lines: str, first: int = 0) -> dict[str, int]:
    """The number of the line that each word is in."""
    return {word: number for number, line in enumerate(lines.split("/"), first) for word in line.split()}


MONTHS = _numbered(
    "january jan enero januar janner janvier / february feb febrero februar fevrier"
    "/ march mar marzo marz mars / april apr abril avril / may mayo mai / june jun junio juni juin"
    "/ july jul julio juli juillet / august aug agosto aout"
    "/ september sept sep septiembre setiembre septembre"
    "/ october oct octubre oktober octobre / november nov noviembre novembre"
    "/ december dec diciembre dezember decembre",
    first=1,
)
MONTHS_THAT_ARE_WORDS = frozenset({"may", "march", "mar"})
"""Verbs and nouns in small letters: a month only where something else says so."""
MONTHS_ALONE = ("january", "february", "july", "september", "october", "november", "december")
"""Months that need no word before them to be one."""

WEEKDAYS = _numbered(
    "monday lunes montag lundi / tuesday martes dienstag mardi / wednesday miercoles mittwoch mercredi"
    "/ thursday jueves donnerstag jeudi / friday viernes freitag vendredi"
    "/ saturday sabado samstag sonnabend samedi / sunday domingo sonntag dimanche"
)

# The first month, counted from 0; winter reaches into the next year.
SEASONS = {
    **dict.fromkeys(("spring", "primavera", "fruhling", "fruhjahr", "printemps"), 2),
    **dict.fromkeys(("summer", "verano", "sommer", "ete"), 5),
    **dict.fromkeys(("autumn", "fall", "otono", "herbst", "automne"), 8),
    **dict.fromkeys(("winter", "invierno", "hiver"), 11),
}

_UNITS_TEXT = {
    "minute": "minute minutes minuto minutos minuten",
    "hour": "hour hours hora horas stunde stunden heure heures",
    "day": "day days dia dias tag tage tagen jour jours",
    "week": "week weeks semana semanas woche wochen semaine semaines",
    "weekend": "weekend weekends finde wochenende week-end",
    "month": "month months mes meses monat monate monaten mois",
    "quarter": "quarter quarters trimestre quartal",
    "year": "year years ano anos jahr jahre jahren an ans annee annees",
    "decade": "decade decades decada decadas jahrzehnt jahrzehnte jahrzehnten decennie decennies",
}
UNITS = {word: unit for unit, words in _UNITS_TEXT.items() for word in words.split()} | {
    "fin de semana": "weekend"
}
CALENDAR_UNITS = [word for word, unit in UNITS.items() if unit not in ("minute", "hour", "day")]
COUNTED_UNITS = [word for word, unit in UNITS.items() if unit not in ("weekend", "quarter")]

# "last", "this", "next": how many units away.
BEFORE, HERE, AHEAD = -1, 0, 1
WHICH = {
    **dict.fromkeys(["last", "past", "previous", "pasado", "pasada", "ultimo", "ultima"], BEFORE),
    **dict.fromkeys(
        ["letzte", "letzten", "letzter", "letztes", "letztem", "vorige", "vorigen", "voriger", "voriges"],
        BEFORE,
    ),
    **dict.fromkeys(
        ["vergangene", "vergangenen", "vergangener", "vergangenes", "dernier", "derniere"], BEFORE
    ),
    **dict.fromkeys(("this past",), BEFORE),
    **dict.fromkeys(
        ["this", "este", "esta", "diese", "diesen", "dieser", "dieses", "diesem", "ce", "cet", "cette"], HERE
    ),
    **dict.fromkeys(
        ["next", "coming", "proximo", "proxima", "nachste", "nachsten", "nachster", "nachstes", "prochain"],
        AHEAD,
    ),
    **dict.fromkeys(("this coming", "prochaine"), AHEAD),
}
WHICH_BEHIND = {
    **dict.fromkeys(["pasado", "pasada", "dernier", "derniere", "passe", "passee"], BEFORE),
    **dict.fromkeys(("proximo", "proxima", "que viene", "prochain", "prochaine"), AHEAD),
}
"""The same behind the word: "la semana pasada", "lundi dernier"."""
EVERY = ("every", "each", "a", "any", "los", "cada", "jeden", "jede", "jedes", "chaque", "les")

# Days from today, the first hour, and how many hours.
NAMED_DAYS = {
    **dict.fromkeys(("today", "hoy", "heute", "aujourd'hui"), (0, 0, 24)),
    **dict.fromkeys(("yesterday", "ayer", "gestern"), (-1, 0, 24)),
    **dict.fromkeys(("tomorrow", "demain"), (1, 0, 24)),
    **dict.fromkeys(("day before yesterday", "anteayer", "antes de ayer", "vorgestern"), (-2, 0, 24)),
    "avant-hier": (-2, 0, 24),
    **dict.fromkeys(("day after tomorrow", "pasado manana", "ubermorgen", "apres-demain"), (2, 0, 24)),
    **dict.fromkeys(
        ("last night", "last evening", "anoche", "letzte nacht", "la nuit derniere"), (-1, 18, 12)
    ),
    **dict.fromkeys(("tonight", "esta noche", "ce soir"), (0, 18, 12)),
    **dict.fromkeys(("this morning", "esta manana", "ce matin"), (0, 4, 8)),
    **dict.fromkeys(("this afternoon", "cet apres-midi"), (0, 12, 6)),
    "this evening": (0, 17, 7),
    "esta tarde": (0, 12, 9),
}
# The first hour of a day's part, and how many hours it has; night reaches into the next day.
DAY_PARTS = {
    **dict.fromkeys(("morning", "manana", "morgen", "fruh", "matin"), (4, 8)),
    "vormittag": (6, 6),
    "mittag": (11, 3),
    **dict.fromkeys(("afternoon", "nachmittag", "apres-midi"), (12, 6)),
    "tarde": (12, 9),
    **dict.fromkeys(("evening", "abend", "soir"), (17, 7)),
    **dict.fromkeys(("night", "noche", "nacht", "nuit"), (18, 12)),
}
RECENTLY = (
    *("recently", "lately", "of late", "recientemente", "ultimamente"),
    *("neulich", "kurzlich", "in letzter zeit", "recemment", "dernierement"),
)

# The smallest and the largest number that a word may mean.
NUMBERS = {
    word: (number, number)
    for word, number in _numbered(
        "a an one un una uno ein eine einem einer eins une / two couple dos zwei deux / three tres drei trois"
        "/ four cuatro vier quatre / five cinco funf cinq / six seis sechs / seven siete sieben sept"
        "/ eight ocho acht huit / nine nueve neun neuf / ten diez zehn dix / eleven once elf onze"
        "/ twelve doce zwolf douze",
        first=1,
    ).items()
} | {
    **dict.fromkeys(("a couple of", "couple of", "a couple"), (2, 2)),
    **dict.fromkeys(("a few", "few", "unos", "unas", "ein paar", "paar", "quelques", "einigen"), (2, 5)),
    "several": (3, 7),
}
ORDINALS = {
    **dict.fromkeys(("first", "1st", "primera", "primer", "erste", "ersten", "premiere"), 0),
    **dict.fromkeys(("second", "2nd", "segunda", "segundo", "zweite", "zweiten", "deuxieme"), 1),
    **dict.fromkeys(("third", "3rd", "tercera", "tercer", "dritte", "dritten", "troisieme"), 2),
    **dict.fromkeys(("fourth", "4th", "cuarta", "cuarto", "vierte", "vierten", "quatrieme"), 3),
    **dict.fromkeys(("last", "ultima", "ultimo", "letzte", "letzten", "derniere"), -1),
}
