"""The browser that drives the dashboard in tests: Debian's Chromium by Playwright, one for all tests.

Every test has a context of its own (cookies, storage). What the browser reports meanwhile, such as an error
of a script or a violation of the content security policy, fails the test.
"""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Playwright, WebError, sync_playwright

# tools/install_browser.sh looks in the same places.
PROGRAMS = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
MISSING = (
    "The tests of the dashboard need Chromium: run `make browser`, or set MNEMIC_TEST_BROWSER to the program "
    "of an installed Chromium or Chrome."
)
OPTIONS = (
    "--no-sandbox",  # As root, Chromium does not start with it.
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--font-render-hinting=none",
)
WAIT_MS = 60_000
# Violations are reported to the page only; as an error they reach the test.
REPORT_VIOLATIONS = """
addEventListener("securitypolicyviolation", event => console.error(
  `policy violation: ${event.violatedDirective} ${event.blockedURI} ${event.sample} in ${event.sourceFile}`));
"""


def browser_program() -> str | None:
    """The installed browser, or None."""
    for program in (os.environ.get("MNEMIC_TEST_BROWSER", ""), *PROGRAMS):
        if program and Path(program).exists():
            return program
    return None


@dataclass
class Reports:
    """What browsers reported as wrong. `allow` names parts of reports that a test expects."""

    found: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)

    def allow(self, part: str) -> None:
        self.allowed.append(part)

    def on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.found.append(f"{message.text} ({message.location['url']})")

    def on_error(self, error: WebError) -> None:
        self.found.append(f"error of a script: {error.error}")

    @property
    def unexpected(self) -> list[str]:
        return [each for each in self.found if not any(part in each for part in self.allowed)]

    def watch(self, context: BrowserContext) -> None:
        """Collect everything that pages of this context report."""
        context.on("console", self.on_console)
        context.on("weberror", self.on_error)
        context.add_init_script(REPORT_VIOLATIONS)


class OneBrowser:
    """A started browser. Playwright runs an event loop in this thread, which other tests must not see."""

    def __init__(self, playwright: Playwright, browser: Browser) -> None:
        self.playwright, self.browser = playwright, browser
        self._loop = asyncio.get_running_loop()
        self.leave()

    def enter(self) -> None:
        """Let calls of Playwright find their loop again."""
        asyncio._set_running_loop(self._loop)

    def leave(self) -> None:
        """Hide the loop: `asyncio.run` refuses to work beside a running one."""
        asyncio._set_running_loop(None)

    @contextmanager
    def used(self) -> Iterator[Browser]:
        """The browser, while a test uses it."""
        self.enter()
        try:
            yield self.browser
        finally:
            self.leave()


@contextmanager
def started_browser(program: str) -> Iterator[OneBrowser]:
    """Start the browser; it ends with the block."""
    playwright = sync_playwright().start()
    browser = playwright.chromium.launch(executable_path=program, args=list(OPTIONS), headless=True)
    started = OneBrowser(playwright, browser)
    try:
        yield started
    finally:
        started.enter()
        browser.close()
        playwright.stop()
        started.leave()
