"""Rules that detect what a sentence says about a person: name, home, people, work, health, tastes, plans.

A sentence may say several things; the first facet is the one that it is mainly about. A sentence that begins
with a relative or a colleague ("My sister Sela lives in Oslo") is about people, whatever else it says.
English, Spanish, German and French words; a sentence in another language has only the facet of its category.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

Facet = Literal[
    "identity", "home", "people", "work", "health", "style", "preferences", "expertise", "habits", "current"
]

CACHED_TEXTS = 4_096
CACHED_WORDS = 16_384
TEXT_MAX_CHARACTERS = 400
"""Only the beginning of a text is read: a longer one is not a fact about a person."""

_RELATIVES_TEXT = """
husband wife spouse partner fianc[ée]e? boyfriend girlfriend mother mum mom mam father dad parents? son
sons daughters?
child children kids? baby brothers? sisters? siblings? twins?
grand(?:mother|father|ma|pa|parents?|sons?|daughters?)
aunt uncle cousins? niece nephew step(?:mother|father|son|daughter)s?
(?:mother|father|brother|sister|son|daughter)-in-law
ex-(?:husband|wife) family
marido mujer esposo esposa pareja novio novia exmarido exmujer madre mam[áa] padre pap[áa] hij[oa]s?
herman[oa]s?
abuel[oa]s? t[íi]os? t[íi]as? prim[oa]s? sobrin[oa]s? suegr[oa]s? cuñad[oa]s? familia
mann frau ehemann ehefrau partnerin freund freundin mutter mama vater papa eltern sohn söhne tochter
töchter kind kinder
bruder brüder schwestern? geschwister oma opa großmutter großvater tante onkel neffe nichte schwieger\\w+
familie
mari femme épou(?:x|se) compagn(?:on|e) copain copine mère maman père fils filles? enfants? frères? sœurs?
grand-(?:mère|père)
oncle cousine? neveu nièce famille
"""
_OTHERS_TEXT = """
friends? best-friend flatmate roommate neighbou?rs? landlord landlady boss manager supervisor mentor
colleagues? coworkers?
teammates? assistant teacher tutor coach doctor dentist therapist lawyer accountant babysitter nanny client
customer
amig[oa]s? compañer[oa]s? vecin[oa]s? jef[ea]s? caser[oa] maestr[oa] profesora? doctora? m[ée]dic[oa]
dentista abogad[oa]
chef chefin kollegen? kollegin nachbarn? nachbarin vermieter vermieterin lehrer lehrerin arzt ärztin
zahnarzt trainer
amie? ami(?:s|es) collègues? voisine? patronn?e? propriétaire professeure? médecin dentiste avocate?
"""
RELATIVES = "|".join(_RELATIVES_TEXT.split())
OTHER_PEOPLE = "|".join(_OTHERS_TEXT.split())

# The first facet that matches decides what a sentence is mainly about, so identity comes before work. Each
# line is a pattern for small letters, which begins with a word.
_PATTERNS: Mapping[Facet, str] = {
    "identity": r"""
        (?:my|her|his|their) name is\b
        (?:is|am|i'm|aged) \d{1,2}(?= years\b|[,;.](?!\d)| and\b| but\b|$)
        years old\b
        (?:was|were|am) born\b
        birthday\b
        (?:nationality|pronouns|married|divorced|widowed|single)\b
        me llamo\b
        tengo \d+ años\b
        tiene \d+ años\b
        cumplo años\b
        nac[íi] (?:en|el)\b
        divorciad[oa]\b
        casad[oa]\b
        ich hei(?:ß|ss)e\b
        mein name ist\b
        ich bin \d+\b
        jahre alt\b
        geboren\b
        geburtstag\b
        verheiratet\b
        je m['’]appelle\b
        j['’]ai \d+ ans\b
        a \d+ ans\b
        je suis née?\b
        mariée?\b
        divorcée?\b
    """,
    "home": r"""
        (?:(?:lives?|living|resides?) (?:in|on|at|with|near|alone|above)|based (?:in|at|near))\b
        moved (?:in(?:to)?|to|out|house|at|home)\b
        (?:my|her|his|their|our|home) address\b
        (?:my|her|his|our|new) (?:flat|apartment|house|home) (?:is|in|on)\b
        home ?town\b
        vivo (?:en|con)\b
        vive (?:en|con)\b
        me he mudado\b
        se mud[óo]\b
        (?:wohne|wohnt|lebe|lebt) (?:in|am|im|bei|mit)\b
        umgezogen\b
        (?:j['’]habite|habite|vis|vit) (?:à|en|au|dans|chez|avec)\b
        déménagée?\b
    """,
    "work": r"""
        (?:work|works|working|worked) (?:as|at|for|in|with|from)\b
        (?:my|her|his|their|new|current) (?:job|employer|company|boss|manager|team|salary)\b
        (?:runs? an?|manages?|leads?|founded) (?:an? |the |my |his |her |our )?\w+
        (?:is|am|'m|as) an? (?:\w+[ -]){0,3}(?:nurse|doctor|teacher|engineer|developer|designer|manager)\b
        (?:is|am|'m|as) an? (?:\w+[ -]){0,3}(?:director|lawyer|student|consultant|analyst)\b
        (?:is|am|'m|as) an? (?:\w+[ -]){0,3}(?:writer|journalist|artist|musician|chef|cook|driver)\b
        (?:is|am|'m|as) an? (?:\w+[ -]){0,3}(?:accountant|scientist|researcher|professor)\b
        (?:is|am|'m|as) an? (?:\w+[ -]){0,3}(?:librarian|programmer|architect|electrician|plumber)\b
        (?:is|am|'m|as) an? (?:\w+[ -]){0,3}(?:carpenter|farmer|photographer|editor|founder|nanny)\b
        (?:is|am|'m|as) an? (?:\w+[ -]){0,3}(?:pharmacist|dentist|therapist|mechanic|officer|pilot|baker)\b
        (?:is|am|'m|as) an? (?:\w+[ -]){0,3}(?:assistant|freelancer)\b
        (?:teaches|studies|attends|employed|self-employed|freelances?)\b
        (?:reports to|line manager|colleagues?|career)\b
        trabaj[oa] (?:en|de|como|para)\b
        soy \w+(?:ari[oa]|or|ora|ista|er[oa]|ent[ea]|nt[ea])\b
        mi (?:jef[ea]|empresa|trabajo)\b
        (?:arbeite|arbeitet) (?:als|bei|in|für)\b
        (?:mein|meine) (?:chef|chefin|firma|arbeit|job)\b
        von beruf\b
        (?:travaille) (?:comme|chez|à|dans|pour)\b
        mon (?:patron|travail|métier|entreprise)\b
    """,
    "health": r"""
        allerg\w+
        intoleran\w+
        asthma\w*
        diabet\w+
        migraines?\b
        medications?\b
        \d+ ?mg\b
        tablets?\b
        epipen\b
        c(?:o?e)liac\b
        dyslexi\w+
        colou?r-?blind\b
        diagnos\w+
        pregnan\w+
        injur\w+
        surgery\b
        chronic\b
        blood\b
        doctor'?s?\b
        heart\b
        disab\w+
        adhd\b
        autis\w+
        anxi\w+
        depress\w+
        broke (?:my|his|her)\b
        gluten\w*
        alérgic[oa]\b
        hipo\w+ismo\b
        medicación\b
        enfermedad\b
        embarazada\b
        celiac[oa]\b
        allergi\w+
        medikamente?\b
        krankheit\b
        schwanger\b
        allergique\b
        médicaments?\b
        maladie\b
        enceinte\b
    """,
    "style": r"""
        (?:answers?|repl(?:y|ies)|responses?)\b.{0,40}\b(?:short|brief|concise|long|detailed|formal|informal)\b
        (?:answers?|repl(?:y|ies)|responses?)\b.{0,40}\b(?:bullet|drafted|in writing|plain|without|with|no)\b
        (?:emails?|messages|summaries|explanations?)\b.{0,40}\b(?:short|brief|concise|long)\b
        (?:emails?|messages|summaries|explanations?)\b.{0,40}\b(?:detailed|formal|informal)\b
        (?:emails?|messages|summaries|explanations?)\b.{0,40}\b(?:bullet|drafted|in writing|plain)\b
        (?:emails?|messages|summaries|explanations?)\b.{0,40}\b(?:without|with|no)\b
        (?:short|brief|concise|detailed|formal|plain) (?:answers?|repl(?:y|ies)|responses?|paragraphs?)\b
        (?:short|brief|concise|detailed|formal|plain) (?:emails?|messages|language)\b
        bullet points?\b
        emojis?\b
        calls? me\b
        in writing\b
        tone\b
        exclamation marks?\b
        (?:british|american) spelling\b
        give me\b
        address me\b
        respuestas?\b
        tutéa\w*\b
        trátame\b
        no me trates\b
        antworten?\b
        duze\w*\b
        sieze\w*\b
        réponses?\b
        tutoie\w*\b
    """,
    "preferences": r"""
        prefers?\b
        (?:likes?|loves?|hates?|dislikes?|enjoys?|adores?|detests?)\b
        favou?rites?\b
        can(?:'t|not|’t) stand\b
        (?:wants?|never|always|only) (?:wants?|eats?|drinks?|uses?|books?|flies|wears?|buys?|an?|the)\b
        vegetarian\b
        vegan\b
        (?:scared|afraid|fond|tired) of\b
        does(?:n't| not) (?:eat|drink|like|use)\b
        rather than\b
        prefier[oe]\b
        me (?:gustan?|encantan?)\b
        odi[oa]\b
        favorit[oa]s?\b
        vegetarian[oa]\b
        (?:mag|liebt?e?|hasst?e?) (?:ich|er|sie|kein\w*)\b
        ich (?:mag|liebe|hasse)\b
        lieblings\w+
        bevorzug\w+
        vegetarier\w*
        préf[éè]re\w*
        (?:j['’]aime|aime|déteste|adore)\b
        favorie?s?\b
        végétarienn?e?\b
    """,
    "expertise": r"""
        speaks?\b
        fluent\b
        native (?:speaker|language)\b
        (?:skilled|experienced|expert|certified|trained|qualified)\b
        expertise\b
        experience (?:with|in|as)\b
        (?:degree|master'?s|phd|bachelor'?s|diploma)\b
        studied\b
        knows how\b
        habl[oa] (?:\w+ ){0,2}(?:inglés|francés|alemán|español|italiano|euskera|catalán)?
        estudi[óa]\b
        expert[oa]\b
        spr(?:eche|icht)\b
        studiert?e?\b
        parle\b
        diplômée?\b
        étudie\b
    """,
    "habits": r"""
        every (?:other |second |first )?(?:day|week|month|year|morning|evening|night|weekend|\w+day)\b
        on \w+days\b
        weekly\b
        daily\b
        usually\b
        volunteers?\b
        (?:plays?|runs|swims?|cycles?|rehearses?|practi[cs]es?|trains?|collects?|reads)\b
        evening class\b
        club\b
        band\b
        hobb(?:y|ies)\b
        los (?:lunes|martes|miércoles|jueves|viernes|sábados|domingos)\b
        cada (?:día|semana|mes|mañana)\b
        clases? de\b
        jede[nrs]? (?:tag|woche|monat|morgen|abend|\w+tag)\b
        (?:mon|diens|donners|frei|sams|sonn)tags\b
        mittwochs\b
        chaque (?:jour|semaine|mois|matin|soir)\b
        tous les \w+s\b
        le (?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)\b
    """,
    "current": r"""
        (?:due|deadline|upcoming|pending|outstanding|unfinished|in progress|half done|still missing)\b
        not (?:yet )?(?:merged|done|finished|decided|paid|signed)\b
        (?:to do|todo|to prepare|next (?:step|meeting|visit|week|month)|planned|booked|scheduled|reserved)\b
        (?:plans?|planning|hopes?|wants?|promised|saving|going|about) (?:to|for)\b
        working on\b
        waiting for\b
        (?:is|are) coming\b
        will (?:\w+ )?(?:be|try|ask|start|go|visit|move|deliver|buy)\b
        quiero\b
        voy a\b
        pendientes?\b
        plazo\b
        estoy \w+(?:ando|iendo)\b
        fällig\b
        geplant\b
        ich will\b
        offen\b
        frist\b
        je (?:vais|veux)\b
        prévue?\b
        en cours\b
        échéance\b
    """,
}
# The same for texts as they are written, where capitals matter.
_CASED_PATTERNS: Mapping[Facet, str] = {
    "identity": (
        r"\b(?i:i'm|i am|the user is) [A-ZÀ-Þ]\w+"
        r"|^[A-ZÀ-Þ][\w'’-]+(?: [A-ZÀ-Þ][\w'’-]+){0,3}, \d{1,2}(?=[,;.](?!\d)| (?i:and)\b)"
    ),
    "current": (
        r"\b(?i:needs?|wants?|closes|ends|decides|expires|renew\w*)\b"
        r".{0,60}\b(?i:by|on|before|until) (?:\d|[A-Z])"
    ),
}


def _any_of(lines: str) -> re.Pattern[str]:
    """Any of the patterns; looking for the beginning of a word once makes the search several times faster."""
    return re.compile(rf"\b(?:{'|'.join(filter(None, map(str.strip, lines.splitlines())))})")


_COMPILED = tuple((facet, _any_of(lines)) for facet, lines in _PATTERNS.items())
_CASED = {facet: re.compile(pattern) for facet, pattern in _CASED_PATTERNS.items()}
_PEOPLE = re.compile(rf"{RELATIVES}|{OTHER_PEOPLE}")
# Repetitions are bounded, so that no text takes long.
_DETERMINER = (
    r"(?:my|our|your|her|his|their|the|mis?|tus?|sus?|nuestr[oa]s?|las?|los|el|mein\w{0,8}|unser\w{0,8}|dein\w{0,8}"
    r"|ihr\w{0,8}"
    r"|sein\w{0,8}|die|der|mon|ma|mes|nos|notre|ton|ta|ses|son|leur|les?|[^\W\d_][\w-]{0,30}['’]s?)"
)
# The subject of the sentence is a relation: "Daughter Amara is 9", "Ifeoma's mother calls every Sunday".
_PERSON_FIRST = re.compile(
    rf"\W{{0,5}}(?:{_DETERMINER} (?:[\w-]{{1,30}} ){{0,2}}?)?(?:{RELATIVES}|{OTHER_PEOPLE})\b", re.IGNORECASE
)
# Animals and others that have a name: "I have a retired greyhound called Biscuit".
_NAMED = re.compile(
    r"\b(?:have|has|got|tengo|tiene|habe|hat|ai|a) (?:an?|un|una|einen?|une) (?:\w+ ){1,3}"
    r"(?:called|named|llamad[oa]|namens|qui s['’]appelle)\b",
)
_RELATIVE = re.compile(RELATIVES)
_WORD = re.compile(r"\w+")
_BY_CATEGORY: Mapping[str, Facet] = {
    "preference": "preferences",
    "behavioral": "habits",
    "prospective": "current",
}


def facets_of(text: str, category: str | None = None) -> tuple[Facet, ...]:
    """What a sentence says about a person, the main thing first; empty if the rules find nothing."""
    found = _facets_of(text[:TEXT_MAX_CHARACTERS])
    by_category = _BY_CATEGORY.get(category or "")
    return found if by_category is None or by_category in found else (*found, by_category)


@lru_cache(CACHED_TEXTS)
def _facets_of(opening: str) -> tuple[Facet, ...]:
    lowered = opening.lower()
    found: list[Facet] = ["people"] if _PERSON_FIRST.match(opening) or _NAMED.search(lowered) else []
    found += [
        facet
        for facet, pattern in _COMPILED
        if pattern.search(lowered) or (facet in _CASED and _CASED[facet].search(opening))
    ]
    if "people" not in found and any(map(_is_person, _WORD.findall(lowered))):
        found.append("people")
    return tuple(found)


def names_relative(text: str) -> bool:
    """Whether a sentence names a relative or a partner."""
    return any(map(_is_relative, _WORD.findall(text[:TEXT_MAX_CHARACTERS].lower())))


@lru_cache(CACHED_WORDS)
def _is_person(word: str) -> bool:
    return _PEOPLE.fullmatch(word) is not None


@lru_cache(CACHED_WORDS)
def _is_relative(word: str) -> bool:
    return _RELATIVE.fullmatch(word) is not None
