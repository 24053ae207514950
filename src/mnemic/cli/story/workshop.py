"""The agent of a bicycle workshop: a year of repairs, suppliers and opening hours."""

from collections.abc import Iterator
from random import Random

from mnemic.cli.story.parts import Conversation, Entity, Goal, Note, Story, dialogue

CUSTOMERS = (
    "Anselm Roth", "Beata Kowal", "Cem Aydin", "Dilys Morgan", "Edda Brandt", "Farouk Haddad", "Greta Lund",
    "Henk Visser", "Ines Prado", "Jonas Keller", "Kaja Nowak", "Luca Ferri", "Mina Sato", "Nils Berg",
)  # fmt: skip
BIKES = ("city bike", "cargo bike", "touring bike", "racing bike", "folding bike", "mountain bike", "tandem")

# What is wrong, what was done, the part that it needed, and its price in euros.
REPAIRS: tuple[tuple[str, str, str, int], ...] = (
    ("the rear brake squeals", "cleaned the rim and fitted new pads", "brake pads", 18),
    ("the chain jumps under load", "replaced chain and cassette", "cassette", 64),
    ("the front wheel wobbles", "trued the wheel and replaced two spokes", "spokes", 6),
    ("the lamp flickers on cobbles", "soldered the cable of the dynamo", "cable", 4),
    ("the gears slip in winter", "flushed the hub and filled it with thin oil", "hub oil", 12),
    ("the saddle tilts", "fitted a new clamp", "saddle clamp", 15),
    ("the tyre loses air overnight", "found a thorn and patched the tube", "patch", 2),
    ("the bottom bracket creaks", "greased the shell and fitted a new bearing", "bottom bracket", 39),
    ("the disc rubs after every ride", "centred the caliper and bent the rotor back", "rotor", 22),
    ("the battery charges only to half", "sent the battery to Voltano for a test", "battery test", 45),
)
# How a mechanic reports a repair: customer, bike, problem, what was done, part and price are filled in.
REPORTS = (
    "{customer} brought a {bike}: {problem}. I {done}, {price} euros for the {part}.",
    "{customer}'s {bike} again. This time {problem}, so I {done}. The {part} is on the bill.",
    "For {customer}: {bike}, {problem}. Fixed, I {done}. They asked for used parts where possible.",
    "Before lunch {customer} came with the {bike} because {problem}. I {done}; {part} {price} euros.",
    "A {bike} for {customer}, promised for tonight. {problem}; I {done}.",
    "{customer} could not wait, so I {done} while they had a coffee: {problem} on the {bike}.",
)
ANSWERS = (
    "Order {number} is ready, and {customer} gets a message.",
    "I added the {part} to order {number}; only few are left in the drawer.",
    "Noted under {number}. {customer}'s next inspection is due in spring.",
    "{number} is closed. Shall I thank {customer} for waiting?",
    "That is the second {bike} with this trouble since the summer, see {number}.",
)
REPAIR_COUNT = 120
YEAR_DAYS = 363
FIRST_ORDER = 401

NOTES = (
    Note("The price of an inner tube is 7 euros.", 320, "factual", ("prices",)),
    Note("The price of an inner tube is 9 euros.", 30, "factual", ("prices",)),
    Note(
        "The workshop opens at nine and closes at six, on Saturdays at two.", 360, "factual", ("hours",), 1.0
    ),
    Note(
        "The workshop opens at ten and closes at six, on Saturdays at two.", 140, "factual", ("hours",), 1.0
    ),
    Note("Voltano delivers on Tuesdays.", 330, "factual", ("suppliers",), 1.0),
    Note("Voltano delivers on Thursdays.", 60, "factual", ("suppliers",), 1.0),
    Note("Spokes come from Draht Huber, who needs three days.", 280, "factual", ("suppliers",), 1.0),
    Note("Spokes come from Draht Huber and take three days.", 279, "factual", ("suppliers",), 0.8),
    Note("An inspection costs 59 euros and takes a day.", 250, "factual", ("prices",), 1.0),
    Note("An inspection costs 65 euros and takes a day.", 45, "factual", ("prices",), 1.0),
    Note("Customers with cargo bikes may prefer appointments before school.", 240, "behavioral", (), 0.4),
    Note("The compressor possibly leaks at the second valve.", 230, "factual", ("tools",), 0.35),
    Note(
        "To true a wheel: loosen first, quarter turns, check the dish twice.",
        300,
        "procedural",
        ("how-to",),
        1.0,
    ),
    Note(
        "To bleed a brake: lever up, syringe below, tap the hose, never reuse the oil.",
        295,
        "procedural",
        ("how-to",),
        1.0,
    ),
    Note("Order winter tyres before the end of September.", 85, "prospective", ("orders",), 1.0),
    Note("Pia prefers to work on hubs, Oskar on electric bikes.", 260, "preference", ("team",), 1.0),
)
ENTITIES = (
    Entity("person", "Pia", {"speciality": "hubs"}, ()),
    Entity("person", "Oskar", {"speciality": "electric bikes"}, ()),
    Entity("organisation", "Voltano", {"delivers": "Tuesdays", "sells": "batteries"}, ()),
    Entity("organisation", "Draht Huber", {"sells": "spokes", "delivery days": 3}, ("Huber",)),
    Entity("organisation", "Radhaus", {"closes": "18:00"}, ("the workshop",)),
)
RELATIONS = (
    ("Pia", "works at", "Radhaus"),
    ("Oskar", "works at", "Radhaus"),
    ("Voltano", "supplies", "Radhaus"),
    ("Draht Huber", "supplies", "Radhaus"),
)
CHANGED_FACTS = (("Voltano", "delivers", "Thursdays"),)
GOALS = (
    Goal("Have every winter bike ready before the first snow", 7),
    Goal("Reduce the waiting time for inspections to three days", 6),
)
QUESTIONS = (
    "When does the workshop open?",
    "How much does an inspection cost?",
    "When does Voltano deliver?",
    "Who delivers spokes?",
    "What was wrong with the tandem?",
    "Whose battery was tested?",
    "Does the workshop sell skis?",
)


def _repairs() -> Iterator[Conversation]:
    """Repairs over the year, the same ones at every call."""
    chosen = Random(7)  # noqa: S311 (a story, no secret)
    for number in range(REPAIR_COUNT):
        problem, done, part, price = chosen.choice(REPAIRS)
        words = {
            "customer": chosen.choice(CUSTOMERS),
            "bike": chosen.choice(BIKES),
            "problem": problem,
            "done": done,
            "part": part,
            "price": price,
            "number": FIRST_ORDER + number,
        }
        yield Conversation(
            f"order {FIRST_ORDER + number}",
            YEAR_DAYS * (1 - number / REPAIR_COUNT),
            dialogue(
                chosen.choice(("Pia", "Oskar")),
                (chosen.choice(REPORTS).format(**words), chosen.choice(ANSWERS).format(**words)),
            ),
        )


WORKSHOP = Story(
    owner="workshop",
    conversations=tuple(_repairs()),
    notes=NOTES,
    entities=ENTITIES,
    relations=RELATIONS,
    changed_facts=CHANGED_FACTS,
    goals=GOALS,
    questions=QUESTIONS,
    corrections=(
        (
            "An inspection costs 65 euros and takes a day.",
            "An inspection costs 65 euros and takes two days.",
            "Oskar",
        ),
    ),
)
