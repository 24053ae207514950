"""Which queries ask for an overview, and about what."""

import pytest

from mnemic.recall.overview_question import QUERY_MAX_CHARACTERS, recognise_overview

OWNER = (
    "What do you know about me?",
    "what do you remember about us",
    "tell me about myself",
    "Please summarise me.",
    "Who am I?",
    "Cuéntame lo que sabes de mí",
    "¿Qué sabes de mí?",
    "Was weißt du über mich?",
    "Que sais-tu de moi ?",
)
ENTITIES = {
    "Summarise Priya": "Priya",
    "Tell me about Kofi Mensah": "Kofi Mensah",
    "Write a new nurse a short profile of Olga": "Olga",
    "Erzähl mir von Anna": "Anna",
    "Háblame de Lucía": "Lucía",
    "Parle-moi de Camille": "Camille",
}
TOPICS = {
    "Tell me about my family": ("people", ()),
    "give me an overview of my health": ("health", ()),
    "recap the campaign": (None, ("episodic",)),
    "Sum up the rules of this house": (None, ("procedural",)),
    "Fasse die Regeln zusammen": (None, ("procedural",)),
}
ORDINARY = (
    "What does Priya do?",
    "Tell me about photosynthesis",
    "How does Gina describe the studio?",
    "Where do I live?",
    "Can you summarise how my budget tracker app got its login, its charts and its tests?",
    "What did you tell me about the tractor engine last week?",
    "x" * (QUERY_MAX_CHARACTERS + 1),
)


def test_overviews_of_the_owner(subtests: pytest.Subtests) -> None:
    for query in OWNER:
        with subtests.test(query):
            question = recognise_overview(query)
            assert question is not None
            assert question.focus == "owner"


def test_overviews_of_a_name(subtests: pytest.Subtests) -> None:
    for query, name in ENTITIES.items():
        with subtests.test(query):
            question = recognise_overview(query)
            assert question is not None
            assert (question.focus, question.name) == ("entity", name)


def test_overviews_of_a_topic(subtests: pytest.Subtests) -> None:
    for query, (facet, categories) in TOPICS.items():
        with subtests.test(query):
            question = recognise_overview(query)
            assert question is not None
            assert question.focus == "topic"
            assert facet is None or facet in question.facets
            assert question.categories.issuperset(categories)


def test_ordinary_questions_ask_for_no_overview(subtests: pytest.Subtests) -> None:
    for query in ORDINARY:
        with subtests.test(query[:60]):
            assert recognise_overview(query) is None
