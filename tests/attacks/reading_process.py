"""A process that reads a slow document until it is killed: <data folder> <tenant>."""

import sys

from mnemic import Memory
from mnemic.config import Settings
from tests.attacks.hostile_documents import slow_pdf


def main(data_dir: str, tenant: str) -> None:
    settings = Settings(tenant=tenant, owner="alice", embedder="test", document_timeout_s=600)
    # No guard of `__main__` is needed: the reader is no copy of this script.
    with Memory(data_dir=data_dir, settings=settings) as memory:
        memory.documents.ingest("slow.pdf", data=slow_pdf())


main(*sys.argv[1:])
