"""`make test-clients`: drive every agent through `mnemic proxy`, and print a table."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.clients.driving import Outcome, drive, running_mnemic_proxy
from tests.clients.npm import has_npm, install
from tests.clients.programs import PROGRAMS, Program, Workplace
from tests.clients.recording import record
from tests.clients.scripts import session
from tests.proxy.upstream.server import Upstream, running_upstream

PROMPTS = 3
STEPS = 60
"""Steps per prompt: six programs with three prompts make 1,080 turns."""
TURNS_NEEDED = 1_000


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.clients", description=__doc__)
    parser.add_argument("--installed", type=Path, help="folder into which the agents are installed, and kept")
    parser.add_argument("--only", default="", help="agents whose name or API contains this")
    parser.add_argument("--prompts", type=int, default=PROMPTS)
    parser.add_argument("--steps", type=int, default=STEPS, help="steps per prompt")
    parser.add_argument("--direct", action="store_true", help="without the proxy, to check the agents alone")
    parser.add_argument("--record", type=Path, help="write cut requests of each agent into this folder")
    parser.add_argument("--keep", type=Path, help="folder for homes, output and logs; else temporary")
    options = parser.parse_args()
    if not has_npm():
        print("Skipped: npm is not installed. It installs the agents that this test drives.")
        return 0
    with tempfile.TemporaryDirectory(prefix="mnemic-clients-") as folder:
        programs = install(options.installed or Path(folder))
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
        return asyncio.run(_run(options, programs, options.keep or Path(folder)))


async def _run(options: argparse.Namespace, programs: Path, folder: Path) -> int:
    chosen = [one for one in PROGRAMS if options.only.lower() in f"{one.name} {one.api}".lower()]
    if options.record:
        await record(chosen, programs, folder, options.record)
        return 0
    async with running_upstream(session(folder, 1, 1)) as upstream:
        outcomes = await _drive_all(chosen, programs, folder, upstream, options)
    _print_table(outcomes)
    turns = sum(one.turns for one in outcomes)
    is_whole = len(chosen) == len(PROGRAMS) and options.prompts * options.steps >= PROMPTS * STEPS
    is_enough = turns >= TURNS_NEEDED or not is_whole
    print(f"{turns} turns, {sum(len(one.problems) for one in outcomes)} requests rejected")
    return 0 if is_enough and all(one.is_good for one in outcomes) else 1


async def _drive_all(
    chosen: list[Program], programs: Path, folder: Path, upstream: Upstream, options: argparse.Namespace
) -> list[Outcome]:
    """One agent after the other, through one proxy."""
    if options.direct:
        return [await _drive(one, programs, folder, upstream, upstream.url, options) for one in chosen]
    async with running_mnemic_proxy(folder, upstream) as url:
        return [await _drive(one, programs, folder, upstream, url, options) for one in chosen]


async def _drive(
    program: Program, programs: Path, folder: Path, upstream: Upstream, url: str, options: argparse.Namespace
) -> Outcome:
    own = folder / f"{program.name} {program.api}".replace(" ", "-")
    place = Workplace(own / "home", own / "project", url)
    script = session(place.project, options.prompts, options.steps)
    return await drive(program, place, programs, upstream, script=script)


def _print_table(outcomes: list[Outcome]) -> None:
    print(f"{'agent':24}{'API':20}{'turns':>6}{'hidden':>8}{'mixed':>7}{'400':>5}{'rewrites':>10}{'s':>7}")
    for one in outcomes:
        counts = f"{one.turns:6}{one.hidden:8}{one.mixed:7}{len(one.problems):5}{len(one.rewrites):10}"
        print(f"{one.program.name:24}{one.program.api:20}{counts}{one.duration_s:7.0f}")
        for trouble in (*one.problems[:3], *one.failures[:3], *one.rewrites[:1]):
            print(f"    {trouble[:1000]}")


if __name__ == "__main__":
    sys.exit(main())
