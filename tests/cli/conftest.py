"""What the tests of the commands share: a data folder, and a way to run `mnemic` in this process."""

import io
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from json import loads
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from mnemic import Memory
from mnemic.cli.app import main
from mnemic.config import Settings
from mnemic.db.access import DATABASE_NAME
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer
from tests.running_folder import running


@dataclass(frozen=True)
class Ended:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, parsed; an error if it printed anything else."""
        return loads(self.out)

    @property
    def said(self) -> str:
        """What it complained about, in one line."""
        return " ".join(self.err.split())


Run = Callable[..., Ended]


@pytest.fixture(scope="session")
def folder(memory_dir: Path) -> Iterator[Path]:
    """A data folder whose server runs all the time, so that each command need not start one."""
    yield from running(memory_dir / f"cli-{uuid4().hex}")


@pytest.fixture(scope="session")
def superuser(folder: Path) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """The administrator's connection to the folder's database, in autocommit mode."""
    with Memory(data_dir=folder, embedder="test"), EmbeddedServer.start(folder) as server:
        conninfo = server.conninfo(user=ADMIN_ROLE, dbname=DATABASE_NAME)
        with psycopg.connect(conninfo, autocommit=True) as connection:
            yield connection


@pytest.fixture
def tenant(superuser: psycopg.Connection[tuple[Any, ...]]) -> str:
    """A new, empty tenant: commands that only read do not create one."""
    name = f"tenant {uuid4()}"
    superuser.execute("INSERT INTO state.tenants (name) VALUES (%s)", [name])
    return name


@pytest.fixture
def mnemic(
    folder: Path, tenant: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Runs `mnemic` with these arguments as alice in a tenant of the test's own, unless told otherwise."""
    for name, value in {
        "MNEMIC_DATA_DIR": str(folder),
        "MNEMIC_TENANT": tenant,
        "MNEMIC_OWNER": "alice",
        "MNEMIC_EMBEDDER": "test",
    }.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: object, stdin: bytes = b"") -> Ended:
        monkeypatch.setattr(sys, "argv", ["mnemic", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8"))
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        printed = capsys.readouterr()
        return Ended(code, printed.out, printed.err)

    return run


@pytest.fixture
def memory(folder: Path, tenant: str) -> Iterator[Memory]:
    """The same memory, to look at what the commands did; it leaves jobs to them."""
    settings = Settings(data_dir=folder, tenant=tenant, worker=False)
    with Memory(settings=settings, owner="alice", embedder="test") as memory:
        yield memory
