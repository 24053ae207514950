"""`mnemic demo --ui`: stores its story and prints a link that opens the dashboard."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import httpx
import pytest

from tests.dashboard.running import SAME_ORIGIN, TIMEOUT_S

PROGRAM = "from mnemic.cli.app import main; main()"
LINK = re.compile(r"^(http://127\.0\.0\.1:\d+)(/ui/sign-in\?link=\S+)$", re.MULTILINE)


@pytest.mark.skipif("SLOW_TESTS" not in os.environ, reason="stores a year of texts; make test-slow")
def test_the_demo_opens_the_dashboard_over_its_story(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, "demo", "--ui", "--port", "0", "--embedder", "test"]
    environment = os.environ | {"TMPDIR": str(tmp_path), "HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as running:
        try:
            assert running.stdout is not None
            address, link = _link(running.stdout)
            _check_overview(address, link)
        finally:
            running.send_signal(signal.SIGINT)
    assert list(tmp_path.glob("mnemic-demo-*")) == [], "the folder is gone"


def _link(lines: Iterable[str]) -> tuple[str, str]:
    printed = ""
    for line in lines:
        printed += line
        if found := LINK.search(printed):
            return found[1], found[2]
    pytest.fail(f"no link was printed: {printed}")


def _check_overview(address: str, link: str) -> None:
    with httpx.Client(
        base_url=address, headers=SAME_ORIGIN, timeout=TIMEOUT_S, follow_redirects=True
    ) as client:
        opened = client.get(link)
        assert (opened.status_code, opened.url.path) == (200, "/ui/overview")
        assert "mara" in opened.text
