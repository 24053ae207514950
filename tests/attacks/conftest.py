"""The attacks on the whole project, and a table of how many of each kind were tried.

The kind of an attack is the name of its file or folder here: `tests/attacks/test_grants.py` holds attacks
on grants. Each test counts once, and each of its subtests once more. `make test-attack` runs them all.
"""

from collections import Counter
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter

FOLDER = "tests/attacks/"

withstood: Counter[str] = Counter()
failed: Counter[str] = Counter()


def kind_of(nodeid: str) -> str | None:
    """What is attacked, or None for a test of another folder."""
    path = nodeid.partition("::")[0]
    if not path.startswith(FOLDER):
        return None
    return Path(path).relative_to(FOLDER).parts[0].removeprefix("test_").removesuffix(".py").replace("_", " ")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count a test or subtest, and a failure to prepare one."""
    kind = kind_of(report.nodeid)
    if kind is None:
        return
    if report.failed:
        failed[kind] += 1
    elif report.passed and report.when == "call":
        withstood[kind] += 1


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Print the table under the results."""
    if not withstood and not failed:
        return
    terminalreporter.section("attacks by kind")
    for kind in sorted(withstood | failed):
        line = f"{kind:<24} {withstood[kind]:>5} withstood"
        terminalreporter.line(f"{line} {failed[kind]:>5} not" if failed[kind] else line)
    terminalreporter.line(f"{'all':<24} {withstood.total():>5} withstood {failed.total():>5} not")
