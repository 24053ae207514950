"""`MemoryFiles` answers the commands of Anthropic's memory tool, in the words of its documentation."""

import asyncio
from typing import Any

import pytest

from mnemic import AsyncMemory
from mnemic.adapters import anthropic_memory
from mnemic.adapters.anthropic_memory import MemoryFiles
from mnemic.errors import InvalidInputError

NOTES = "/memories/notes.txt"


@pytest.fixture
def files(memory: AsyncMemory) -> MemoryFiles:
    return MemoryFiles(memory)


async def create(files: MemoryFiles, path: str, text: str) -> str:
    return await files.execute({"command": "create", "path": path, "file_text": text})


async def view(files: MemoryFiles, path: str, **more: Any) -> str:
    return await files.execute({"command": "view", "path": path, **more})


async def content(files: MemoryFiles, path: str) -> list[str]:
    lines = (await view(files, path)).split("\n")[1:]
    return [line.split("\t", 1)[1] for line in lines]


async def test_a_file_is_created_and_shown_with_line_numbers(files: MemoryFiles) -> None:
    assert await create(files, NOTES, "Hello\nWorld\n") == f"File created successfully at: {NOTES}"
    assert await view(files, NOTES) == (
        f"Here's the content of {NOTES} with line numbers:\n     1\tHello\n     2\tWorld\n     3\t"
    )
    assert (await view(files, NOTES, view_range=[2, 2])).endswith("numbers:\n     2\tWorld")
    assert (await view(files, NOTES, view_range=[2, -1])).endswith("     2\tWorld\n     3\t")
    assert await create(files, NOTES, "x") == f"Error: File {NOTES} already exists"
    assert await create(files, "/memories/empty", "") == "File created successfully at: /memories/empty"
    assert await content(files, "/memories/empty") == [""]


async def test_folders_are_listed_two_levels_deep(files: MemoryFiles) -> None:
    root = (
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and "
        "node_modules:"
    )
    assert (await view(files, "/memories")).split("\n") == [root, "0B\t/memories"]
    await create(files, "/memories/a.txt", "x" * 1536)
    await create(files, "/memories/deep/b/c.txt", "12345")
    await create(files, "/memories/.hidden", "x")
    assert (await view(files, "/memories/")).split("\n") == [
        root,
        "1.5K\t/memories",
        "1.5K\t/memories/a.txt",
        "5B\t/memories/deep",
        "5B\t/memories/deep/b",
    ]
    assert (await view(files, "/memories/deep")).split("\n")[1:] == [
        "5B\t/memories/deep",
        "5B\t/memories/deep/b",
        "5B\t/memories/deep/b/c.txt",
    ]
    missing = "The path /memories/none does not exist. Please provide a valid path."
    assert await view(files, "/memories/none") == missing


async def test_text_is_replaced_where_it_is_unique(files: MemoryFiles) -> None:
    await create(files, NOTES, "blue\ngreen\nblue\n")

    async def replace(old: str, new: str, path: str = NOTES) -> str:
        return await files.execute({"command": "str_replace", "path": path, "old_str": old, "new_str": new})

    assert await replace("green", "red") == (
        "The memory file has been edited.\n     1\tblue\n     2\tred\n     3\tblue\n     4\t"
    )
    assert await replace("x", "y") == (
        f"No replacement was performed, old_str `x` did not appear verbatim in {NOTES}."
    )
    assert await replace("blue", "y") == (
        "No replacement was performed. Multiple occurrences of old_str `blue` in lines: 1, 3. "
        "Please ensure it is unique"
    )
    assert "did not appear" in await replace("", "y")
    missing = "Error: The path /memories/none does not exist. Please provide a valid path."
    assert await replace("x", "y", "/memories/none") == missing
    assert await content(files, NOTES) == ["blue", "red", "blue", ""]


@pytest.mark.parametrize(
    ("text", "line", "after"),
    [
        ("a\nb\n", 0, "new\na\nb\n"),
        ("a\nb\n", 1, "a\nnew\nb\n"),
        ("a\nb", 2, "a\nb\nnew\n"),
        ("", 0, "new\n"),
    ],
)
async def test_lines_are_inserted(files: MemoryFiles, text: str, line: int, after: str) -> None:
    await create(files, NOTES, text)
    command = {"command": "insert", "path": NOTES, "insert_line": line, "insert_text": "new"}
    assert await files.execute(command) == f"The file {NOTES} has been edited."
    assert "\n".join(await content(files, NOTES)) == after
    bad = await files.execute({**command, "insert_line": 9})
    count = len(after.splitlines())
    assert bad == (
        "Error: Invalid `insert_line` parameter: 9. It should be within the range of lines of the file: "
        f"[0, {count}]"
    )
    missing = await files.execute({**command, "path": "/memories/none"})
    assert missing == "Error: The path /memories/none does not exist"


async def test_files_and_folders_are_deleted(files: MemoryFiles, memory: AsyncMemory) -> None:
    for path in (NOTES, "/memories/a/b", "/memories/a/c/d", "/memories/ab"):
        await create(files, path, f"Words of {path}")
    assert await files.execute({"command": "delete", "path": "/memories/a"}) == (
        "Successfully deleted /memories/a"
    )
    assert await files.execute({"command": "delete", "path": NOTES}) == f"Successfully deleted {NOTES}"
    assert await files.execute({"command": "delete", "path": NOTES}) == (
        f"Error: The path {NOTES} does not exist"
    )
    assert (await view(files, "/memories")).split("\n")[2:] == ["21B\t/memories/ab"]
    assert len(await memory.memories.list()) == 1
    assert "itself cannot be deleted" in await files.execute({"command": "delete", "path": "/memories"})


async def test_files_and_folders_are_renamed(files: MemoryFiles) -> None:
    for path in (NOTES, "/memories/a/b", "/memories/a/c/d"):
        await create(files, path, path)

    async def rename(old: str, new: str) -> str:
        return await files.execute({"command": "rename", "old_path": old, "new_path": new})

    assert await rename(NOTES, "/memories/n") == f"Successfully renamed {NOTES} to /memories/n"
    assert await rename("/memories/a", "/memories/z") == "Successfully renamed /memories/a to /memories/z"
    assert await content(files, "/memories/z/c/d") == ["/memories/a/c/d"]
    assert await rename(NOTES, "/memories/x") == f"Error: The path {NOTES} does not exist"
    assert await rename("/memories/n", "/memories/z") == "Error: The destination /memories/z already exists"
    assert await rename("/memories/n", "/memories/n/m") == "Error: /memories/n is a file, not a directory"
    assert await rename("/memories/z", "/memories/z/inner") == (
        "Successfully renamed /memories/z to /memories/z/inner"
    )
    assert await content(files, "/memories/z/inner/c/d") == ["/memories/a/c/d"]


async def test_a_file_cannot_be_used_as_a_folder(files: MemoryFiles) -> None:
    await create(files, NOTES, "x")
    assert await create(files, f"{NOTES}/inner", "x") == f"Error: {NOTES} is a file, not a directory"
    await create(files, "/memories/a/b", "x")
    assert await create(files, "/memories/a", "x") == "Error: File /memories/a already exists"


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/memories/../etc/passwd",
        "/memories/./x",
        "/memories//x",
        "/memories/..\\x",
        "/memories/%2e%2e/x",
        "/memoriesx",
        "memories/x",
        "",
        "/",
        "/memories/" + "x" * 300,
        "/memories/\0",
        None,
        7,
    ],
)
async def test_paths_outside_the_root_are_refused(files: MemoryFiles, path: Any) -> None:
    for command in (
        {"command": "view", "path": path},
        {"command": "create", "path": path, "file_text": "x"},
        {"command": "delete", "path": path},
        {"command": "rename", "old_path": NOTES, "new_path": path},
    ):
        assert (await files.execute(command)).startswith("Error: path must")
    assert (await view(files, "/memories")).split("\n")[1:] == ["0B\t/memories"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ({}, "Error: Unknown command. The commands are view, create"),
        ({"command": "format"}, "Error: Unknown command"),
        ({"command": "create", "path": "/memories/x"}, "Error: file_text must be a text"),
        (
            {"command": "create", "path": "/memories/x", "file_text": "a\0b"},
            "Error: Item 0: content must not",
        ),
        ({"command": "create", "path": "/memories/x", "file_text": "ä" * 900_000}, "Error: document is"),
        ({"command": "view", "path": "/memories/a", "view_range": [2, 1]}, "Error: view_range must be"),
        ({"command": "view", "path": "/memories/a", "view_range": "1-2"}, "Error: view_range must be"),
    ],
)
async def test_errors_have_the_text_that_the_model_expects(
    files: MemoryFiles, memory: AsyncMemory, command: dict[str, Any], said: str
) -> None:
    await create(files, "/memories/a", "x")
    assert (await files.execute(command)).startswith(said)
    assert len(await memory.state.list()) == 1
    assert len(await memory.memories.list()) == 1


async def test_recall_finds_the_current_text_of_files(files: MemoryFiles, memory: AsyncMemory) -> None:
    await create(files, NOTES, "The cello is from 1890.")
    await create(files, "/memories/copy", "The cello is from 1890.")
    edit = {"command": "str_replace", "path": NOTES, "old_str": "1890", "new_str": "1790"}
    await files.execute(edit)
    found = await memory.recall("How old is the cello?", refuse_below=0)
    assert {hit.memory.metadata["path"]: hit.memory.content.split("\n")[0] for hit in found} == {
        NOTES: "The cello is from 1790.",
        "/memories/copy": "The cello is from 1890.",
    }


async def test_concurrent_edits_are_not_lost(files: MemoryFiles) -> None:
    await create(files, NOTES, "start\n")

    async def add(word: str) -> str:
        return await files.execute(
            {"command": "insert", "path": NOTES, "insert_line": 1, "insert_text": word}
        )

    words = [f"word {number}" for number in range(6)]
    answers = await asyncio.gather(*map(add, words))
    written = {word for word, answer in zip(words, answers, strict=True) if "has been edited" in answer}
    assert written
    assert all("has been edited" in answer or "Another writer has changed" in answer for answer in answers)
    assert set(await content(files, NOTES)) - {"start", ""} == written


async def test_long_files_are_shown_in_parts(files: MemoryFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    await create(files, NOTES, "line\n" * 100)
    monkeypatch.setattr(anthropic_memory, "SHOWN_MAX_CHARACTERS", 500)
    assert "view it in parts" in await view(files, NOTES)
    assert len((await view(files, NOTES, view_range=[1, 10])).split("\n")) == 11
    monkeypatch.setattr(anthropic_memory, "LINES_MAX", 50)
    assert await view(files, NOTES) == f"File {NOTES} exceeds maximum line limit of 50 lines."
    monkeypatch.setattr(anthropic_memory, "FILES_MAX", 0)
    assert "has more than 0 files" in await view(files, "/memories")


async def test_owners_have_separate_files(files: MemoryFiles, memory: AsyncMemory) -> None:
    await create(files, NOTES, "x")
    bobs = MemoryFiles(memory.scope(owner="bob"))
    assert (await view(bobs, NOTES)).startswith(f"The path {NOTES} does not exist")
    with pytest.raises(InvalidInputError, match="needs an owner"):
        MemoryFiles(AsyncMemory(embedder="test"))
