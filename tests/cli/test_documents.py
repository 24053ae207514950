"""`mnemic documents`: list and delete."""

from mnemic import Memory
from tests.cli.conftest import Run


def test_documents_are_listed_by_name_and_deleted(mnemic: Run, memory: Memory) -> None:
    memory.documents.put("b.txt", "About tea.", title="Tea")
    memory.documents.put("a.txt", "About coffee.")
    listed = mnemic("documents", "list", "--json").json
    assert [document["name"] for document in listed] == ["a.txt", "b.txt"]
    assert "Tea" in mnemic("documents", "list").out
    assert mnemic("documents", "list", "--after", "a.txt", "--json").json == listed[1:]
    assert mnemic("documents", "delete", "a.txt").out == "Deleted: a.txt\n"
    assert mnemic("documents", "delete", "b.txt", "--json").json == {"deleted": "b.txt"}
    assert memory.documents.list() == []
    assert memory.memories.list() == []


def test_no_documents_are_said_to_be_none(mnemic: Run) -> None:
    assert mnemic("documents", "list").out == "No documents. `mnemic ingest FILE` adds one.\n"
    assert mnemic("documents", "list", "--json").json == []


def test_an_unknown_document_is_an_error(mnemic: Run) -> None:
    ended = mnemic("documents", "delete", "typo.txt")
    assert (ended.code, ended.out) == (1, "")
    assert ended.said == (
        "Error: There is no document 'typo.txt'. `mnemic documents list` shows those that exist."
    )
