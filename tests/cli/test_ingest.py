"""`mnemic ingest` and `mnemic reembed`."""

from pathlib import Path

import pytest

from mnemic import Memory
from tests.cli.conftest import Run
from tests.documents.test_reading import pdf


@pytest.fixture
def guide(tmp_path: Path) -> Path:
    file = tmp_path / "guide.md"
    file.write_text("# Guide\n\nThe gate opens at nine.\n\n## Owls\n\nThey sleep by day.\n")
    return file


def test_files_are_taken_in_and_found(mnemic: Run, memory: Memory, guide: Path, tmp_path: Path) -> None:
    paper = tmp_path / "paper.pdf"
    paper.write_bytes(pdf("The hawk hunts by day."))
    ended = mnemic("ingest", guide, paper, "--tag", "zoo")
    assert (ended.code, ended.out) == (0, "guide.md: 2 chunks\npaper.pdf: 1 chunk\n")
    hit = next(iter(memory.recall("When does the gate open?", tags=["zoo"])))
    assert hit.memory.metadata == {"document": "guide.md", "headings": ["Guide"]}


def test_the_same_file_again_does_nothing(mnemic: Run, memory: Memory, guide: Path) -> None:
    (first,) = mnemic("ingest", guide, "--name", "The guide", "--json").json["documents"]
    (again,) = mnemic("ingest", guide, "--name", "The guide", "--json").json["documents"]
    assert first == again
    assert (first["document"]["name"], first["chunk_count"], first["is_complete"]) == ("The guide", 2, True)
    assert len(memory.jobs.list(type="documents.ingest")) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.md"], "missing.md cannot be read"),
        (["a.md", "b.md", "--name", "c"], "--name goes with one file"),
        ([__file__], "does not tell the format of the document: give media_type"),
    ],
)
def test_what_cannot_be_taken_in_is_said(mnemic: Run, arguments: list[str], said: str) -> None:
    ended = mnemic("ingest", *arguments)
    assert (ended.code, said in ended.said) == (1, True)


def test_the_model_is_changed(mnemic: Run, memory: Memory) -> None:
    memory.retain("The gate opens at nine.")
    ended = mnemic("reembed", "--embedder", "test:hash-24")
    assert (ended.code, ended.out) == (0, "test:hash-24 serves.\n")
    again = mnemic("reembed", "--embedder", "test:hash-24", "--json").json
    assert (again["model"], again["next_model"], again["waiting_count"]) == ("test:hash-24", None, 0)
    assert next(iter(memory.recall("When does the gate open?"))).memory.content == "The gate opens at nine."


def test_a_model_that_cannot_be_opened_is_said_before_anything_begins(mnemic: Run, memory: Memory) -> None:
    memory.retain("The gate opens at nine.")
    ended = mnemic("reembed", "--embedder", "nonsense")
    assert (ended.code, "is not an embedder" in ended.said) == (1, True)
