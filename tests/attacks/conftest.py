"""The attacks on the whole project, and a table of how many of each kind were tried.

The kind of an attack is the name of its file or folder here: `tests/attacks/test_grants.py` holds attacks
on grants. Each test counts once, and each of its subtests once more. `make test-attack` runs them all.
"""

from collections import Counter
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter

HERE = Path(__file__).parent


def kind_of(nodeid: str, root: Path) -> str | None:
    """What is attacked, or None for a test of another folder."""
    path = root / nodeid.partition("::")[0]
    if HERE not in path.parents:
        return None
    return path.relative_to(HERE).parts[0].removeprefix("test_").removesuffix(".py").replace("_", " ")


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    """Print the table under the results."""
    withstood = _counted(terminalreporter, config, "passed", "subtests passed")
    failed = _counted(terminalreporter, config, "failed", "error")
    if not withstood and not failed:
        return
    terminalreporter.section("attacks by kind")
    for kind in sorted(withstood | failed):
        line = f"{kind:<24} {withstood[kind]:>5} withstood"
        terminalreporter.line(f"{line} {failed[kind]:>5} not" if failed[kind] else line)
    terminalreporter.line(f"{'all':<24} {withstood.total():>5} withstood {failed.total():>5} not")


def _counted(reporter: TerminalReporter, config: pytest.Config, *outcomes: str) -> Counter[str]:
    reports = [report for outcome in outcomes for report in reporter.stats.get(outcome, [])]
    kinds = (kind_of(report.nodeid, config.rootpath) for report in reports)
    return Counter(kind for kind in kinds if kind is not None)
