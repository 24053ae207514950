"""What the examples of a page say that they print, beside what they really print.

A page states the output of a `print` in a comment at its end, or in comment lines right below it:

    print(found.text)  # [2026-03-14] Alice moved to Berlin.
    print(found.refused, found.reason)
    # True Nothing stored is close enough to the query: …

`…` stands for anything. Spaces and line breaks do not count, and what a loop prints is taken together.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from json import loads

# Put before the examples, in one line: prints say from which line they come.
RECORDING = (
    "from json import dumps as _dumps; from sys import _getframe; _print = print; "
    "print = lambda *values: _print(_dumps([_getframe(1).f_lineno - 1, ' '.join(map(str, values))]))\n"
)


@dataclass(frozen=True)
class Statement:
    """A `print` of a page: the lines of the code that it spans, and what the page says it prints."""

    first_line: int
    last_line: int
    stated: str

    def matches(self, printed: str) -> bool:
        parts = (re.escape(" ".join(part.split())) for part in self.stated.split("…"))
        pattern = r"\s*.*\s*".join(parts)
        return bool(self.stated) and re.fullmatch(pattern, " ".join(printed.split()), re.DOTALL) is not None


def statements(code: str) -> Iterator[Statement]:
    """Every `print` in the code."""
    lines = code.splitlines()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            assert node.end_lineno is not None
            yield Statement(node.lineno, node.end_lineno, _stated(lines, node))


def _stated(lines: list[str], call: ast.Call) -> str:
    assert call.end_lineno is not None
    rest = lines[call.end_lineno - 1].encode()[call.end_col_offset :].decode().strip()
    if rest.startswith("#"):
        return rest.removeprefix("#").strip()
    below = []
    for line in lines[call.end_lineno :]:
        if not line.strip().startswith("#"):
            break
        below.append(line.strip().removeprefix("#").strip())
    return " ".join(below)


def wrong_outputs(code: str, recorded: str) -> list[str]:
    """What was printed otherwise than the page states; `recorded` is the output of the recording prints."""
    printed: dict[int, list[str]] = {}
    for line in recorded.splitlines():
        number, text = loads(line)
        printed.setdefault(number, []).append(text)
    return [
        f"{statement.stated!r} is stated, {text!r} is printed"
        for statement in statements(code)
        if not statement.matches(text := "\n".join(_of(statement, printed)))
    ]


def _of(statement: Statement, printed: dict[int, list[str]]) -> list[str]:
    span = range(statement.first_line, statement.last_line + 1)
    return [text for number in span for text in printed.get(number, [])]
