"""The results file of bench-qa: a run that stopped continues where it was.

JSON lines. The first one has the settings that must not change between runs; each other one is an answered
question, or a failure with what it cost. A line is written when its question is done. A last line without
its end, left by a crash, is removed. Questions and references are not in the file, because of the datasets'
licences.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


class SettingsChangedError(Exception):
    """The file was begun with other settings; the message names them."""


class UnreadableResultsError(Exception):
    """The file is not a results file; the message names the line."""


@dataclass(frozen=True)
class Answered:
    """An answered question: its score, from 0 to 1, and what it cost."""

    key: str
    set: str
    category: str
    score: float
    response: str
    input_tokens: int
    output_tokens: int
    usd: float


@dataclass(frozen=True)
class Failed:
    """A question that could not be answered this time; the next run asks it again."""

    key: str
    failure: str
    usd: float


class ResultsFile:
    """Results of earlier runs and of this one."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        """Read the file, or begin one. SettingsChangedError, UnreadableResultsError."""
        self._path = path
        self.answered: dict[str, Answered] = {}
        self.spent_usd = 0.0
        lines = _whole_lines(path)
        if lines:
            self._check(json.loads(lines[0]), settings)
            for line in lines[1:]:
                self._count(_parsed(line))
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._append(dict(settings))

    def add(self, result: Answered | Failed) -> None:
        """Write a result; it is on disk when this returns."""
        self._append(asdict(result))
        self._count(result)

    def _count(self, result: Answered | Failed) -> None:
        self.spent_usd += result.usd
        if isinstance(result, Answered):
            self.answered[result.key] = result

    def _check(self, written: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
        names = sorted({*written, *settings})
        changed = [name for name in names if written.get(name) != settings.get(name)]
        if changed:
            values = ", ".join(f"{name}={written.get(name)}" for name in changed)
            raise SettingsChangedError(
                f"{self._path} was begun with other settings ({values}). Use them, or another --results file."
            )

    def _append(self, line: Mapping[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _whole_lines(path: Path) -> list[str]:
    """The lines of the file; an unfinished last one is removed from it."""
    if not path.exists():
        return []
    text = path.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    if whole != text:
        os.truncate(path, len(whole))
    lines = whole.decode("utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if not _is_object(line):
            raise UnreadableResultsError(
                f"{path}, line {number}, is not a result. Use another --results file."
            )
    return lines


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _parsed(line: str) -> Answered | Failed:
    fields: dict[str, Any] = json.loads(line)
    return Failed(**fields) if "failure" in fields else Answered(**fields)
