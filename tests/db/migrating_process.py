"""A process that migrates: waits for a line on its input, then prints how many migrations it applied."""

import asyncio
import sys

from mnemic.db.connection import Limits
from mnemic.db.migrate import migrate

if __name__ == "__main__":
    print("ready", flush=True)
    sys.stdin.readline()
    print(len(asyncio.run(migrate(sys.argv[1], Limits())).pending), flush=True)
