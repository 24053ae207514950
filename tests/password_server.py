"""A second PostgreSQL for tests of URLs: on a loopback port, with passwords."""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import psycopg
from psycopg.rows import TupleRow

from mnemic.db.embedded.account import Account
from mnemic.db.embedded.binaries import runnable_binaries
from mnemic.db.embedded.deadline import Deadline
from tests.free_port import free_port
from tests.postgres_binaries import tested_binaries
from tests.waiting import wait_until

SUPERUSER = "postgres"
START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 30.0


class PasswordServer:
    """States: running from `start` to `close`; `stop` and `run` in between, on the same port."""

    def __init__(self, folder: Path, account: Account, binaries: Path, port: int, password: str) -> None:
        self.port = port
        self.password = password
        self._folder = folder
        self._account = account
        self._binaries = binaries
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def start(cls, parent: Path) -> Self:
        """Make a cluster in a new folder below `parent`, which all users can enter, and run it."""
        account = _account()
        binaries = runnable_binaries(account, tested_binaries(), Deadline(START_TIMEOUT_S)).folder
        folder = Path(tempfile.mkdtemp(prefix="mnemic-test-", dir=parent))
        folder.chmod(0o711)
        server = cls(folder, account, binaries, free_port(), secrets.token_hex(8))
        try:
            server._make_cluster()
            server.run()
        except BaseException:
            server.close()
            raise
        return server

    def url(
        self,
        user: str = SUPERUSER,
        password: str | None = None,
        *,
        dbname: str = "postgres",
        port: int | None = None,
    ) -> str:
        secret = self.password if password is None else password
        user, secret, dbname = (quote(part, safe="") for part in (user, secret, dbname))
        return f"postgresql://{user}:{secret}@127.0.0.1:{port or self.port}/{dbname}"

    def connect(self, *, dbname: str = "postgres") -> psycopg.Connection[TupleRow]:
        """A connection of the superuser, in autocommit mode."""
        return psycopg.connect(self.url(dbname=dbname), autocommit=True)

    def execute(self, statement: str, *, dbname: str = "postgres") -> None:
        """Run a statement, or several, as the superuser."""
        with self.connect(dbname=dbname) as connection:
            connection.execute(statement.encode())

    def run(self) -> None:
        command = [str(self._binaries / "postgres"), "-D", str(self._folder / "pgdata")]
        with open(self._folder / "log", "ab") as log:
            self._process = subprocess.Popen(command, cwd="/", stdout=log, stderr=log, **self.as_account())
        wait_until(self._accepts, timeout_s=START_TIMEOUT_S, what="the password server to start")

    def stop(self) -> None:
        """A fast shutdown, which ends every connection."""
        assert self._process is not None, "the server runs"
        self._process.send_signal(signal.SIGINT)
        assert self._process.wait(STOP_TIMEOUT_S) == 0
        self._process = None

    def close(self) -> None:
        if self._process is not None:
            self.stop()
        shutil.rmtree(self._folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _make_cluster(self) -> None:
        pgdata = self._folder / "pgdata"
        pgdata.mkdir(mode=0o700)
        password_file = pgdata.with_name("password")
        password_file.write_text(self.password)
        if self._account.switched:
            os.chown(pgdata, self._account.uid, self._account.gid)
            os.chown(password_file, self._account.uid, self._account.gid)
        options = (
            f"--pgdata={pgdata}",
            f"--username={SUPERUSER}",
            f"--pwfile={password_file}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        )
        command = [str(self._binaries / "initdb"), *options]
        subprocess.run(command, cwd="/", check=True, stdout=subprocess.PIPE, **self.as_account())
        settings = {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "fsync": "off",
            "autovacuum": "off",
        }
        with open(pgdata / "postgresql.auto.conf", "a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    def as_account(self) -> dict[str, Any]:
        if not self._account.switched:
            return {}
        return {"user": self._account.uid, "group": self._account.gid, "extra_groups": []}

    def _accepts(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "log").read_text()
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True


def _account() -> Account:
    """The current user; PostgreSQL refuses to run as root, so root runs it as `nobody`."""
    switched = os.geteuid() == 0
    entry = pwd.getpwnam("nobody") if switched else pwd.getpwuid(os.geteuid())
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, switched=switched)
