"""`MemoryFiles`: a backend for Anthropic's memory tool (`memory_20250818`) in Mnemic.

    files = MemoryFiles(memory)
    answer = await files.execute(block.input)  # for a tool_use block of the tool "memory"

The tool sees files below `/memories`. Each file is a state document whose key is the path, so that two
agents that edit a file at once do not overwrite each other's changes; its text is also a memory, so that
recall finds it. Folders exist only in the paths of files. No file system is involved: no path leads out of
the owner's memory.

Answers have the texts that Anthropic's documentation specifies, errors included: a model reads them.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mnemic.adapters.memory_paths import ROOT, check_path, listing, parents
from mnemic.errors import ConflictError, InvalidInputError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.tiers import StateDocument

KEY_HEAD = "files:"
TAG = "memory-file"
METADATA_FIELD = "path"
PAGE_ROWS = 500
LINES_MAX = 999_999
FILES_MAX = 10_000
"""Limit for the files that one command reads."""

SNIPPET_LINES = 4
SHOWN_MAX_CHARACTERS = 200_000
"""Limit for the characters of a file that are shown at once; `view_range` shows the rest."""


class MemoryFiles:
    """The files of a memory's owner. The caller opens and closes the memory."""

    def __init__(self, memory: AsyncMemory) -> None:
        if memory.owner is None:
            raise InvalidInputError("The memory needs an owner: MemoryFiles(memory.scope(owner=…)).")
        self._memory = memory
        self._commands: dict[str, Callable[[Mapping[str, Any]], Awaitable[str]]] = {
            "view": self._view,
            "create": self._create,
            "str_replace": self._replace,
            "insert": self._insert,
            "delete": self._delete,
            "rename": self._rename,
        }

    async def execute(self, command: Mapping[str, Any]) -> str:
        """Run a command from the model; returns the text of the tool result."""
        run = self._commands.get(str(command.get("command")))
        if run is None:
            return f"Error: Unknown command. The commands are {', '.join(self._commands)}."
        try:
            return await run(command)
        except _CommandError as error:
            return str(error)
        except ConflictError:
            return "Error: Another writer has changed the file. View it again, then repeat your edit."
        except InvalidInputError as error:
            return f"Error: {error}"

    async def _view(self, command: Mapping[str, Any]) -> str:
        path = check_path(command.get("path"))
        held = await self._file(path)
        if held is not None:
            return _shown(path, held.document["text"], command.get("view_range"))
        below = await self._below(path)
        if not below and path != ROOT:
            raise _CommandError(f"The path {path} does not exist. Please provide a valid path.")
        sizes = {_path_of(each): len(each.document["text"].encode()) for each in below}
        return listing(path, sizes)

    async def _create(self, command: Mapping[str, Any]) -> str:
        path, text = check_path(command.get("path")), _text(command, "file_text")
        if path == ROOT or await self._exists(path):
            raise _CommandError(f"Error: File {path} already exists")
        for folder in parents(path):
            if await self._file(folder) is not None:
                raise _CommandError(f"Error: {folder} is a file, not a directory")
        await self._write(path, text, None)
        return f"File created successfully at: {path}"

    async def _replace(self, command: Mapping[str, Any]) -> str:
        path, old, new = (
            check_path(command.get("path")),
            _text(command, "old_str"),
            _text(command, "new_str"),
        )
        held = await self._need(path, " Please provide a valid path.")
        text = held.document["text"]
        places = _occurrences(text, old)
        if not places:
            raise _CommandError(
                f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
            )
        if len(places) > 1:
            lines = ", ".join(str(text.count("\n", 0, place) + 1) for place in places)
            raise _CommandError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
                "Please ensure it is unique"
            )
        changed = text[: places[0]] + new + text[places[0] + len(old) :]
        await self._write(path, changed, held)
        return f"The memory file has been edited.\n{_snippet(changed, places[0], new)}"

    async def _insert(self, command: Mapping[str, Any]) -> str:
        path, text = check_path(command.get("path")), _text(command, "insert_text")
        held = await self._need(path)
        lines = held.document["text"].splitlines(keepends=True)
        place = command.get("insert_line")
        if type(place) is not int or not 0 <= place <= len(lines):
            raise _CommandError(
                f"Error: Invalid `insert_line` parameter: {place}. It should be within the range of lines of "
                f"the file: [0, {len(lines)}]"
            )
        before = "".join(lines[:place])
        before += "\n" if before and not before.endswith("\n") else ""
        inserted = text if text.endswith("\n") else f"{text}\n"
        await self._write(path, before + inserted + "".join(lines[place:]), held)
        return f"The file {path} has been edited."

    async def _delete(self, command: Mapping[str, Any]) -> str:
        path = _below_root(check_path(command.get("path")), "deleted")
        for held in await self._all(path):
            await self._remove(held)
        return f"Successfully deleted {path}"

    async def _rename(self, command: Mapping[str, Any]) -> str:
        old = _below_root(check_path(command.get("old_path")), "renamed")
        new = _below_root(check_path(command.get("new_path")), "overwritten")
        moved = await self._all(old)
        if await self._exists(new):
            raise _CommandError(f"Error: The destination {new} already exists")
        for folder in parents(new):
            if await self._file(folder) is not None:
                raise _CommandError(f"Error: {folder} is a file, not a directory")
        for held in moved:
            await self._write(new + _path_of(held).removeprefix(old), held.document["text"], None)
            await self._remove(held)
        return f"Successfully renamed {old} to {new}"

    async def _file(self, path: str) -> StateDocument | None:
        return await self._memory.state.get(KEY_HEAD + path)

    async def _need(self, path: str, advice: str = "") -> StateDocument:
        held = await self._file(path)
        if held is None:
            raise _CommandError(f"Error: The path {path} does not exist{'.' if advice else ''}{advice}")
        return held

    async def _all(self, path: str) -> list[StateDocument]:
        """The file, or all files in the folder; an error if there are none."""
        held = await self._file(path)
        found = [held] if held is not None else await self._below(path)
        if not found:
            raise _CommandError(f"Error: The path {path} does not exist")
        return found

    async def _exists(self, path: str) -> bool:
        return await self._file(path) is not None or bool(await self._below(path))

    async def _below(self, path: str) -> list[StateDocument]:
        """All files in a folder and its subfolders."""
        prefix, found = f"{KEY_HEAD}{path}/", list[StateDocument]()
        while True:
            after = found[-1].key if found else ""
            page = await self._memory.state.list(prefix=prefix, after=after, limit=PAGE_ROWS)
            found += page
            if len(found) > FILES_MAX:
                raise _CommandError(
                    f"Error: {path} has more than {FILES_MAX:,} files. Name a folder below it."
                )
            if len(page) < PAGE_ROWS:
                return found

    async def _write(self, path: str, text: str, before: StateDocument | None) -> None:
        """Replace the file that was read, or create a new one, and update its memory."""
        memory_id, is_new = await self._retain(path, text)
        document = {"text": text, "memory_id": memory_id}
        version = before.version if before is not None else 0
        try:
            written = await self._memory.state.set(KEY_HEAD + path, document, expected_version=version)
        except (ConflictError, InvalidInputError):
            if is_new:
                await self._forget(memory_id)
            raise
        if before is not None and before.document["memory_id"] != written.document["memory_id"]:
            await self._forget(before.document["memory_id"])

    async def _retain(self, path: str, text: str) -> tuple[str | None, bool]:
        """Retain the text of a file; returns the memory's id, and whether it is new."""
        if not text.strip():
            return None, False
        # The path makes files with the same text different memories.
        item = {"content": f"{text}\n({path})", "tags": [TAG], "metadata": {METADATA_FIELD: path}}
        retained = await self._memory.retain(item)
        return str(retained.memory_ids[0]), retained.stored_count > 0

    async def _remove(self, held: StateDocument) -> None:
        if not await self._memory.state.delete(held.key, expected_version=held.version):
            raise ConflictError("Another writer has changed the file.")
        await self._forget(held.document["memory_id"])

    async def _forget(self, memory_id: str | None) -> None:
        if memory_id is not None:
            await self._memory.memories.forget(memory_id, reason="its file changed")


class _CommandError(Exception):
    """A command failed; the message is for the model."""


def _path_of(held: StateDocument) -> str:
    return held.key.removeprefix(KEY_HEAD)


def _below_root(path: str, what: str) -> str:
    if path == ROOT:
        raise _CommandError(f"Error: The directory {ROOT} itself cannot be {what}")
    return path


def _text(command: Mapping[str, Any], field: str) -> str:
    value = command.get(field)
    if not isinstance(value, str):
        raise _CommandError(f"Error: {field} must be a text")
    return value


def _occurrences(text: str, wanted: str) -> list[int]:
    """The offsets of a text in another one; none if it is empty."""
    places, place = [], text.find(wanted) if wanted else -1
    while place >= 0:
        places.append(place)
        place = text.find(wanted, place + 1)
    return places


def _shown(path: str, text: str, view_range: object) -> str:
    lines = text.split("\n")
    if len(lines) > LINES_MAX:
        raise _CommandError(f"File {path} exceeds maximum line limit of {LINES_MAX:,} lines.")
    first, last = _range(view_range, len(lines))
    shown = _numbered(lines[first - 1 : last], first)
    if len(shown) > SHOWN_MAX_CHARACTERS:
        raise _CommandError(
            f"Error: {path} is too long to be shown at once: view it in parts with view_range"
        )
    return f"Here's the content of {path} with line numbers:\n{shown}"


def _range(view_range: object, line_count: int) -> tuple[int, int]:
    """The first and the last line to show; -1 means the last line of the file."""
    if view_range is None:
        return 1, line_count
    if isinstance(view_range, list | tuple) and [type(end) for end in view_range] == [int, int]:
        first, last = view_range
        last = line_count if last == -1 else last
        if 1 <= first <= last:
            return first, last
    raise _CommandError("Error: view_range must be two line numbers, the first one 1 or more")


def _numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, start=first))


def _snippet(text: str, place: int, new: str) -> str:
    """The lines around the replacement."""
    line = text.count("\n", 0, place)
    first = max(0, line - SNIPPET_LINES)
    return _numbered(text.split("\n")[first : line + new.count("\n") + SNIPPET_LINES + 1], first + 1)
