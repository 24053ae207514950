"""A process that changes the model and waits for that, until it is killed: <folder> <tenant> <embedder>."""

import sys

from mnemic import Memory


def main(data_dir: str, tenant: str, embedder: str) -> None:
    with Memory(data_dir=data_dir, tenant=tenant, owner="alice", embedder=embedder) as memory:
        memory.admin.reembed(wait=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
