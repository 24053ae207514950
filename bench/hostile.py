"""A server with hostile clients among its callers: what the other tenants notice of them.

    python -m bench.hostile [--connections 64] [--hostile 10] [--seconds 30] [--rounds 2]
                            [--json bench/results/hostile.json]

`mnemic serve` runs in a process of its own, the honest clients in this one, the hostile ones in a third.
The honest callers belong to several tenants, recall nine times for one retain, and pause between calls, so
that the server is busy and not saturated: in a queue that never empties nobody would notice a delay. In
turns they are alone and beside the hostile ones (`bench/hostile_clients.py`), which have a tenant of their
own. Clients would be on machines of their own, so the hostile ones run at the lowest priority: they took 3 to
7 % of a core, the honest ones 8 to 12 %. Other programs on the machine count against the server; a priority
set by `nice` does not help against those of another session where Linux groups sessions
(`/proc/sys/kernel/sched_autogroup_enabled`).

Prints p50 and p95 of both, what the hostile clients were answered, and how much memory the server had. The
exit code is 1 when a target is missed: p95 within `P95_RATIO_MAX`, no error of an honest caller.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

import httpx
from rich.console import Console

from bench.hostile_clients import ATTACKS, Hostile, repeat
from bench.report import ReportLine, as_json, report_table, table_of
from bench.serving import ServerProcess, create_key
from bench.speed_measure import Latency
from mnemic import AsyncMemory
from mnemic.db.embedded import stop

TENANTS = 6
MEMORIES = 300
"""Memories of each honest tenant."""
PAUSE_S = 1.0
RETAIN_EVERY = 10
CALL_TIMEOUT_S = 60.0
WARM_UP_S = 3.0
P95_RATIO_MAX = 2.0
UNLIMITED_RATE = "1000000"
HOSTILE_TENANT = "hostile"
HOSTILE_NICENESS = 19


@dataclass
class Honest:
    """The times and errors of the honest callers in one kind of turn."""

    recall_ms: list[float] = field(default_factory=list)
    retain_ms: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)


def main() -> int:
    """Measure, print and write the results; as `--attack`, be the hostile clients."""
    options = _options()
    if options.attack is not None:
        print(json.dumps(asyncio.run(_attack(options))))
        return 0
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        data_dir = Path(folder) / "data"
        try:
            alone, beside, outcomes, peak_mb = asyncio.run(_measure(data_dir, options, Console(stderr=True)))
        finally:
            stop(data_dir)
    lines = report_lines(alone, beside, peak_mb)
    _show(Console(), alone, beside, outcomes, lines)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        plan = {name: getattr(options, name) for name in ("connections", "hostile", "seconds", "rounds")}
        measured = {"plan": plan, "alone": _figures(alone), "beside": _figures(beside), "hostile": outcomes}
        options.json.write_text(as_json(measured, lines))
    return int(any(line.met is False for line in lines))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure what hostile clients do to the others.")
    parser.add_argument("--connections", type=int, default=64, help="clients, the hostile ones included")
    parser.add_argument("--hostile", type=int, default=10, help="hostile clients among them")
    parser.add_argument("--seconds", type=float, default=30.0, help="duration of each turn")
    parser.add_argument("--rounds", type=int, default=2, help="turns alone, and as many beside the hostile")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the results to this file")
    names = [attack.__name__ for attack in ATTACKS]
    parser.add_argument("--only", choices=names, action="append", help="only this attack; may be repeated")
    parser.add_argument("--attack", metavar="URL", help=argparse.SUPPRESS)
    parser.add_argument("--key", help=argparse.SUPPRESS)
    return parser.parse_args()


async def _measure(
    data_dir: Path, options: argparse.Namespace, progress: Console
) -> tuple[Honest, Honest, Counter[str], float]:
    tenants = [f"honest-{number}" for number in range(TENANTS)]
    progress.print(f"filling {TENANTS} tenants …")
    for tenant in tenants:
        async with AsyncMemory(data_dir=data_dir, tenant=tenant, owner="o") as memory:
            await memory.retain_many(
                [f"Note {number} of {tenant}: {number * 7919}." for number in range(MEMORIES)]
            )
    alone, beside, outcomes = Honest(), Honest(), Counter[str]()
    server = ServerProcess(data_dir, MNEMIC_RECALL_RATE_PER_MINUTE=UNLIMITED_RATE)
    with server as url:
        keys = [create_key(data_dir, tenant=tenant) for tenant in tenants]
        hostile_key = create_key(data_dir, tenant=HOSTILE_TENANT)
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(_client(url, key)) for key in keys]
            honest = options.connections - options.hostile
            await _call(clients, honest, WARM_UP_S, Honest())
            for number in range(options.rounds):
                progress.print(f"round {number + 1}: alone …")
                await _call(clients, honest, options.seconds, alone)
                progress.print(f"round {number + 1}: beside hostile clients …")
                attack = asyncio.create_task(_attack_in_process(url, hostile_key, options))
                await _call(clients, honest, options.seconds, beside)
                outcomes += await attack
        return alone, beside, outcomes, _peak_mb(server.pid)


def _client(url: str, key: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=CALL_TIMEOUT_S)


async def _call(clients: Sequence[httpx.AsyncClient], callers: int, seconds: float, honest: Honest) -> None:
    deadline_s = time.perf_counter() + seconds
    async with asyncio.TaskGroup() as group:
        for number in range(callers):
            group.create_task(_caller(clients[number % len(clients)], number, deadline_s, honest))


async def _caller(client: httpx.AsyncClient, number: int, deadline_s: float, honest: Honest) -> None:
    # Spread over the pause, so that the callers do not come all at once.
    await asyncio.sleep(PAUSE_S * (number * 0.618 % 1))
    while (began_s := time.perf_counter()) < deadline_s:
        number += 1
        path, times_ms = ("/v1/recall", honest.recall_ms)
        body: dict[str, object] = {
            "query": f"what is note {number % MEMORIES}?",
            "owner": "o",
            "refuse_below": 0,
        }
        if number % RETAIN_EVERY == 0:
            path, times_ms = ("/v1/memories", honest.retain_ms)
            body = {"content": f"Noted {time.time_ns()} by {number}.", "owner": "o"}
        try:
            (await client.post(path, json=body)).raise_for_status()
            times_ms.append((time.perf_counter() - began_s) * 1000)
        except httpx.HTTPError as error:
            honest.errors[f"{path}: {type(error).__name__} {error}"[:200]] += 1
        await asyncio.sleep(PAUSE_S)


async def _attack_in_process(url: str, key: str, options: argparse.Namespace) -> Counter[str]:
    command = [sys.executable, "-m", "bench.hostile", "--attack", url, "--key", key]
    command += ["--hostile", str(options.hostile), "--seconds", str(options.seconds)]
    command += [word for name in options.only or () for word in ("--only", name)]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    output, _ = await process.communicate()
    return Counter(json.loads(output))


async def _attack(options: argparse.Namespace) -> Counter[str]:
    """Be the hostile clients; each has one kind of attack."""
    # They would run on machines of their own.
    os.nice(HOSTILE_NICENESS)
    attacks = [each for each in ATTACKS if options.only is None or each.__name__ in options.only]
    async with httpx.AsyncClient(base_url=options.attack, timeout=CALL_TIMEOUT_S) as client:
        hostile = Hostile(options.attack, options.key, client)
        tasks = [
            asyncio.create_task(repeat(attacks[number % len(attacks)], hostile))
            for number in range(options.hostile)
        ]
        await asyncio.sleep(options.seconds)
        hostile.is_stopped = True
        for task in tasks:
            task.cancel()
        done, _ = await asyncio.wait(tasks, timeout=CALL_TIMEOUT_S)
    failures = [
        error for task in done if not task.cancelled() and isinstance(error := task.exception(), Exception)
    ]
    if failures:
        raise ExceptionGroup("hostile clients failed", failures)
    return hostile.outcomes


def _peak_mb(pid: int) -> float:
    """The most memory that the server had so far."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the system does not tell the memory of a process")


def report_lines(alone: Honest, beside: Honest, peak_mb: float) -> list[ReportLine]:
    """Measurements beside their targets."""
    ratios = {
        "recall": Latency.of(beside.recall_ms).p95_ms / Latency.of(alone.recall_ms).p95_ms,
        "retain": Latency.of(beside.retain_ms).p95_ms / Latency.of(alone.retain_ms).p95_ms,
    }
    errors = beside.errors.total() + alone.errors.total()
    return [
        *(
            ReportLine(
                f"p95 of {what}, beside / alone",
                f"{ratio:.2f}",
                f"≤ {P95_RATIO_MAX:g}",
                ratio <= P95_RATIO_MAX,
            )
            for what, ratio in ratios.items()
        ),
        ReportLine("errors of honest callers", str(errors), "0", errors == 0),
        ReportLine("most memory of the server", f"{peak_mb:.0f} MB"),
    ]


def _figures(honest: Honest) -> dict[str, object]:
    return {
        "recall": asdict(Latency.of(honest.recall_ms)),
        "retain": asdict(Latency.of(honest.retain_ms)),
        "errors": honest.errors,
    }


def _show(
    console: Console, alone: Honest, beside: Honest, outcomes: Counter[str], lines: Sequence[ReportLine]
) -> None:
    table = table_of(
        "Honest callers, milliseconds", "", "calls", "recall p50 / p95", "retain p50 / p95", "errors"
    )
    for name, honest in (("alone", alone), ("beside hostile clients", beside)):
        recall, retain = Latency.of(honest.recall_ms), Latency.of(honest.retain_ms)
        cells = [f"{each.p50_ms:.1f} / {each.p95_ms:.1f}" for each in (recall, retain)]
        table.add_row(name, str(recall.count + retain.count), *cells, str(honest.errors.total()))
    attempts = table_of("Hostile clients", "attack and answer", "times")
    for outcome, times in sorted(outcomes.items()):
        attempts.add_row(outcome, str(times))
    console.print(table, attempts, report_table("Targets", lines))
    for error, times in (alone.errors + beside.errors).most_common(5):
        console.print(f"{times} × {error}")


if __name__ == "__main__":
    sys.exit(main())
