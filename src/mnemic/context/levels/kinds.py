"""What kind of object a tool gave, and what the tool was asked for."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from mnemic.context.levels.level import ObjectType

KEY_CHARS_MAX = 200
"""A longer key is cut and ends with a part of its hash, so that different commands keep different keys."""
SNIFFED_CHARS = 4000

# Names of tools in coding agents, lower case without separators.
_TOOLS: Mapping[str, ObjectType] = {
    **dict.fromkeys(("read", "readfile", "view", "viewfile", "cat", "notebookread", "openfile"), "file"),
    **dict.fromkeys(
        (
            *("edit", "multiedit", "write", "writefile", "writetofile", "replaceinfile", "strreplace"),
            *("patch", "applypatch", "notebookedit", "strreplacebasededittool", "createfile", "gitdiff"),
        ),
        "diff",
    ),
    **dict.fromkeys(
        (
            *("bash", "shell", "localshell", "execcommand", "executecommand", "runcommand", "bashoutput"),
            *("run", "powershell", "terminal", "runterminalcommand", "writestdin", "exec", "python"),
        ),
        "command",
    ),
    **dict.fromkeys(
        (
            *("grep", "grepfiles", "glob", "find", "search", "searchfiles", "codebasesearch", "ls", "list"),
            *("listdir", "listfiles", "filesearch", "websearch"),
        ),
        "search",
    ),
    **dict.fromkeys(("webfetch", "fetch", "task", "taskoutput", "agent", "readwebpage", "skill"), "prose"),
}
_EXTENSIONS_OF_PROSE = (".md", ".txt", ".rst", ".adoc", ".html", ".tex", ".org")
_EXTENSIONS_OF_DATA = (".json", ".jsonl", ".ndjson", ".geojson", ".ipynb", ".csv", ".tsv")
_PATHS = ("file_path", "filePath", "path", "notebook_path", "filename", "file", "target_file", "directory")
_OTHERS = ("url", "query", "description", "task_id", "prompt", "name", "id")
_DIFF = re.compile(r"^(?:diff --git |--- \S.*\n\+\+\+ |\*\*\* Begin Patch|@@ -\d)", re.MULTILINE)
_SHOWS_FILE = re.compile(
    r"(?:^|[;&|] *)(?:cat|head|tail|nl|sed -n|bat|grep -[ABC])\b"
    r"[^|;&]{0,150}?([^\s'\"|;&]+\.[A-Za-z]{1,5})(?![\w.])"
)
_RANGE = re.compile(r":\d+-\d*$")


def kind_of(tool: str, arguments: Mapping[str, Any], text: str) -> ObjectType:
    """By the tool, by the extension of the file that it read, else by the look of the text."""
    known = _TOOLS.get(re.sub(r"[\W_]", "", tool.rpartition("__")[2]).lower())
    if known == "file":
        return _kind_of_file(source_key(tool, arguments))
    if known == "command" and is_diff(text):
        return "diff"
    if known is not None:
        return known
    return _kind_of_text(text)


def source_key(tool: str, arguments: Mapping[str, Any]) -> str:
    """What the tool was asked for, in one line: a path (with the lines, if a part), a command, a pattern."""
    command = arguments.get("command", arguments.get("cmd"))
    if isinstance(command, Sequence) and not isinstance(command, str):
        command = _script_of([str(part) for part in command])
    pattern, path = _text(arguments.get("pattern", arguments.get("regex"))), _first(arguments, _PATHS)
    if _text(command) and not (path and _text(command).isidentifier()):
        return _one_line(_text(command))
    if pattern:
        return _one_line(f"{pattern} in {path}" if path else pattern)
    if path:
        return _one_line(path + _lines_of(arguments))
    return _one_line(_first(arguments, _OTHERS) or "")


def file_of(key: str) -> str:
    """The path of a key of a file, without the lines that were read."""
    return _RANGE.sub("", key)


def shown_file(command: str) -> str:
    """The file that a command prints, such as `sed -n 1,50p src/app.py`; empty if it does something else."""
    match = _SHOWS_FILE.search(command[:KEY_CHARS_MAX])
    return match[1] if match else ""


def is_diff(text: str) -> bool:
    """Whether a text begins as a diff or a patch."""
    return _DIFF.search(text, 0, SNIFFED_CHARS) is not None


def _kind_of_file(key: str) -> ObjectType:
    path = file_of(key).lower()
    if path.endswith(_EXTENSIONS_OF_PROSE):
        return "prose"
    return "data" if path.endswith(_EXTENSIONS_OF_DATA) else "file"


def _kind_of_text(text: str) -> ObjectType:
    start = text[:SNIFFED_CHARS].lstrip()
    if is_diff(text):
        return "diff"
    if start.startswith(("{", "[{", '["', "[\n")):
        return "data"
    return "prose" if len(re.findall(r"[.!?:](?:\s|$)", start)) * 300 > len(start) else "other"


def _script_of(words: list[str]) -> str:
    """The script of `bash -lc script`, else the words."""
    return words[-1] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)


def _lines_of(arguments: Mapping[str, Any]) -> str:
    view = arguments.get("view_range")
    if isinstance(view, Sequence) and len(view) == 2:
        return f":{view[0]}-{view[1]}"
    first = arguments.get("offset", arguments.get("start_line"))
    limit, last = arguments.get("limit"), arguments.get("end_line")
    if not isinstance(first, int):
        return f":1-{limit}" if isinstance(limit, int) else ""
    if isinstance(limit, int):
        last = first + limit - 1
    return f":{first}-{last if isinstance(last, int) else ''}"


def _first(arguments: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((text for name in names if (text := _text(arguments.get(name)))), "")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _one_line(key: str) -> str:
    line = " ".join(key[: 50 * KEY_CHARS_MAX].split())
    if len(line) <= KEY_CHARS_MAX and len(key) <= 50 * KEY_CHARS_MAX:
        return line
    digest = hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{line[: KEY_CHARS_MAX - 10]}… {digest}"
