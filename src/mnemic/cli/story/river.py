"""A research agent that reads documents about a river, and what it wrote down about them."""

from mnemic.cli.story.parts import Document, Entity, Goal, Note, Story

DOCUMENTS = (
    Document(
        "elbow-creek-survey.md",
        "Survey of Elbow Creek",
        """# Survey of Elbow Creek

## Site

Elbow Creek runs for eleven kilometres from Marl Hill to the old mill at Sandford. Until the weir of
1931 it carried trout up to the springs. The weir is two metres high and holds back some four
thousand cubic metres of silt.

## Method

Twelve transects were walked in April and again in September. At each of them depth, width, speed
and temperature were measured, and invertebrates were counted in three samples of the bed.

## Findings

Above the weir the water is on average 3.1 degrees warmer than below it, and mayflies are absent in
nine of twelve samples. Below the mill the count of mayflies is 41 per sample. Oxygen falls under
six milligrams per litre on still nights in August.

## Advice

Lower the weir in three steps of seventy centimetres, one each autumn, and plant alder on the bare
banks at once. Tell the mill's owner, Mrs. Penhale, a year before: the leat will run dry in the
second step.
""",
    ),
    Document(
        "weir-permit.md",
        "Permit for the works at the weir",
        """# Permit for the works at the weir

The water board permits the lowering of the weir at Sandford in three steps between the first of
September and the end of October of each year. Silt must be tested for copper before each step;
above sixty milligrams per kilogram it goes to the landfill at Orrin.

## Conditions

Fish are moved by the anglers' club before each step. The footbridge stays open. The club writes to the
board two weeks before.
""",
    ),
    Document(
        "interview-penhale.txt",
        "Interview with Mrs. Penhale",
        """Mrs. Penhale has owned the mill since 1988. She remembers otters at the leat until about 1995. She
does not need the water for the wheel any more, but wants the pond kept for the swallows. She would
agree to a smaller pond fed by a pipe. She prefers letters to telephone calls.
""",
    ),
)
NOTES = (
    Note("The weir at Sandford is two metres high.", 150, "factual", ("weir",), 1.0),
    Note("The weir at Sandford is 2.3 metres high.", 40, "factual", ("weir",), 1.0),
    Note(
        "Copper in the silt was 48 milligrams per kilogram in the first test.", 36, "factual", ("silt",), 1.0
    ),
    Note("Otters may have returned to the leat.", 30, "factual", ("wildlife",), 0.4),
    Note("Mrs. Penhale prefers letters to telephone calls.", 100, "preference", ("people",), 1.0),
    Note("Ask the anglers' club for a date in September.", 10, "prospective", ("weir",), 1.0),
)
ENTITIES = (
    Entity("place", "Elbow Creek", {"length km": 11}, ()),
    Entity("place", "Sandford", {"weir": "two metres"}, ()),
    Entity("person", "Mrs. Penhale", {"owns": "the mill"}, ("Penhale",)),
)
RELATIONS = (
    ("Mrs. Penhale", "lives in", "Sandford"),
    ("Sandford", "lies on", "Elbow Creek"),
)
GOALS = (
    Goal("Lower the weir in three steps", 8),
    Goal("Agree on the pond with Mrs. Penhale", 6, 0),
)
QUESTIONS = (
    "How high is the weir?",
    "Where does silt with copper go?",
    "Does Mrs. Penhale like telephone calls?",
    "How warm is the water above the weir?",
    "How many salmon were counted in 1950?",
)

RIVER = Story(
    owner="river-study",
    notes=NOTES,
    entities=ENTITIES,
    relations=RELATIONS,
    goals=GOALS,
    documents=DOCUMENTS,
    questions=QUESTIONS,
)
