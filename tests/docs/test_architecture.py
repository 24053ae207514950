"""The architecture page names files that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "mnemic"
PAGE = (ROOT / "docs" / "architecture.md").read_text()

_ROW = re.compile(r"^\| (?P<question>[^|]+\?) \| (?P<answer>.+) \|$", re.MULTILINE)
_PATH = re.compile(r"`(?P<path>(?:[a-z_]+/)+[a-z0-9_.]*)`")


def questions(heading: str) -> dict[str, list[str]]:
    """The questions of a section of the page, with the paths of their answers; `<…>` is a pattern."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return {row["question"]: _PATH.findall(row["answer"]) for row in _ROW.finditer(section)}


def is_there(path: str) -> bool:
    return (SOURCE / path).exists() or (ROOT / path).exists()


def test_the_five_questions_are_answered_by_files_that_exist() -> None:
    answers = questions("Five questions")
    assert len(answers) == 5
    assert {question: paths for question, paths in answers.items() if not paths} == {}
    assert [path for paths in answers.values() for path in paths if not is_there(path)] == []


def test_all_other_questions_are_answered_by_files_that_exist() -> None:
    answers = questions("Where things are")
    assert len(answers) > 10
    assert {question: paths for question, paths in answers.items() if not paths} == {}
    assert [path for paths in answers.values() for path in paths if not is_there(path)] == []


def test_every_path_on_the_page_exists() -> None:
    assert [path for path in _PATH.findall(PAGE) if not is_there(path)] == []


def test_every_package_has_its_layer() -> None:
    section = PAGE.split("## Layers\n")[1].split("\n## ")[0]
    named = set(re.findall(r"`([a-z_]+)`", section))
    packages = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file()}
    assert packages - named == set()
