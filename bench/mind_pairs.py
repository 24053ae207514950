"""Hard pairs: two statements that look alike and both hold. Neither may outdate the other.

Generated from templates and invented names with a fixed seed. The kinds:

    attribute   one subject, another attribute
    subject     one attribute, another subject, with names that nearly agree
    set         an attribute of which there may be several values
    words       the same words in other places, or the value of one is the subject of the other
    kind        one verb, values of different kinds: a place and a year
    past        the newer one tells of the past, denies, supposes or asks
    restated    the newer one says the same in more or fewer words
    event       two events with the same verb

A pair is two patterns. `{a}` to `{c}` are people, `{k}` and `{l}` surnames, `{p}` to `{r}` places, `{f}` to
`{h}` firms, `{n}` and `{m}` numbers; all of a pair differ.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

PAIR_COUNT = 1_000
SEED = 18

FIRST_NAMES = [
    "Ansa",
    "Borbala",
    "Calix",
    "Dovydas",
    "Eskil",
    "Fenna",
    "Goran",
    "Hedda",
    "Imre",
    "Jorunn",
    "Kalle",
    "Liva",
    "Matis",
    "Noor",
    "Oona",
    "Paavo",
    "Quirin",
    "Runa",
    "Silje",
    "Taavi",
    "Ulla",
    "Vesna",
    "Wanda",
    "Xenia",
    "Yorick",
    "Zita",
]
LAST_NAMES = [
    "Abel",
    "Brandt",
    "Cordes",
    "Dahl",
    "Evers",
    "Falk",
    "Grote",
    "Holm",
    "Ibsen",
    "Jansen",
    "Kranz",
    "Lund",
    "Moor",
    "Nagel",
    "Ovesen",
    "Pohl",
]
PLACES = [
    "Aldmoor",
    "Brackwater",
    "Corfield",
    "Dunmere",
    "Eastholt",
    "Farrow",
    "Gildern",
    "Hexley",
    "Irnwick",
    "Jarrow",
    "Kelsby",
    "Lorne",
]
FIRMS = [
    "Alvera",
    "Bryce",
    "Cantor",
    "Delphine",
    "Emberly",
    "Foxglove",
    "Garnet",
    "Heliotrope",
    "Indigo",
    "Juniper",
    "Kestrel",
    "Larkspur",
]
FOODS = [
    "sushi",
    "pizza",
    "ramen",
    "curry",
    "tacos",
    "risotto",
    "pasta",
    "hummus",
    "paella",
    "kimchi",
    "falafel",
    "pancakes",
]
LANGUAGES = [
    "French",
    "German",
    "Spanish",
    "Dutch",
    "Polish",
    "Finnish",
    "Greek",
    "Turkish",
    "Welsh",
    "Czech",
    "Danish",
    "Hungarian",
]
THINGS = [
    "bicycle",
    "piano",
    "kayak",
    "camera",
    "tent",
    "telescope",
    "guitar",
    "sewing-machine",
    "loom",
    "scooter",
    "drum",
    "canoe",
]
SPORTS = [
    "tennis",
    "rowing",
    "judo",
    "chess",
    "cricket",
    "archery",
    "fencing",
    "golf",
    "hockey",
    "sailing",
    "surfing",
    "skiing",
]
JOBS = [
    "nurse",
    "baker",
    "teacher",
    "pilot",
    "plumber",
    "gardener",
    "surveyor",
    "carpenter",
    "librarian",
    "chemist",
    "painter",
    "tailor",
]

PATTERNS: Mapping[str, Sequence[tuple[str, str]]] = {
    "attribute": [
        ("{a}'s manager is {b}.", "{a}'s mentor is {c}."),
        ("{a} works at {f}.", "{a} administers the wiki of {g}."),
        ("{a} lives in {p}.", "{a} was born in {q}."),
        ("The capital of {p} is {q}.", "The largest harbour of {p} is {r}."),
        ("{a}'s phone number is {n}.", "{a}'s badge number is {m}."),
        ("{f} was founded by {a}.", "{f} was bought by {b}."),
        ("{a}'s favourite food is {food}.", "{a}'s favourite sport is {sport}."),
        ("The deadline of the {f} report is 3 May.", "The budget of the {f} report is 3,000 euros."),
        ("{a} is married to {b}.", "{a} is in business with {c}."),
        ("{f} is located in {p}.", "{f} was founded in {q}."),
        ("{a} reports to {b}.", "{a} complained to {c}."),
        ("The author of {p} Nights is {a}.", "The translator of {p} Nights is {b}."),
    ],
    "subject": [
        ("{a} {k}'s manager is {b}.", "{a} {l}'s manager is {c}."),
        ("The capital of North {p} is {q}.", "The capital of South {p} is {r}."),
        ("{a} lives in {p}.", "{a}'s sister lives in {q}."),
        ("{a} works at {f}.", "{b} works at {g}."),
        ("The password of the {f} server is {p}{n}.", "The password of the {g} server is {q}{m}."),
        ("The company that built {f} Pier {n} is {g}.", "The company that built {f} Pier {m} is {h}."),
        ("{a} {k} is a citizen of {p}.", "{a} {l} is a citizen of {q}."),
        ("The price of the {f} {thing} is {n} euros.", "The price of the {g} {thing} is {m} euros."),
        ("{a}'s mother works as a nurse.", "{a}'s father works as a baker."),
        ("The head of the {p} office is {a}.", "The head of the {q} office is {b}."),
        ("The kickoff of project {f} is on Monday.", "The kickoff of project {g} is on Friday."),
    ],
    "set": [
        ("{a} likes {food}.", "{a} likes {food2}."),
        ("{a} speaks {language}.", "{a} speaks {language2}."),
        ("{a} visited {p}.", "{a} visited {q}."),
        ("{a}'s friend is {b}.", "{a}'s friend is {c}."),
        ("{a}'s daughter is {b}.", "{a}'s daughter is {c}."),
        ("{a} owns a {thing}.", "{a} owns a {thing2}."),
        ("{a} is allergic to {food}.", "{a} is allergic to {food2}."),
        ("{a} is a member of the {sport} club.", "{a} is a member of the {sport2} club."),
        ("{a} plays {sport}.", "{a} plays {sport2}."),
        ("{a} is a {job}.", "{a} is a parent."),
        ("{a} has read {p} Nights.", "{a} has read {q} Days."),
        ("{a} is interested in {sport}.", "{a} is interested in {sport2}."),
        ("{a}'s hobby is {sport}.", "{a}'s hobby is {sport2}."),
        ("{a} knows {b}.", "{a} knows {c}."),
        ("{f} has an office in {p}.", "{f} has an office in {q}."),
        ("{a}'s car is red.", "{a}'s car is fast."),
        ("{a}'s colleague is {b}.", "{a}'s colleague is {c}."),
    ],
    "words": [
        ("{a} reports to {b}.", "{b} reports to {c}."),
        ("{a} teaches {b} {language}.", "{b} teaches {a} {language2}."),
        ("{a} lent {b} a {thing}.", "{b} lent {a} a {thing2}."),
        ("{f} bought {g}.", "{g} bought {h}."),
        ("{p} is north of {q}.", "{q} is north of {r}."),
        ("{a}'s dog is older than {b}'s cat.", "{b}'s dog is older than {a}'s cat."),
        ("The author of {p} Nights is {a}.", "{a} is married to {b}."),
    ],
    "kind": [
        ("{a} was born in {p}.", "{a} was born in 19{nn}."),
        ("{a} works in {p}.", "{a} works in finance."),
        ("{a} lives in {p}.", "{a} lives in a small flat."),
        ("The {f} fair is held in {p}.", "The {f} fair is held in June."),
        ("{a} died in {p}.", "{a} died in 19{nn}."),
        ("{f} was founded in {p}.", "{f} was founded in 19{nn}."),
        ("The meeting with {a} is in {p}.", "The meeting with {a} is in March."),
        ("{a} lives in {p}.", "{a} lives with two cats."),
    ],
    "past": [
        ("{a} works at {f}.", "{a} used to work at {g}."),
        ("{a} lives in {p}.", "Years ago {a} lived in {q}."),
        ("{a} lives in {p}.", "{a} would love to live in {q}."),
        ("{a}'s manager is {b}.", "{a}'s former manager is {c}."),
        ("{a} works at {f}.", "{a} does not work at {g}."),
        ("{a} is married to {b}.", "{a} was never married to {c}."),
        ("{a} lives in {p}.", "Maybe {a} lives in {q}."),
        ("The capital of {p} is {q}.", "The capital of {p} was once {r}."),
        ("{a} works at {f}.", "Does {a} work at {g}?"),
        ("{a} works at {f}.", "If {a} works at {g}, call {b}."),
    ],
    "restated": [
        ("{a} works at {f}.", "{a} works at {f} Brothers."),
        ("{a}'s manager is {b}.", "{a}'s manager is {b} {k}."),
        ("{a} lives in {p}.", "{a} lives in {p}, near the harbour."),
        ("The capital of {p} is {q}.", "{q} is the capital of {p}."),
        ("{f} was founded by {a}.", "{a} founded {f}."),
    ],
    "event": [
        ("{a} met {b} at {f}.", "{a} met {c} at {g}."),
        ("{a} flew to {p} on Monday.", "{a} flew to {q} on Friday."),
        ("{a} bought a {thing} for {n} euros.", "{a} bought a {thing2} for {m} euros."),
        ("{a} had {food} for dinner.", "{a} had {food2} for dinner."),
        ("{a} finished the {p} race in {n} minutes.", "{a} finished the {q} race in {m} minutes."),
        ("{a} gave a talk about {sport}.", "{a} gave a talk about {sport2}."),
        ("{a} praised {b} for the {f} report.", "{a} praised {c} for the {g} report."),
    ],
}
"""Two patterns of each pair, by kind."""


@dataclass(frozen=True)
class HardPair:
    """Two statements, in the order of time."""

    kind: str
    older: str
    newer: str


def hard_pairs(count: int = PAIR_COUNT, seed: int = SEED) -> Iterator[HardPair]:
    """Pairs of all kinds in turn, and of all patterns of a kind in turn; each has a cast of its own."""
    chance, kinds = random.Random(seed), list(PATTERNS)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        patterns = PATTERNS[kind]
        older, newer = patterns[number // len(kinds) % len(patterns)]
        words = _words(chance, number)
        yield HardPair(kind, older.format(**words), newer.format(**words))


def _words(chance: random.Random, number: int) -> dict[str, str]:
    """Words for the patterns. Names carry the number of the pair, so that no pair concerns another."""
    people = [f"{first} {_syllables(number)}" for first in chance.sample(FIRST_NAMES, 3)]
    words = dict(zip("abc", people, strict=True))
    words |= dict(zip("kl", chance.sample(LAST_NAMES, 2), strict=True))
    words |= dict(
        zip("pqr", (f"{each}{_syllables(number).lower()}" for each in chance.sample(PLACES, 3)), strict=True)
    )
    words |= dict(
        zip("fgh", (f"{each} {_syllables(number)}" for each in chance.sample(FIRMS, 3)), strict=True)
    )
    words |= dict(zip(("n", "m", "nn"), map(str, chance.sample(range(21, 98), 3)), strict=True))
    lists = {"food": FOODS, "language": LANGUAGES, "thing": THINGS, "sport": SPORTS, "job": JOBS}
    for name, listed in lists.items():
        words[name], words[f"{name}2"] = chance.sample(listed, 2)
    return words


_SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ha", "ke", "li", "mo", "nu")


def _syllables(number: int) -> str:
    """A name for a number, different for all up to 999."""
    return "".join(_SYLLABLES[int(digit)] for digit in f"{number:03}").title()
