"""Open a data folder with the sources on PYTHONPATH, and retain each line of the standard input.

Prints one line for the opening, for each text, and for each warning of a migration. An empty line asks how
many memories there are.
"""

import logging
import sys

from mnemic import Memory
from mnemic.errors import MnemicError


class Printed(logging.Handler):
    """Prints warnings."""

    def emit(self, record: logging.LogRecord) -> None:
        print(record.getMessage(), flush=True)


def main(data_dir: str) -> None:
    logging.getLogger("mnemic.migrate").addHandler(Printed())
    with Memory(data_dir=data_dir, owner="alice", embedder="test") as memory:
        print("open", flush=True)
        for line in sys.stdin:
            print(answer(memory, line.strip()), flush=True)


def answer(memory: Memory, text: str) -> str:
    try:
        if not text:
            return f"{len(memory.memories.list())} memories"
        memory.retain(text)
    except MnemicError as error:
        return described(error)
    return "retained"


def described(error: MnemicError) -> str:
    return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except MnemicError as error:
        print(described(error), flush=True)
