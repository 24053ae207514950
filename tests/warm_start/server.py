"""A process that has imported Mnemic and forks itself for each client: importing takes a second of CPU time.

Three processes serve one request. The client (`tests/warm_start/client.py`) stands for the process in the
test. The *worker*, a fork of this process, does the work with the client's streams, environment and folder.
The *attendant*, its parent, sends the client the worker's id and in the end its exit code, and kills the
worker if the client dies.
"""

import atexit
import gc
import json
import os
import runpy
import selectors
import signal
import socket
import sys
import threading
import traceback
import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

import mnemic.mcp.client_scope
import mnemic.mcp.stdio
import mnemic.server.app  # noqa: F401 (what the commands import when they are called)
from mnemic.cli.app import built_commands, main

WAITING_MAX = 64


@dataclass(frozen=True)
class Order:
    """What a new process would be started with."""

    arguments: list[str]
    environment: dict[str, str]
    folder: str


def serve(path: str) -> Order:
    """Accept clients for ever; returns in each worker, with its order."""
    built_commands()
    # Else the garbage collector of each worker would copy the memory of all modules.
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(WAITING_MAX)
        print("ready", flush=True)
        while True:
            connection, _ = listener.accept()
            with connection:
                if os.fork() == 0:
                    return attend(connection)
            reap()


def reap() -> None:
    """Take note of the attendants that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def attend(connection: socket.socket) -> Order:
    """Fork the worker, and end with it or with the client; returns in the worker."""
    size, streams, _, _ = socket.recv_fds(connection, 4, 3)
    with connection.makefile("rb") as received:
        order = Order(**json.loads(received.read(int.from_bytes(size, "big"))))
    worker = os.fork()
    for number, stream in enumerate(streams):
        if worker == 0:
            os.dup2(stream, number)
        os.close(stream)
    if worker == 0:
        return order
    connection.sendall(f"{worker}\n".encode())
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        selector.register(os.pidfd_open(worker), selectors.EVENT_READ)
        client_died = any(key.fileobj is connection for key, _ in selector.select())
    if client_died:
        os.kill(worker, signal.SIGKILL)
    _, status = os.waitpid(worker, 0)
    if not client_died:
        connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def run(order: Order) -> None:
    """Do what a new process with this order would do."""
    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.environment)
    kind, *arguments = order.arguments
    if kind == "mnemic":
        sys.argv = order.arguments
        main()
    elif kind == "-m":
        sys.argv = arguments
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        (code,) = arguments
        sys.argv = ["-c"]
        warnings.simplefilter("error")
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})


def end_with(code: object) -> NoReturn:
    """End as an interpreter does, but without clearing all modules, which takes as long as importing them."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    if isinstance(code, str):
        print(code, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    try:
        run(serve(sys.argv[1]))
    except SystemExit as ended:
        end_with(ended.code)
    except Exception:  # noqa: BLE001 - the top of a process, like the interpreter
        traceback.print_exc()
        end_with(1)
    end_with(None)
