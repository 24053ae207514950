"""Relations between people in texts: which words mean the same relation, and the name beside one.

"My mum" and "my mother" are the same person. In "her husband Tobias", "Tobias is my husband" and
"Mother-in-law Birgitta is coming" the name beside the relation says who is meant. English, Spanish, German
and French.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

_GROUPS_TEXT = """
husband marido esposo mann ehemann mari époux partner pareja spouse
wife mujer esposa frau ehefrau femme épouse partner pareja spouse
partner boyfriend girlfriend fiancé fiancée novio novia pareja partnerin copain copine compagnon compagne
mother mum mom mam mama mamá mummy madre mutter mère maman
father dad daddy papa papá padre vater père
parents padres eltern
son hijo sohn fils
daughter hija tochter fille
child children kid kids hijos kind kinder enfant enfants son sons daughter daughters
brother hermano bruder frère
sister hermana schwester sœur soeur
grandmother grandma granny abuela oma großmutter grand-mère
grandfather grandpa abuelo opa großvater grand-père
aunt auntie tía tante
uncle tío onkel oncle
cousin primo prima cousine vetter
niece sobrina nichte nièce
nephew sobrino neffe neveu
mother-in-law suegra schwiegermutter belle-mère
father-in-law suegro schwiegervater beau-père
brother-in-law cuñado schwager beau-frère
sister-in-law cuñada schwägerin belle-sœur
friend pal mate buddy amigo amiga freund freundin ami amie
boss manager supervisor jefe jefa chef chefin vorgesetzter patron patronne
colleague coworker co-worker teammate compañero compañera kollege kollegin collègue
landlord landlady casero casera vermieter vermieterin propriétaire
neighbour neighbor vecino vecina nachbar nachbarin voisin voisine
flatmate roommate housemate mitbewohner mitbewohnerin colocataire
teacher tutor instructor maestro maestra profesor profesora lehrer lehrerin professeur
doctor gp physician médico médica doctora arzt ärztin médecin
dentist dentista zahnarzt zahnärztin dentiste
lawyer solicitor attorney abogado abogada anwalt anwältin avocat avocate
accountant contable steuerberater steuerberaterin comptable
coach trainer entrenador entrenadora trainerin entraîneur
assistant secretary asistente secretaria assistent assistentin assistante
client customer cliente kunde kundin
dog perro perra hund hündin chien chienne puppy
cat gato gata katze kater chat chatte kitten
"""
_GROUPS = tuple(frozenset(line.split()) for line in _GROUPS_TEXT.strip().splitlines())
# "Étienne, Marta's brother" names a sister, too.
_INVERSES_TEXT = (
    (
        "brother sister hermano hermana bruder schwester frère sœur",
        "brother sister hermano hermana bruder schwester",
    ),
    (
        "mother mum mom father dad madre padre mutter vater mère père",
        "son daughter child hijo hija sohn tochter",
    ),
    (
        "son daughter child hijo hija sohn tochter kind fils fille",
        "mother mum mom father dad madre padre mutter",
    ),
)
_INVERSES = tuple((frozenset(each.split()), frozenset(inverse.split())) for each, inverse in _INVERSES_TEXT)
TEXT_MAX_CHARACTERS = 600
_PATTERNS_CACHED_MAX = 256
"""Sets of relations whose patterns are kept. Queries name few of the possible ones."""
RELATION_WORDS = frozenset[str]().union(*_GROUPS)
_ALL = "|".join(sorted(map(re.escape, RELATION_WORDS), key=len, reverse=True))
KIND_OF = re.compile(r"\bkinds? of\b", re.IGNORECASE)
"""English, not the German word for a child."""
_RELATION = re.compile(rf"\b(?!{KIND_OF.pattern})(?:{_ALL})(?=s?\b)(?![-])", re.IGNORECASE)
_NAME = r"(?-i:[A-ZÀ-ÖØ-Þ])[\w’'-]{1,40}"
# After it: "husband Tobias", "Mutter heißt Anna". Before it: "Tobias is my husband".
_AFTER = r"(?:,? (?:is |es |ist |est |called |named |se llama |heißt |s['’]appelle )?)"
_BEFORE = (
    r",? (?:is |es |ist |est )?"
    r"(?:my|our|her|his|their|the|mi|mein|meine|mon|ma|(?-i:[A-ZÀ-ÖØ-Þ])[\w’-]{1,40}['’]s) (?:\w+ )?"
)


def relations_in(text: str) -> frozenset[str]:
    """The words for relations in a text, with all other words for the same relations and their inverses."""
    found = {match[0].casefold() for match in _RELATION.finditer(text)}
    same = frozenset[str]().union(*(group for group in _GROUPS if not found.isdisjoint(group)))
    return same.union(*(inverse for each, inverse in _INVERSES if not each.isdisjoint(found)))


def names_beside(text: str, relations: frozenset[str]) -> Iterator[str]:
    """The names that a text puts beside one of the relations: "my husband Tobias", "Marta's brother"."""
    relation, beside = _patterns(relations)
    searched = text[:TEXT_MAX_CHARACTERS]
    # Most texts name no relation, which one search tells.
    if relation.search(searched) is None:
        return
    for pattern in beside:
        for match in pattern.finditer(searched):
            yield match[1].removesuffix("'s").removesuffix("’s")


@lru_cache(_PATTERNS_CACHED_MAX)
def _patterns(relations: frozenset[str]) -> tuple[re.Pattern[str], tuple[re.Pattern[str], ...]]:
    """A pattern for any of the relations, and patterns for a name beside one."""
    words = "|".join(map(re.escape, sorted(relations)))
    beside = (
        rf"\b(?:{words}){_AFTER}({_NAME})",
        rf"\b({_NAME}){_BEFORE}(?:{words})\b",
        rf"\b({_NAME}['’]s) (?:\w+ )?(?:{words})\b",
    )
    return (
        re.compile(rf"\b(?:{words})\b", re.IGNORECASE),
        tuple(re.compile(pattern, re.IGNORECASE) for pattern in beside),
    )
