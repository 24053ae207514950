"""Cutting a text: chunks say where they stand, lose nothing, and stay where they are when others change."""

import random
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.documents.reading.chunks import (
    CHUNK_MAX_CHARACTERS,
    OVERLAP_MAX_CHARACTERS,
    DocumentChunk,
    chunks_of,
)
from mnemic.documents.reading.source import read_source
from mnemic.documents.reading.text import HEADING_MAX_CHARACTERS, DocumentText, Section
from tests.documents.texts import paragraphs

TEXTS = st.text(st.sampled_from("ab. \n\t!。é😀#=-`<>p/"), max_size=400).map(lambda text: text * 12)


def cut(text: str, media_type: str = "text/plain") -> list[DocumentChunk]:
    return list(chunks_of(read_source(text, media_type)))


@given(TEXTS)
def test_chunks_are_slices_in_order_and_together_have_all_that_is_not_blank(text: str) -> None:
    chunks = list(chunks_of(DocumentText(text)))
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    assert all(chunk.content == text[chunk.start : chunk.end] for chunk in chunks)
    assert all(0 < len(chunk.content) <= CHUNK_MAX_CHARACTERS for chunk in chunks)
    assert all(before.end <= after.start for before, after in pairwise(chunks))
    assert "".join("".join(chunk.content.split()) for chunk in chunks) == "".join(text.split())
    assert len({(chunk.content_hash, chunk.occurrence) for chunk in chunks}) == len(chunks)


@given(TEXTS, st.sampled_from(["text/markdown", "text/html"]))
def test_no_markup_breaks_a_reader(text: str, media_type: str) -> None:
    try:
        chunks = cut(text, media_type)
    except ValueError:
        return  # Nothing but tags: there is no text in it.
    assert all(chunk.content.strip() == chunk.content for chunk in chunks)


def test_a_cut_is_made_behind_a_paragraph_or_a_sentence() -> None:
    chunks = cut("\n\n".join(paragraphs(50_000)))
    assert all(chunk.content.endswith(".") and chunk.content[0].isupper() for chunk in chunks)
    assert 400 < sum(len(chunk.content) for chunk in chunks) / len(chunks) < 900


def test_no_cut_is_made_behind_an_initial_or_an_abbreviation() -> None:
    names = "The paper by Malcolm K. Hughes, Dr. Ada et al. names Y. pestis, e.g. of 1347, vs. others"
    for filler in range(400, 1_000, 7):
        for chunk in cut(f"{'x' * filler} begins. {names} {'of old ' * 150}. The end."):
            assert not chunk.content.endswith((" K.", " Dr.", " al.", " Y.", " e.g.", " vs."))
            assert not chunk.content.startswith(("Hughes", "Ada", "names", "pestis", "of 1347", "others"))


def test_a_word_longer_than_a_chunk_is_cut_and_not_lost() -> None:
    chunks = cut("x" * 2_500)
    assert [len(chunk.content) for chunk in chunks] == [1_000, 1_000, 500]


@pytest.mark.parametrize("seed", range(5))
def test_behind_a_change_the_cuts_fall_back_into_their_places(seed: int) -> None:
    chance = random.Random(seed)
    before = paragraphs(300_000)
    known = {(chunk.content_hash, chunk.context) for chunk in cut("\n\n".join(before))}
    for change in ("insert", "replace", "delete"):
        after, place = list(before), chance.randrange(len(before))
        after[place : place + (change != "insert")] = (
            [] if change == "delete" else ["Something else, and short."]
        )
        new = [chunk for chunk in cut("\n\n".join(after)) if (chunk.content_hash, chunk.context) not in known]
        assert len(new) <= 8, change


def test_the_context_is_the_headings_and_the_sentences_before() -> None:
    text = "# Animals\n\n" + "Long ago. " * 70 + "The cat sat.\n\n## Birds\n\nOwls fly."
    *_, last_of_animals, birds = cut(text, "text/markdown")
    assert birds.content == "## Birds\n\nOwls fly."
    assert (birds.headings, birds.context) == (("Animals", "Birds"), "Animals › Birds")
    assert last_of_animals.headings == ("Animals",)
    assert last_of_animals.context.startswith("Animals")


def test_a_context_begins_with_a_whole_sentence_and_is_bounded() -> None:
    for chunk in cut("\n\n".join(paragraphs(50_000)))[1:]:
        assert len(chunk.context) <= OVERLAP_MAX_CHARACTERS
        assert not chunk.context or chunk.context[0].isupper() or len(chunk.context.split()) > 3


def test_a_heading_of_any_length_stays_bounded() -> None:
    (chunk,) = cut("# " + "very " * 150 + "long\n\nText.", "text/markdown")[-1:]
    assert max(map(len, chunk.headings)) <= HEADING_MAX_CHARACTERS


def test_a_heading_is_never_a_chunk_of_its_own() -> None:
    long = "A sentence of some length that fills the paragraph. " * 19
    text = f"# Manual\n\n## Install\n\n{long}\n\n## Empty\n\n# Use\n\nRun it.\n\n## Last"
    chunks = cut(text, "text/markdown")
    assert chunks[0].content.startswith("# Manual\n\n## Install\n\nA sentence")
    assert [chunk.headings for chunk in chunks] == [("Manual", "Install")] * (len(chunks) - 1) + [("Use",)]
    assert chunks[-1].content == "# Use\n\nRun it."
    assert all(len(chunk.content) <= CHUNK_MAX_CHARACTERS for chunk in chunks)


def test_a_document_of_headings_only_is_text() -> None:
    (chunk,) = cut("# Milk\n\n# Bread", "text/markdown")
    assert (chunk.content, chunk.headings) == ("# Milk\n\n# Bread", ())


def test_navigation_is_in_no_chunk() -> None:
    contents = "- [Install](#install)\n- [Use](#use) | [More](#more)\n1. [End](#end)"
    text = f"# Manual\n\nRead me.\n\n{contents}\n\n## Install\n\nSee [the page](https://example.org/#x).\n"
    assert [chunk.content for chunk in cut(text, "text/markdown")] == [
        "# Manual\n\nRead me.",
        "## Install\n\nSee [the page](https://example.org/#x).",
    ]


def test_blanks_before_a_link_take_no_longer() -> None:
    piece = f"[a](#b)\n{' ' * 900}x"
    started_s = time.thread_time()
    assert len(cut("\n\n".join([piece] * 2_000))) == 2_000
    assert time.thread_time() - started_s < 5


def test_a_heading_goes_to_no_sibling_of_the_same_name() -> None:
    (chunk,) = cut("# Notes\n\n# Notes\n\nMilk.", "text/markdown")
    assert chunk.content == "# Notes\n\nMilk."


def test_equal_chunks_are_told_apart_by_their_order() -> None:
    sections = (Section(0), Section(6), Section(12))
    chunks = list(chunks_of(DocumentText("Same.\nSame.\nSame.", sections)))
    assert [chunk.occurrence for chunk in chunks] == [0, 1, 2]
    assert len({chunk.content_hash for chunk in chunks}) == 1


def test_five_megabytes_are_cut_in_a_moment() -> None:
    text = "\n\n".join(paragraphs(5_000_000))
    started_s = time.thread_time()
    assert len(cut(text)) > 5_000
    assert time.thread_time() - started_s < 5


def test_text_without_any_place_to_cut_takes_no_longer() -> None:
    started_s = time.thread_time()
    assert len(cut("x" * 2_000_000)) == 2_000
    assert len(cut("word " * 400_000)) > 1_900
    assert time.thread_time() - started_s < 5
