"""A process that ingests a file and waits for it, until it is killed: <data folder> <tenant> <file>."""

import sys

from mnemic import Memory


def main(data_dir: str, tenant: str, file: str) -> None:
    with Memory(data_dir=data_dir, tenant=tenant, owner="alice", embedder="test") as memory:
        memory.documents.ingest_file(file, wait=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
