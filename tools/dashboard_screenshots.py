"""Make the pictures of the dashboard in the docs, from the story of `mnemic demo --ui`.

python tools/dashboard_screenshots.py [DATA_DIR]

Needs the development tools and Chromium (`make browser`). DATA_DIR keeps the story for the next time;
otherwise it is stored in a temporary folder, which takes up to a minute.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from mnemic import Memory
from mnemic.cli.demo_dashboard import fill
from mnemic.db.embedded import stop

PICTURES = Path(__file__).parent.parent / "docs" / "images" / "dashboard"
PROGRAM = os.environ.get("MNEMIC_TEST_BROWSER", "/usr/bin/chromium")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
DESK: ViewportSize = {"width": 1200, "height": 760}
PHONE: ViewportSize = {"width": 390, "height": 760}
SETTLE_MS = 600


@dataclass(frozen=True)
class Picture:
    """One picture: the page with its fields, and how it is shown. `click` opens something on it first."""

    name: str
    address: str
    mode: Literal["light", "dark"] = "light"
    size: Literal["desk", "phone"] = "desk"
    click: str | None = None


PICTURES_MADE = (
    Picture("overview", "overview?owner=mara"),
    Picture("memory", "memories?owner=mara&q=shoe", click="a[data-row]"),
    Picture("recall", "recall?owner=mara&q=Where+does+Mara+live%3F"),
    Picture("recall-dark", "recall?owner=mara&q=Where+does+Mara+live%3F&day=-300", "dark"),
    Picture("recall-phone", "recall?owner=mara&q=Where+does+Mara+live%3F", size="phone"),
    Picture("entities", "entities?owner=mara"),
    Picture("map", "map?owner=mara"),
    Picture("review", "review?owner=mara"),
    Picture("metrics-dark", "metrics?span=30d", "dark"),
)


def main() -> None:
    """Make all pictures."""
    with _folder(sys.argv[1:]) as folder:
        fill(folder)
        with Memory(data_dir=folder) as memory:
            key = memory.keys.create(role="admin", name="screenshots").key
        with _server(folder) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=PROGRAM, args=OPTIONS)
            PICTURES.mkdir(parents=True, exist_ok=True)
            for picture in PICTURES_MADE:
                _take(browser, url, key, picture)
            browser.close()


def _take(browser: Browser, url: str, key: str, picture: Picture) -> None:
    size = DESK if picture.size == "desk" else PHONE
    context = browser.new_context(base_url=url, viewport=size, color_scheme=picture.mode)
    page = context.new_page()
    _sign_in(page, key)
    page.goto(f"/ui/{picture.address}")
    if picture.click is not None:
        page.locator(picture.click).first.click()
    # Live parts of the page load after it.
    page.wait_for_timeout(SETTLE_MS)
    path = PICTURES / f"{picture.name}.png"
    page.screenshot(path=path)
    print(f"{path.name}: {path.stat().st_size / 1024:.0f} KiB", flush=True)
    context.close()


def _sign_in(page: Page, key: str) -> None:
    page.goto("/ui/sign-in")
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/ui/overview*")


@contextmanager
def _folder(arguments: list[str]) -> Iterator[Path]:
    if arguments:
        yield Path(arguments[0])
        return
    with TemporaryDirectory(prefix="mnemic-pictures-") as folder:
        yield Path(folder)
        stop(Path(folder))


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    """`mnemic serve` over the folder, in a process of its own."""
    command = [sys.executable, "-c", "from mnemic.cli.app import main; main()"]
    arguments = ["serve", "--port", "0", "--data-dir", str(folder), "--json", "--no-mcp"]
    with subprocess.Popen(
        [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        printed = ""
        while not printed.rstrip().endswith("}"):
            line = server.stdout.readline()
            assert line, "the server starts"
            printed += line
        yield str(json.loads(printed)["url"])
        server.terminate()


if __name__ == "__main__":
    main()
