"""When the tests run as root: the same tests again, as an unprivileged user."""

import os
import subprocess
import sys

import pytest

from tests.embedded.conftest import NEEDS_ROOT
from tests.embedded.ordinary_user import NOT_POSSIBLE
from tests.embedded.processes import HERE

USER = "daemon"  # Exists on every Unix, and nothing of the tests runs as it otherwise.
TIMEOUT_S = 300.0
# All of them again take as long as the first time, and differ where the folder is made and shared: the others
# run in make test-slow, and wherever the tests do not run as root.
AGAIN = HERE if "SLOW_TESTS" in os.environ else HERE / "test_sharing.py"


def run_as_ordinary_user(user: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run this Python as another user; skips if that user cannot access it."""
    command = [sys.executable, str(HERE / "ordinary_user.py"), user, sys.executable, *arguments]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S, cwd="/"
    )
    if done.returncode == NOT_POSSIBLE:
        pytest.skip("the interpreter is out of reach for other users, and mounting is not permitted")
    return done


@NEEDS_ROOT
def test_the_tests_pass_as_an_ordinary_user() -> None:
    root_dir, options = str(HERE.parents[1]), ("-q", "-x", "-p", "no:cacheprovider")
    done = run_as_ordinary_user(USER, "-m", "pytest", *options, "--rootdir", root_dir, str(AGAIN))
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


@NEEDS_ROOT
def test_a_user_id_without_name_is_an_error() -> None:
    start = "from mnemic.db.embedded import EmbeddedServer as E; E.start('/tmp/mnemic-nameless/data')"
    done = run_as_ordinary_user("54321", "-c", start)
    subprocess.run(["rm", "-rf", "/tmp/mnemic-nameless"], check=True)
    assert "EmbeddedServerError: the user id 54321 has no entry in the passwd database" in done.stderr
