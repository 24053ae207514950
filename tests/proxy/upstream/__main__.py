"""Run the stand-in as a program: `python -m tests.proxy.upstream --port 9100 --script script.json`.

With `--log`, every request is written to a file as one line of JSON, keys of the client left out.
"""

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any

from tests.proxy.upstream.rules import Rules
from tests.proxy.upstream.script import read_script
from tests.proxy.upstream.server import Received, Upstream, running_upstream

SECRET_HEADERS = ("authorization", "x-api-key", "x-mnemic-key", "cookie")
LOG_EVERY_S = 0.2


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.proxy.upstream", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--binding", choices=["off", "error", "drop"], default="error")
    parser.add_argument("--log", type=Path)
    asyncio.run(_run(parser.parse_args()))


async def _run(options: argparse.Namespace) -> None:
    rules = Rules(binding=options.binding)
    async with running_upstream(read_script(options.script), rules, port=options.port) as upstream:
        print(f"listening on {upstream.url}", flush=True)
        logged = 0
        while True:
            await asyncio.sleep(LOG_EVERY_S)
            logged = _log(upstream, options.log, logged)


def _log(upstream: Upstream, path: Path | None, logged: int) -> int:
    """Append requests that are complete; how many are logged."""
    new = upstream.received[logged:]
    done = [one for one in new if one.status]
    if path is not None and done and len(done) == len(new):
        with path.open("a") as file:
            file.writelines(json.dumps(as_json(one)) + "\n" for one in new)
        return logged + len(new)
    return logged


def as_json(received: Received) -> dict[str, Any]:
    """A request as JSON, without keys."""
    headers = [
        [name, "…" if name.lower() in SECRET_HEADERS else value] for name, value in received.request.headers
    ]
    return {
        "method": received.request.method,
        "target": received.request.target,
        "headers": headers,
        "status": received.status,
        "problem": received.problem,
        "did": received.did,
        "body": received.body,
    }


if __name__ == "__main__":
    main()
