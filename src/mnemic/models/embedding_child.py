"""The process that `mnemic.models.embedding_process` starts: it embeds until its input ends."""

import asyncio
import json
import sys

from mnemic.errors import EmbeddingError
from mnemic.models.embedding_process import FAILED, LENGTH, receive, send
from mnemic.models.local import MiniLM


def main() -> None:
    """Answer requests until there is no more input."""
    engine = MiniLM()
    output = sys.stdout.buffer
    with asyncio.Runner() as runner:
        while True:
            try:
                texts = json.loads(receive(sys.stdin.buffer))
            except EOFError:
                return
            try:
                send(output, runner.run(engine.embed(texts)).tobytes())
            except EmbeddingError as error:
                output.write(LENGTH.pack(FAILED))
                send(output, str(error).encode())
