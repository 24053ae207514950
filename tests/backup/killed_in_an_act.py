"""A process that is killed in the middle of an act: <data folder> <tenant> <act> <file>."""

import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from mnemic import Memory
from mnemic.backup import owner_transfer as transfer
from mnemic.backup import restore as restoring
from mnemic.embeddings import jobs as embedding
from mnemic.sdk.groups import admin

Act = Callable[[Memory, str], object]
ACTS: dict[str, tuple[object, str, Act]] = {
    "export": (transfer, "_export_table", lambda memory, file: memory.admin.export(file)),
    "import": (transfer, "_import_batch", lambda memory, file: memory.admin.import_(file)),
    "backup": (admin, "back_up", lambda memory, file: memory.admin.backup(file)),
    "reembed": (embedding, "complete_change", lambda memory, file: memory.admin.reembed(wait=True)),
    "restore": (restoring, "restore_into", lambda memory, file: memory.admin.restore(file, replace=True)),
    "restored": (restoring, "_write_outcome", lambda memory, file: memory.admin.restore(file, replace=True)),
}
"""What each act is, and the step of it that is not survived."""


def die(*given: object, **options: object) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable: nobody survives this")


def main(data_dir: str, tenant: str, name: str, file: str) -> None:
    module, step, act = ACTS[name]
    assert hasattr(module, step), f"{step} was renamed"
    setattr(module, step, die)
    with Memory(data_dir=data_dir, tenant=tenant, owner="alice", embedder="test:hash-72") as memory:
        act(memory, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
