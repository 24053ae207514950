"""Fixtures of the dashboard's tests: one server, one browser and one filled tenant for all of them.

`dashboard` is a running server over a filled tenant; `dashboard.client()` is signed in over HTTP. Tests that
change things work with an owner of their own. A module that changes what all see (jobs, owners of the story),
or visits everything that there is, overrides `dashboard` by `own_dashboard`: filling a tenant takes seconds.
`page` is a page of the browser, signed in as admin; `page_as(role, owner)` opens others. A test fails if its
pages report an error or a violation of the content security policy.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from mnemic.dashboard.app import mount_dashboard
from mnemic.types.key import Role
from tests.dashboard.browsing import MISSING, WAIT_MS, OneBrowser, Reports, browser_program, started_browser
from tests.dashboard.place import OWNERS, fill
from tests.dashboard.running import SAME_ORIGIN, Dashboard
from tests.running_folder import running
from tests.server.running import RunningServer, running_server

OpenPage = Callable[..., Page]
OpenContext = Callable[..., BrowserContext]


@pytest.fixture(scope="session")
def dashboard_folder(memory_dir: Path) -> Iterator[Path]:
    """A data folder whose PostgreSQL runs all the time."""
    yield from running(memory_dir / "dashboard")


@pytest.fixture(scope="session")
def served(dashboard_folder: Path) -> Iterator[RunningServer]:
    """A server with the dashboard; it runs no jobs."""
    with running_server(dashboard_folder, prepare=mount_dashboard) as server:
        yield server


@pytest.fixture(scope="session")
def shared_dashboard(served: RunningServer, dashboard_folder: Path) -> Dashboard:
    """The dashboard over a tenant that most modules share, with a thing of every kind in it."""
    return filled(served, dashboard_folder)


@pytest.fixture(scope="module")
def own_dashboard(served: RunningServer, dashboard_folder: Path) -> Dashboard:
    """The same over a tenant that only the tests of one module use."""
    return filled(served, dashboard_folder)


def filled(served: RunningServer, folder: Path) -> Dashboard:
    tenant = f"filled {uuid4()}"
    fill(folder, tenant)
    return Dashboard(served, tenant, OWNERS[0])


@pytest.fixture(scope="module")
def dashboard(shared_dashboard: Dashboard) -> Dashboard:
    """The filled dashboard of a module's tests."""
    return shared_dashboard


@pytest.fixture
def empty_dashboard(served: RunningServer) -> Dashboard:
    """The dashboard over a new tenant in which nothing is stored."""
    return Dashboard(served, f"empty {uuid4()}", "")


@pytest.fixture(scope="session")
def one_browser() -> Iterator[OneBrowser]:
    program = browser_program()
    if program is None:
        if os.environ.get("BROWSER_TESTS") == "required":
            pytest.fail(MISSING, pytrace=False)
        pytest.skip(MISSING)
    expect.set_options(timeout=WAIT_MS)
    with started_browser(program) as started:
        yield started


@pytest.fixture
def reports() -> Iterator[Reports]:
    """What the test's pages report; `reports.allow("404")` expects an error."""
    collected = Reports()
    yield collected
    assert collected.unexpected == []


@pytest.fixture
def open_context(one_browser: OneBrowser, reports: Reports) -> Iterator[OpenContext]:
    """Opens contexts of the browser: `open_context(dashboard, role="read", java_script_enabled=False)`."""
    opened: list[BrowserContext] = []
    with one_browser.used() as browser:

        def open_one(
            dashboard: Dashboard, role: Role | None = "admin", owner: str | None = None, **options: object
        ) -> BrowserContext:
            # Playwright's types list every option by name.
            context = browser.new_context(base_url=dashboard.url, **options)  # type: ignore[arg-type]
            opened.append(context)
            context.set_default_timeout(WAIT_MS)
            reports.watch(context)
            if role is not None:
                form: dict[str, str | float | bool] = {"key": dashboard.key(role, owner)}
                answer = context.request.post("/ui/sign-in", form=form, headers=SAME_ORIGIN, max_redirects=0)
                assert answer.status == 303, answer.text()
            return context

        yield open_one
        for context in opened:
            context.close()


@pytest.fixture
def page_as(dashboard: Dashboard, open_context: OpenContext) -> OpenPage:
    """Opens pages, signed in by a new key: `page_as("read", owner="mara")`."""

    def open_page(role: Role = "admin", owner: str | None = None, **options: object) -> Page:
        return open_context(dashboard, role, owner, **options).new_page()

    return open_page


@pytest.fixture
def page(page_as: OpenPage) -> Page:
    """A page, signed in as admin."""
    return page_as("admin")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what to install also where the reasons of skipped tests are not shown."""
    if any(MISSING in str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line(MISSING, yellow=True)
