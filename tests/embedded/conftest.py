"""Fixtures: data folders with a prepared cluster; no process may be left running.

Making a cluster takes a second, so one is made per session and copied for each test that does not
need to see it being made.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mnemic.db.embedded import EmbeddedServer, stop
from tests.embedded.processes import UserProcess, end_everything, wait_until_nothing_runs
from tests.embedded.user_process import MAKE_TABLE, connect

NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

SHARED_MEMORY = Path("/dev/shm")
MEMORY_NEEDED_BYTES = 1024 * 1024 * 1024

StartUser = Callable[..., UserProcess]


@pytest.fixture(scope="session")
def memory_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A private folder in main memory, if there is enough: on a disk these tests are slower.

    What is killed here are processes, and the kernel keeps what they wrote in either case.
    """
    if not os.access(SHARED_MEMORY, os.W_OK) or shutil.disk_usage(SHARED_MEMORY).free < MEMORY_NEEDED_BYTES:
        yield tmp_path_factory.mktemp("disk")
        return
    folder = Path(tempfile.mkdtemp(prefix="mnemic-test-", dir=SHARED_MEMORY))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def room(memory_dir: Path) -> Path:
    """A new folder for one test, in main memory where possible."""
    return Path(tempfile.mkdtemp(dir=memory_dir))


@pytest.fixture(scope="session")
def template_dir(memory_dir: Path) -> Path:
    """A data folder with a cluster that was shut down properly. Copy it, do not use it."""
    data_dir = memory_dir / "template"
    with EmbeddedServer.start(data_dir) as server, connect(server) as connection:
        connection.execute(MAKE_TABLE)
    assert stop(data_dir)
    return data_dir


@pytest.fixture
def copy_template(template_dir: Path) -> Iterator[Callable[[Path], Path]]:
    """Copies the template to a path; its server is stopped after the test."""
    copies = []

    def copy(target: Path) -> Path:
        subprocess.run(["cp", "-a", str(template_dir), str(target)], check=True)
        copies.append(target)
        return target

    yield copy
    for target in copies:
        leave_nothing(target)


@pytest.fixture
def data_dir(copy_template: Callable[[Path], Path], room: Path) -> Path:
    """A data folder whose cluster exists."""
    return copy_template(room / "data")


@pytest.fixture
def new_dir(room: Path) -> Iterator[Path]:
    """A data folder that does not exist, in a folder that does not exist."""
    folder = room / "parent" / "new data"
    yield folder
    if folder.exists():
        leave_nothing(folder)


@pytest.fixture
def start_user(tmp_path: Path) -> Iterator[StartUser]:
    """Starts user processes; all are killed after the test."""
    users = []

    def start(data_dir: Path, writer: str, *options: str) -> UserProcess:
        users.append(UserProcess(data_dir, writer, tmp_path, *options))
        return users[-1]

    yield start
    for user in users:
        user.kill()


def leave_nothing(data_dir: Path) -> None:
    """Stop processes that still run after a test, and fail the test."""
    stop(data_dir)
    try:
        wait_until_nothing_runs(data_dir)
    finally:
        end_everything(data_dir)
        shutil.rmtree(data_dir)
