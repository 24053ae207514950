"""The keeper: a small process that is the parent of the postmaster and stops it after the last user.

It runs detached, as a separate program (``python -I -S keeper.py``), and imports nothing of Mnemic:

1. It takes ``keeper.lock`` (the keeper runs) and ``server.lock`` (some process of this server
   runs), then forks; the parent exits with 0, which tells the starter that the keeper holds its locks.
2. It starts the postmaster, which inherits ``server.lock`` and passes it on to every backend. On
   Linux the kernel sends SIGINT to the postmaster if the keeper is killed.
3. One thread waits for the exclusive ``users.lock``. It gets the lock when the last user has released
   it or has ended. If the file ``keep-running`` exists, it releases the lock and tries again a little
   later; otherwise it keeps the lock, so that a new user waits, and stops the postmaster.
4. The main thread waits until the postmaster has ended, for any reason, removes the socket folder
   and exits, which releases its locks.

Its messages go to ``server.log``.
"""

import contextlib
import fcntl
import os
import signal
import sys
import threading
import time

try:
    import ctypes
except ImportError:  # Missing in some builds of Python; then a killed keeper leaves the server running.
    ctypes = None  # type: ignore[assignment]

LINUX = os.uname().sysname == "Linux"

LOCK_TRIES = 500
LOCK_TRY_INTERVAL_S = 0.01
KEEP_RUNNING_POLL_S = 1.0

# Signals and how often each is sent before the next one. None of them loses data.
STOP_SIGNALS = ((signal.SIGINT, 120), (signal.SIGQUIT, 10), (signal.SIGKILL, 10))
STOP_TRY_INTERVAL_S = 1.0

PR_SET_PDEATHSIG = 1
SOCKET_NAMES = (".s.PGSQL.5432", ".s.PGSQL.5432.lock")


def main(data_dir: str, socket_dir: str, uid: str, gid: str, program: str, *options: str) -> None:
    """Run one server, as the current user if `uid` is empty."""
    # Python's handler only sets a flag, which is lost at exec: SIGINT must terminate a forked child
    # that has not become the postmaster yet.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    take_lock(os.path.join(data_dir, "keeper.lock"))
    server_lock = take_lock(os.path.join(data_dir, "server.lock"))
    users_lock = os.open(os.path.join(data_dir, "users.lock"), os.O_RDWR | os.O_NOFOLLOW)
    if os.fork():
        os._exit(0)
    try:
        os.set_inheritable(server_lock, True)
        switch_to = (int(uid), int(gid)) if uid else None
        command = [program, "-D", path_for_server(data_dir, switched=bool(uid)), *options]
        keep(start_postmaster(command, switch_to), users_lock, os.path.join(data_dir, "keep-running"))
    finally:
        remove_socket_folder(socket_dir)


def keep(postmaster: int, users_lock: int, keep_running: str) -> None:
    """Wait until the postmaster has ended; a thread stops it after its last user."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: send(postmaster, signal.SIGINT))
    watch = (postmaster, users_lock, keep_running)
    threading.Thread(target=stop_when_unused, args=watch, daemon=True).start()
    _, status = os.waitpid(postmaster, 0)
    if status:
        say(f"the postmaster (pid {postmaster}) ended with {os.waitstatus_to_exitcode(status)}")


def take_lock(path: str) -> int:
    """Take a lock that should be free; `is_locked` may hold it for an instant, so retry for a while."""
    fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    for _ in range(LOCK_TRIES):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return fd
        except BlockingIOError:
            time.sleep(LOCK_TRY_INTERVAL_S)
    raise SystemExit(f"keeper: {path} is held by another process")


def path_for_server(data_dir: str, *, switched: bool) -> str:
    """The cluster's path; for another user an inherited open folder, which works below closed parents."""
    pgdata = os.path.join(data_dir, "pgdata")
    if not switched or not LINUX:
        return pgdata
    fd = os.open(pgdata, os.O_RDONLY | os.O_DIRECTORY)
    os.set_inheritable(fd, True)
    return f"/proc/self/fd/{fd}"


def start_postmaster(command: list[str], switch_to: tuple[int, int] | None) -> int:
    """Fork and execute the server; returns its pid. Must be called by the main thread.

    The kernel sends the parent-death signal when the *thread* that forked ends, and clears it
    when the user changes, so it is requested after that.
    """
    keeper = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and exec would inherit that.
        if switch_to is not None:
            uid, gid = switch_to
            os.setgroups([])
            os.setgid(gid)
            os.setuid(uid)
        os.umask(0o077)
        die_with_parent(keeper)
        os.execv(command[0], command)  # noqa: S606
    except Exception as error:  # noqa: BLE001 - the child must end here after any error.
        say(f"cannot start {command[0]}: {error}")
    os._exit(127)


def die_with_parent(keeper: int) -> None:
    if not LINUX or ctypes is None:
        return
    if ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0) != 0:
        say("the kernel refuses a parent-death signal: if the keeper is killed, the server keeps running")
    if os.getppid() != keeper:
        raise RuntimeError("the keeper died before the server began")


def stop_when_unused(postmaster: int, users_lock: int, keep_running: str) -> None:
    """Stop the postmaster after its last user, or if waiting for that fails."""
    try:
        wait_until_unused(users_lock, keep_running)
    finally:
        for number, tries in STOP_SIGNALS:  # The main thread exits when one has worked.
            for _ in range(tries):
                send(postmaster, number)
                time.sleep(STOP_TRY_INTERVAL_S)
        say(f"the postmaster (pid {postmaster}) cannot be stopped")


def wait_until_unused(users_lock: int, keep_running: str) -> None:
    while True:
        fcntl.flock(users_lock, fcntl.LOCK_EX)
        if not os.path.exists(keep_running):
            return
        fcntl.flock(users_lock, fcntl.LOCK_UN)
        time.sleep(KEEP_RUNNING_POLL_S)


def send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def remove_socket_folder(socket_dir: str) -> None:
    try:
        for name in SOCKET_NAMES:
            path = os.path.join(socket_dir, name)
            if os.path.lexists(path):
                os.unlink(path)
        os.rmdir(socket_dir)
    except OSError as error:
        say(f"the socket folder cannot be removed: {error}")


def say(message: str) -> None:
    print(f"keeper: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
