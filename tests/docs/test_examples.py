"""The examples in README and docs run, each page from top to bottom, as a reader would type them.

Pages for newcomers also state what is printed, with the embedder that they have; this is compared.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.printed import RECORDING, wrong_outputs
from tests.warm_start.starting import WarmStart

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS_MAX = 300
WITH_OUTPUTS = [ROOT / "README.md", ROOT / "docs" / "tutorial.md"]


def new_process(code: str) -> list[str]:
    return [sys.executable, "-W", "error", "-c", code]


def examples(page: Path) -> str:
    return "\n".join(EXAMPLE.findall(page.read_text("utf-8")))


def run(command: list[str], folder: Path, **settings: str) -> str:
    """Run the examples of a page in a folder; returns what they print."""
    done = subprocess.run(
        command,
        env={**os.environ, **settings},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if examples(page) and page not in WITH_OUTPUTS],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_the_examples_of_a_page_run(
    page: Path, readers_folder: Path, tmp_path: Path, warm_start: WarmStart
) -> None:
    run(
        warm_start.example(examples(page)),
        tmp_path,
        MNEMIC_DATA_DIR=str(readers_folder),
        MNEMIC_TENANT=f"readers of {page.stem}",
        MNEMIC_EMBEDDER="test",
    )


@pytest.mark.parametrize("page", WITH_OUTPUTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_print_what_the_page_states(page: Path, readers_folder: Path, tmp_path: Path) -> None:
    code = examples(page)
    recorded = run(
        new_process(RECORDING + code),
        tmp_path,
        MNEMIC_DATA_DIR=str(readers_folder),
        MNEMIC_TENANT=f"readers of {page.stem}",
        MNEMIC_EMBEDDER="local",
    )
    assert wrong_outputs(code, recorded) == []


def test_a_wrong_output_is_noticed(tmp_path: Path) -> None:
    code = """
print("tea")  # tea
for number in range(3):
    print(number)  # 0 … 2
print("a", "long line")
# a long
# line
print("tea")  # coffee
print(
    "tea",
)  # te…
print("nothing stated")
"""
    assert wrong_outputs(code, run(new_process(RECORDING + code), tmp_path)) == [
        "'coffee' is stated, 'tea' is printed",
        "'' is stated, 'nothing stated' is printed",
    ]


def test_links_between_pages_lead_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]
    assert broken == []
