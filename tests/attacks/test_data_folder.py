"""Attacks on the data folder of a server that root runs, by processes of other users of the machine.

PostgreSQL refuses to run as root. While its server ran as `nobody`, each service of that user could read and
change the data through /proc, and kill the server.
"""

import json
import pwd
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.db.embedded import EmbeddedServer, status, stop
from tests.embedded.conftest import NEEDS_ROOT

pytestmark = NEEDS_ROOT

OTHER_USER = Path(__file__).with_name("other_user.py")
ATTACK_TIMEOUT_S = 120.0


@pytest.fixture(scope="module")
def attacked(memory_dir: Path) -> Iterator[Path]:
    """The data folder of a server that root runs with default settings."""
    yield from running(memory_dir / "attacked")


@pytest.fixture(scope="module")
def neighbour(memory_dir: Path) -> Iterator[Path]:
    """Another one."""
    yield from running(memory_dir / "neighbour")


def running(data_dir: Path) -> Iterator[Path]:
    with EmbeddedServer.start(data_dir):
        yield data_dir
    assert stop(data_dir)


def test_a_service_of_nobody_cannot_reach_data_or_server(attacked: Path, subtests: pytest.Subtests) -> None:
    check_refused(attacked, pwd.getpwnam("nobody").pw_uid, subtests)


def test_the_server_of_one_folder_cannot_reach_that_of_another(
    attacked: Path, neighbour: Path, subtests: pytest.Subtests
) -> None:
    check_refused(attacked, (neighbour / "pgdata").stat().st_uid, subtests)


def check_refused(attacked: Path, uid: int, subtests: pytest.Subtests) -> None:
    found = status(attacked)
    arguments = map(str, (uid, found.pid, found.data_dir, found.socket_dir))
    done = subprocess.run(
        [sys.executable, str(OTHER_USER), *arguments],
        capture_output=True,
        text=True,
        timeout=ATTACK_TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr
    for name, outcome in json.loads(done.stdout).items():
        with subtests.test(name):
            assert outcome == "refused"
