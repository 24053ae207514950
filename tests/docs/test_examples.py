"""The examples in README and docs run, each page from top to bottom, as a reader would type them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS_MAX = 60


def examples(page: Path) -> str:
    return "\n".join(EXAMPLE.findall(page.read_text("utf-8")))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if examples(page)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_the_examples_of_a_page_run(page: Path, readers_folder: Path, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "MNEMIC_DATA_DIR": str(readers_folder),
        "MNEMIC_TENANT": f"readers of {page.stem}",
        "MNEMIC_EMBEDDER": "test",
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", examples(page)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_links_between_pages_lead_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]
    assert broken == []
