"""The agent that answers the customers of a note-taking app, with its tools, tickets and what it learnt."""

from collections.abc import Iterator
from random import Random

from mnemic.cli.story.parts import Conversation, Entity, Goal, JobPart, Note, Story, Strategy, dialogue

CUSTOMERS = (
    "Alma", "Boris", "Chloe", "Dev", "Elif", "Fintan", "Gala", "Hugo", "Ivana", "Jiro", "Kofi", "Lotte",
)  # fmt: skip

# The question, the answer, and the tools that the agent used for it.
TICKETS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "My notes do not sync between laptop and phone.",
        "The phone was signed in with another account. After signing in again everything was there.",
        ("find_account", "list_devices", "reset_sync"),
    ),
    (
        "I was charged twice this month.",
        "The second charge was a reservation and has been released. It takes three working days.",
        ("find_account", "list_payments", "refund"),
    ),
    (
        "The export to PDF cuts off wide tables.",
        "Wide tables need the landscape layout. I sent the link to the setting.",
        ("find_account", "search_manual"),
    ),
    (
        "I deleted a notebook by accident.",
        "Notebooks stay in the bin for thirty days. I restored it with all pages.",
        ("find_account", "list_bin", "restore_notebook"),
    ),
    (
        "How do I share a notebook with my class?",
        "Groups of up to forty are possible with the plan for schools. I activated a trial.",
        ("find_account", "search_manual", "start_trial"),
    ),
    (
        "The app closes when I paste a large picture.",
        "Pictures above 40 megapixels crash version 5.2. Version 5.3 scales them down.",
        ("find_account", "list_devices", "search_manual"),
    ),
    (
        "Please change the e-mail address of my account.",
        "The new address was confirmed and the old one removed.",
        ("find_account", "change_address"),
    ),
)
# What customers add to their question, and how the conversation ends well or badly.
DETAILS = (
    "It happens since Tuesday.", "I use the phone of my daughter.", "I have a lecture in an hour.",
    "It worked before the last update.", "My colleague has the same.", "I pay for the large plan.",
    "I am on a train, so please be brief.", "The laptop is seven years old.", "I tried twice.",
)  # fmt: skip
ENDS_WELL = (
    "{customer}: it works again, thank you!", "Perfect, that was quick.", "Now I see all of it again.",
    "Ah, the other account. I feel silly.", "Solved. You may close {number}.", "I will tell my colleague.",
)  # fmt: skip
ENDS_BADLY = (
    "That did not help. I will write again tomorrow.", "No, {number} is not solved for me.",
    "I have heard that before. Please give this to somebody else.",
)  # fmt: skip
FAREWELLS = (
    "{number} stays open for a week, {customer}.", "Gladly! I close {number} on Friday.",
    "I wrote down what you tried under {number}.", "A colleague looks at {number} tomorrow, {customer}.",
)  # fmt: skip
TICKET_COUNT = 50
FIRST_TICKET = 1001
YEAR_DAYS = 360
FAILS_EVERY = 9
"""Every ticket whose number this divides ends badly."""

NOTES = (
    Note("The limit of refunds without approval is 50 euros.", 320, "factual", ("refunds",)),
    Note("The limit of refunds without approval is 80 euros.", 70, "factual", ("refunds",)),
    Note(
        "For a refund: look for a reservation, ask for the reason, then refund.",
        320,
        "procedural",
        ("refunds",),
    ),
    Note("Pictures above 40 megapixels crash version 5.2.", 190, "factual", ("bugs",), 1.0),
    Note("Pictures larger than 40 megapixels crash version 5.2.", 189, "factual", ("bugs",), 0.9),
    Note("The plan for schools allows groups of forty.", 220, "factual", ("plans",), 1.0),
    Note("Customers who write at night are often in Asia.", 215, "behavioral", (), 0.35),
    Note("Write short answers, without jokes about the bin.", 210, "preference", ("style",), 1.0),
    Note("Tell Hugo when the table export is mended.", 25, "prospective", ("bugs",), 1.0),
)
STRATEGIES = (
    Strategy(
        "a customer's notes do not sync",
        "List the devices first; most often two accounts are in use.",
        ("find_account", "list_devices", "reset_sync"),
        True,
    ),
    Strategy(
        "a customer was charged twice",
        "Look for a reservation before refunding anything.",
        ("find_account", "list_payments"),
        True,
    ),
    Strategy("a customer lost a notebook", "Reset the sync.", ("reset_sync",), False),
)
ENTITIES = (
    Entity("product", "Papertrail", {"version": "5.2", "platforms": ["phone", "laptop"]}, ()),
    Entity("plan", "Papertrail for schools", {"group size": 40}, ("plan for schools",)),
    Entity("person", "Hugo", {"waits for": "the table export"}, ()),
    Entity("person", "Elif", {"plan": "schools"}, ()),
)
RELATIONS = (
    ("Papertrail for schools", "plan of", "Papertrail"),
    ("Hugo", "uses", "Papertrail"),
    ("Elif", "uses", "Papertrail for schools"),
)
CHANGED_FACTS = (("Papertrail", "version", "5.3"),)
GOALS = (
    Goal("Answer every ticket within a working day", 8),
    Goal("Write a page about the bin", 3),
)
QUESTIONS = (
    "How long do notebooks stay in the bin?",
    "Which pictures crash the app?",
    "How large may a refund be without approval?",
    "Why do notes not sync?",
    "How many people can share a notebook?",
    "What is the chief executive's salary?",
)
JOBS = (
    JobPart("helpdesk.digest", {"week": 44}, None),
    JobPart("helpdesk.digest", {"week": 45}, None),
    JobPart("helpdesk.digest", {"week": 46}, None),
    JobPart(
        "helpdesk.send_survey",
        {"ticket": "T-1012"},
        "The mail server refused the connection (10.0.0.12:587).",
    ),
    JobPart(
        "helpdesk.send_survey",
        {"ticket": "T-1027"},
        "The mail server refused the connection (10.0.0.12:587).",
    ),
    JobPart("helpdesk.send_survey", {"ticket": "T-1031"}, "The address of the customer has no host name."),
    JobPart("helpdesk.close_stale", {"days": 30}, "There is no ticket T-0990; it may have been erased."),
)


def _tickets() -> Iterator[Conversation]:
    """Tickets over the year, the same ones at every call."""
    chosen = Random(11)  # noqa: S311 (a story, no secret)
    for position in range(TICKET_COUNT):
        question, answer, tools = chosen.choice(TICKETS)
        succeeded = position % FAILS_EVERY != FAILS_EVERY - 1
        words = {"customer": chosen.choice(CUSTOMERS), "number": f"T-{FIRST_TICKET + position}"}
        end = chosen.choice(ENDS_WELL if succeeded else ENDS_BADLY).format(**words)
        turns = dialogue(
            words["customer"],
            (f"{question} {chosen.choice(DETAILS)}", f"{answer} ({words['number']}, {words['customer']})"),
            (end, chosen.choice(FAREWELLS).format(**words)),
        )
        yield Conversation(
            words["number"], YEAR_DAYS * (1 - position / TICKET_COUNT), turns, tools, succeeded
        )


HELPDESK = Story(
    owner="helpdesk",
    conversations=tuple(_tickets()),
    notes=NOTES,
    entities=ENTITIES,
    relations=RELATIONS,
    changed_facts=CHANGED_FACTS,
    goals=GOALS,
    strategies=STRATEGIES,
    jobs=JOBS,
    questions=QUESTIONS,
)
