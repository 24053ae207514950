"""Runs one agent through a proxy against the stand-in, and counts what happened."""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.clients.programs import Program, Workplace
from tests.clients.scripts import END, HIDDEN, write_files
from tests.proxy.upstream.script import Script
from tests.proxy.upstream.server import Received, Upstream

MAIN = "from mnemic.cli.app import main; main()"
PROMPT_TIMEOUT_S = 600
STARTING_TIMEOUT_S = 120


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one agent did."""

    program: Program
    turns: int
    """Responses of the model with tools."""
    hidden: int
    """Turns that called only memory tools."""
    mixed: int
    """Turns that called memory tools and the agent's own."""
    problems: tuple[str, ...]
    rewrites: tuple[str, ...]
    failures: tuple[str, ...]
    duration_s: float

    @property
    def is_good(self) -> bool:
        return not self.problems and not self.failures


@asynccontextmanager
async def running_mnemic_proxy(folder: Path, upstream: Upstream) -> AsyncIterator[str]:
    """`mnemic proxy` as a process of its own; its address."""
    variables = os.environ | {
        "MNEMIC_PROXY_ANTHROPIC_URL": upstream.url,
        "MNEMIC_PROXY_OPENAI_URL": upstream.url,
    }
    with (folder / "proxy.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", MAIN, "proxy", "--port", "0", "--json"),
            *("--data-dir", str(folder / "data"), "--embedder", "test"),
            env=variables,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
        )
        assert process.stdout is not None
        try:
            text = await asyncio.wait_for(process.stdout.readuntil(b"}"), STARTING_TIMEOUT_S)
            yield json.loads(text)["url"]
        finally:
            if process.returncode is None:
                process.terminate()
                await process.wait()


async def drive(
    program: Program, place: Workplace, programs: Path, upstream: Upstream, *, script: Script
) -> Outcome:
    """Run a session; each prompt but the first resumes the conversation."""
    write_files(place.project)
    place.home.mkdir(parents=True, exist_ok=True)
    program.prepare(place)
    upstream.forget()
    upstream.script = script
    started = time.monotonic()
    failures: list[str] = []
    for number in range(len(script.prompts)):
        failures += await _ask(program, place, programs, number)
    turns = upstream.turns()
    return Outcome(
        program,
        turns=len(turns),
        hidden=sum(1 for turn in turns if _tools(turn) and not _tools(turn) - set(HIDDEN)),
        mixed=sum(1 for turn in turns if _tools(turn) & set(HIDDEN) and _tools(turn) - set(HIDDEN)),
        problems=tuple(upstream.problems),
        rewrites=tuple(map(str, upstream.rewrites)),
        failures=tuple(failures),
        duration_s=time.monotonic() - started,
    )


def _tools(turn: Received) -> set[str]:
    return set(turn.did.split(", ")) - {"thinking", "text"}


async def _ask(program: Program, place: Workplace, programs: Path, number: int) -> list[str]:
    """Give the agent one prompt; what went wrong."""
    process = await asyncio.create_subprocess_exec(
        *program.command(f"Do part {number} of the work.", number > 0),
        cwd=place.project,
        env=program.variables(place, programs),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), PROMPT_TIMEOUT_S)
    except TimeoutError:
        process.kill()
        await process.wait()
        return [f"prompt {number} took more than {PROMPT_TIMEOUT_S} s"]
    (place.home / f"output-{number}.txt").write_bytes(output)
    text = output.decode(errors="replace")
    failures = [f"prompt {number} ended with {process.returncode}"] if process.returncode else []
    if END.format(number=number) not in text:
        failures.append(f"prompt {number} did not reach its end: {text[-300:]}")
    shown = [name for name in HIDDEN if f'"{name}"' in text]
    if shown:
        failures.append(f"prompt {number} showed hidden tools: {', '.join(shown)}")
    return failures
