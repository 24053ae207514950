"""A real PgBouncer in front of a server of the tests, in any of its modes."""

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from tests.free_port import free_port
from tests.password_server import SUPERUSER, PasswordServer
from tests.waiting import wait_until

PROGRAM = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
IS_INSTALLED = Path(PROGRAM).exists()
START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 30.0

PoolMode = Literal["session", "transaction", "statement"]


@contextmanager
def pgbouncer(
    server: PasswordServer,
    mode: PoolMode,
    logins: Mapping[str, str],
    *,
    pool_size: int = 20,
    ignores_settings: bool = True,
) -> Iterator[int]:
    """Run PgBouncer for these logins and their passwords, and the superuser; yields its port."""
    folder = Path(tempfile.mkdtemp(prefix="mnemic-test-"))
    folder.chmod(0o711)
    port = free_port()
    users = {SUPERUSER: server.password, **logins}
    (folder / "users.txt").write_text("".join(f'"{name}" "{secret}"\n' for name, secret in users.items()))
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\n* = host=127.0.0.1 port={server.port}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = scram-sha-256\nauth_file = {folder / 'users.txt'}\n"
        f"pool_mode = {mode}\ndefault_pool_size = {pool_size}\n"
        f"ignore_startup_parameters = {'options' if ignores_settings else 'extra_float_digits'}\n"
    )
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            [PROGRAM, str(folder / "pgbouncer.ini")], cwd="/", stdout=log, stderr=log, **server.as_account()
        )
    try:
        wait_until(lambda: _accepts(port), timeout_s=START_TIMEOUT_S, what="PgBouncer to start")
        yield port
    finally:
        process.terminate()
        process.wait(STOP_TIMEOUT_S)
        shutil.rmtree(folder)


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
