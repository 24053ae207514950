"""Rules that detect what a sentence says about a person: name, home, people, work, health, tastes, plans.

A sentence may say several things; the first facet is the one that it is mainly about. A sentence that begins
with a relative or a colleague ("My sister Sela lives in Oslo") is about people, whatever else it says.
English, Spanish, German and French words; a sentence in another language has only the facet of its category.
"""

import re
from collections.abc import Mapping
from typing import Literal, get_args

Facet = Literal[
    "identity", "home", "people", "work", "health", "style", "preferences", "expertise", "habits", "current"
]
FACETS: tuple[Facet, ...] = get_args(Facet)

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

# The first pattern that matches decides what a sentence is mainly about, so identity comes before work.
_PATTERNS: tuple[tuple[Facet, str], ...] = (
    (
        "identity",
        r"\b(?:my|her|his|their) name is\b|\b(?:is|am|i'm|aged) \d{1,2}(?= years\b|[,;.](?!\d)| and\b"
        r"| but\b|$)"
        r"|\b(?:i'm|i am|the user is) (?-i:[A-ZÀ-Þ])\w+"
        r"|^(?-i:[A-ZÀ-Þ][\w'’-]+)(?: (?-i:[A-ZÀ-Þ][\w'’-]+)){0,3}, \d{1,2}(?=[,;.](?!\d)| and\b)"
        r"|\byears old\b|\b(?:was|were|am) born\b|\bbirthday\b"
        r"|\b(?:nationality|pronouns|married|divorced|widowed|single)\b"
        r"|\bme llamo\b|\btengo \d+ años\b|\btiene \d+ años\b|\bcumplo años\b|\bnac[íi] (?:en|el)\b"
        r"|\bdivorciad[oa]\b|\bcasad[oa]\b"
        r"|\bich hei(?:ß|ss)e\b|\bmein name ist\b|\bich bin \d+\b|\bjahre alt\b|\bgeboren\b|\bgeburtstag\b"
        r"|\bverheiratet\b"
        r"|\bje m['’]appelle\b|\bj['’]ai \d+ ans\b|\ba \d+ ans\b|\bje suis née?\b|\bmariée?\b|\bdivorcée?\b",
    ),
    (
        "home",
        r"\b(?:(?:lives?|living|resides?) (?:in|on|at|with|near|alone|above)|based (?:in|at|near))\b"
        r"|\bmoved (?:in(?:to)?|to|out|house|at|home)\b"
        r"|\b(?:my|her|his|their|our|home) address\b|\b(?:my|her|his|our|new) (?:flat|apartment|house"
        r"|home) (?:is|in|on)\b"
        r"|\bhome ?town\b|\bvivo (?:en|con)\b|\bvive (?:en|con)\b|\bme he mudado\b|\bse mud[óo]\b"
        r"|\b(?:wohne|wohnt|lebe|lebt) (?:in|am|im|bei|mit)\b|\bumgezogen\b|\b(?:j['’]habite|habite|vis"
        r"|vit) (?:à|en|au|dans|chez|avec)\b"
        r"|\bdéménagée?\b",
    ),
    (
        "work",
        r"\b(?:work|works|working|worked) (?:as|at|for|in|with|from)\b|\b(?:my|her|his|their|new"
        r"|current) (?:job|employer|company|boss|"
        r"manager|team|salary)\b|\b(?:runs? an?|manages?|leads?|founded) (?:an? |the |my |his |her |our )?\w+"
        r"|\b(?:is|am|'m|as) an? (?:\w+[ -]){0,3}(?:nurse|doctor|teacher|engineer|developer|designer"
        r"|manager|director|lawyer|"
        r"student|consultant|analyst|writer|journalist|artist|musician|chef|cook|driver|accountant"
        r"|scientist|researcher|"
        r"professor|librarian|programmer|architect|electrician|plumber|carpenter|farmer|photographer|editor"
        r"|founder|nanny|"
        r"pharmacist|dentist|therapist|mechanic|officer|pilot|baker|assistant|freelancer)\b"
        r"|\b(?:teaches|studies|attends|employed|self-employed|freelances?|reports to|line manager"
        r"|colleagues?|career)\b"
        r"|\btrabaj[oa] (?:en|de|como|para)\b|\bsoy \w+(?:ari[oa]|or|ora|ista|er[oa]|ent[ea]|nt[ea])\b"
        r"|\bmi (?:jef[ea]|empresa|trabajo)\b"
        r"|\b(?:arbeite|arbeitet) (?:als|bei|in|für)\b|\b(?:mein|meine) (?:chef|chefin|firma|arbeit|job)\b"
        r"|\bvon beruf\b"
        r"|\b(?:travaille) (?:comme|chez|à|dans|pour)\b|\bmon (?:patron|travail|métier|entreprise)\b",
    ),
    (
        "health",
        r"\ballerg\w+|\bintoleran\w+|\basthma\w*|\bdiabet\w+|\bmigraines?\b|\bmedications?\b|\b\d+ ?mg\b"
        r"|\btablets?\b|\bepipen\b"
        r"|\bc(?:o?e)liac\b|\bdyslexi\w+|\bcolou?r-?blind\b|\bdiagnos\w+|\bpregnan\w+|\binjur\w+"
        r"|\bsurgery\b|\bchronic\b|\bblood\b"
        r"|\bdoctor'?s?\b|\bheart\b|\bdisab\w+|\badhd\b|\bautis\w+|\banxi\w+|\bdepress\w+|\bbroke (?:my|his"
        r"|her)\b|\bgluten\w*"
        r"|\balérgic[oa]\b|\bhipo\w+ismo\b|\bmedicación\b|\benfermedad\b|\bembarazada\b|\bceliac[oa]\b"
        r"|\ballergi\w+|\bmedikamente?\b|\bkrankheit\b|\bschwanger\b|\ballergique\b|\bmédicaments?\b"
        r"|\bmaladie\b|\benceinte\b",
    ),
    (
        "style",
        r"\b(?:answers?|repl(?:y|ies)|responses?|emails?|messages|summaries"
        r"|explanations?)\b.{0,40}\b(?:short|brief|concise|long|"
        r"detailed|formal|informal|bullet|drafted|in writing|plain|without|with|no)\b|\b(?:short|brief"
        r"|concise|detailed|formal|"
        r"plain) (?:answers?|repl(?:y|ies)|responses?|paragraphs?|emails?|messages|language)\b"
        r"|\bbullet points?\b|\bemojis?\b"
        r"|\bcalls? me\b|\bin writing\b|\btone\b|\bexclamation marks?\b|\b(?:british|american) spelling\b"
        r"|\bgive me\b|\baddress me\b"
        r"|\brespuestas?\b|\btutéa\w*\b|\btrátame\b|\bno me trates\b|\bantworten?\b|\bduze\w*\b"
        r"|\bsieze\w*\b|\bréponses?\b|\btutoie\w*\b",
    ),
    (
        "preferences",
        r"\bprefers?\b|\b(?:likes?|loves?|hates?|dislikes?|enjoys?|adores?|detests?)\b|\bfavou?rites?\b"
        r"|\bcan(?:'t|not|’t) stand\b"
        r"|\b(?:wants?|never|always|only) (?:wants?|eats?|drinks?|uses?|books?|flies|wears?|buys?|an?"
        r"|the)\b|\bvegetarian\b|\bvegan\b"
        r"|\b(?:scared|afraid|fond|tired) of\b|\bdoes(?:n't| not) (?:eat|drink|like|use)\b|\brather than\b"
        r"|\bprefier[oe]\b|\bme (?:gustan?|encantan?)\b|\bodi[oa]\b|\bfavorit[oa]s?\b|\bvegetarian[oa]\b"
        r"|\b(?:mag|liebt?e?|hasst?e?) (?:ich|er|sie|kein\w*)\b|\bich (?:mag|liebe|hasse)\b|\blieblings\w+"
        r"|\bbevorzug\w+|\bvegetarier\w*"
        r"|\bpréf[éè]re\w*|\b(?:j['’]aime|aime|déteste|adore)\b|\bfavorie?s?\b|\bvégétarienn?e?\b",
    ),
    (
        "expertise",
        r"\bspeaks?\b|\bfluent\b|\bnative (?:speaker|language)\b|\b(?:skilled|experienced|expert|certified"
        r"|trained|qualified)\b"
        r"|\bexpertise\b|\bexperience (?:with|in|as)\b|\b(?:degree|master'?s|phd|bachelor'?s|diploma)\b"
        r"|\bstudied\b|\bknows how\b"
        r"|\bhabl[oa] (?:\w+ ){0,2}(?:inglés|francés|alemán|español|italiano|euskera|catalán)?"
        r"|\bestudi[óa]\b|\bexpert[oa]\b"
        r"|\bspr(?:eche|icht)\b|\bstudiert?e?\b|\bparle\b|\bdiplômée?\b|\bétudie\b",
    ),
    (
        "habits",
        r"\bevery (?:other |second |first )?(?:day|week|month|year|morning|evening|night|weekend|\w+day)\b"
        r"|\bon \w+days\b|\bweekly\b"
        r"|\bdaily\b|\busually\b|\bvolunteers?\b|\b(?:plays?|runs|swims?|cycles?|rehearses?|practi[cs]es?"
        r"|trains?|collects?|reads)\b"
        r"|\bevening class\b|\bclub\b|\bband\b|\bhobb(?:y|ies)\b"
        r"|\blos (?:lunes|martes|miércoles|jueves|viernes|sábados|domingos)\b|\bcada (?:día|semana|mes"
        r"|mañana)\b|\bclases? de\b"
        r"|\bjede[nrs]? (?:tag|woche|monat|morgen|abend|\w+tag)\b|\b(?:mon|diens|donners|frei|sams"
        r"|sonn)tags\b|\bmittwochs\b"
        r"|\bchaque (?:jour|semaine|mois|matin|soir)\b|\btous les \w+s\b|\ble (?:lundi|mardi|mercredi|jeudi"
        r"|vendredi|samedi|dimanche)\b",
    ),
    (
        "current",
        r"\b(?:due|deadline|upcoming|pending|outstanding|unfinished|in progress|half done"
        r"|not (?:yet )?(?:merged|done|finished|decided|"
        r"paid|signed)|still missing|to do|todo|to prepare|next (?:step|meeting|visit|week|month)|planned"
        r"|booked|scheduled|reserved)\b"
        r"|\b(?:plans?|planning|hopes?|wants?|promised|saving|going|about) (?:to|for)\b|\bworking on\b"
        r"|\bwaiting for\b"
        r"|\b(?:is|are) coming\b|\bwill (?:\w+ )?(?:be|try|ask|start|go|visit|move|deliver|buy)\b"
        r"|\b(?:needs?|wants?|closes|ends|decides|"
        r"expires|renew\w*)\b.{0,60}\b(?:by|on|before|until) (?:\d|(?-i:[A-Z]))"
        r"|\bquiero\b|\bvoy a\b|\bpendientes?\b|\bplazo\b|\bestoy \w+(?:ando|iendo)\b|\bfällig\b"
        r"|\bgeplant\b|\bich will\b|\boffen\b|\bfrist\b"
        r"|\bje (?:vais|veux)\b|\bprévue?\b|\ben cours\b|\béchéance\b",
    ),
)
_COMPILED = tuple((facet, re.compile(pattern, re.IGNORECASE)) for facet, pattern in _PATTERNS)
_PEOPLE = re.compile(rf"\b(?:{RELATIVES}|{OTHER_PEOPLE})\b", re.IGNORECASE)
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
    re.IGNORECASE,
)
_RELATIVE = re.compile(rf"\b(?:{RELATIVES})\b", re.IGNORECASE)
_BY_CATEGORY: Mapping[str, Facet] = {
    "preference": "preferences",
    "behavioral": "habits",
    "prospective": "current",
}


def facets_of(text: str, category: str | None = None) -> tuple[Facet, ...]:
    """What a sentence says about a person, the main thing first; empty if the rules find nothing."""
    opening = text[:TEXT_MAX_CHARACTERS]
    found: list[Facet] = ["people"] if _PERSON_FIRST.match(opening) or _NAMED.search(opening) else []
    found += [facet for facet, pattern in _COMPILED if pattern.search(opening)]
    if "people" not in found and _PEOPLE.search(opening):
        found.append("people")
    if category is not None and category in _BY_CATEGORY:
        found.append(_BY_CATEGORY[category])
    return tuple(dict.fromkeys(found))


def names_relative(text: str) -> bool:
    """Whether a sentence names a relative or a partner."""
    return _RELATIVE.search(text[:TEXT_MAX_CHARACTERS]) is not None
