"""A server with hostile clients among its callers: what the other tenants notice of them.

    python -m bench.hostile [--connections 64] [--hostile 10] [--seconds 30] [--rounds 2]
                            [--json bench/results/hostile.json]

`mnemic serve` runs in a process of its own, the honest clients in this one, the hostile ones in a third.
The honest callers belong to several tenants, recall nine times for one retain, and pause between calls, so
that the server is busy and not saturated: in a queue that never empties nobody would notice a delay. In
turns they are alone, before and after an attack, beside the hostile ones (`bench/hostile_clients.py`), which
have a tenant of their own and a key each, and beside two controls (`bench/hostile_cpu.py`): a program that
takes as much CPU time as the hostile clients did, and one that takes as much as they and the processes that
the server starts.
Clients would be on machines of their own, so the hostile ones run at the lowest priority. Other programs on
the machine count against the server; a priority does not help against those of another session where Linux
groups sessions (`/proc/sys/kernel/sched_autogroup_enabled`).

Prints p50 and p95 of all, the CPU time of each part, what the hostile clients were answered, and how much
memory the server had. The exit code is 1 when a target is missed: p95 within `P95_RATIO_MAX`, no error of an
honest caller.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console

from bench.cpu_time import find_postmaster
from bench.hostile_clients import ATTACKS, Hostile, repeat
from bench.hostile_cpu import burning, cpu_s_by_part, give_way
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
SETTLE_MAX_S = 20.0
SETTLE_CHECK_S = 1.0
SETTLED_SHARE = 0.2
"""Cores in use when the work that hostile clients left behind is done."""
P95_RATIO_MAX = 2.0
UNLIMITED_RATE = "1000000"
HOSTILE_TENANT = "hostile"
HOSTILE_CPU = "hostile clients"
SERVER_PROCESSES = "its processes"
TURNS = ("alone", "beside hostile clients", "beside a control", "beside a larger control")


@dataclass
class Honest:
    """The times and errors of the honest callers in one kind of turn."""

    recall_ms: list[float] = field(default_factory=list)
    retain_ms: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    cpu_s: Counter[str] = field(default_factory=Counter)
    """CPU time of each part of the machine's work."""


@dataclass
class Measured:
    """What was measured in the turns of each kind."""

    turns: dict[str, Honest] = field(default_factory=lambda: {name: Honest() for name in TURNS})
    outcomes: Counter[str] = field(default_factory=Counter)
    """What the hostile clients were answered."""
    peak_mb: float = 0.0


def main() -> int:
    """Measure, print and write the results; as `--attack`, be the hostile clients."""
    options = _options()
    if options.attack is not None:
        print(json.dumps(asyncio.run(_attack(options))))
        return 0
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        data_dir = Path(folder) / "data"
        try:
            measured = asyncio.run(_measure(data_dir, options, Console(stderr=True)))
        finally:
            stop(data_dir)
    lines = report_lines(measured)
    _show(Console(), measured, lines)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        plan = {name: getattr(options, name) for name in ("connections", "hostile", "seconds", "rounds")}
        figures = {name: _figures(honest) for name, honest in measured.turns.items()}
        options.json.write_text(as_json({"plan": plan, **figures, "hostile": measured.outcomes}, lines))
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
    parser.add_argument("--key", action="append", help=argparse.SUPPRESS)
    return parser.parse_args()


async def _measure(data_dir: Path, options: argparse.Namespace, progress: Console) -> Measured:
    tenants = [f"honest-{number}" for number in range(TENANTS)]
    progress.print(f"filling {TENANTS} tenants …")
    for tenant in tenants:
        async with AsyncMemory(data_dir=data_dir, tenant=tenant, owner="o") as memory:
            await memory.retain_many(
                [f"Note {number} of {tenant}: {number * 7919}." for number in range(MEMORIES)]
            )
    measured = Measured()
    server = ServerProcess(data_dir, MNEMIC_RECALL_RATE_PER_MINUTE=UNLIMITED_RATE)
    with server as url:
        keys = [create_key(data_dir, tenant=tenant) for tenant in tenants]
        # One each: what a key does wrong must not slow the attacks of the others down.
        hostile_keys = [create_key(data_dir, tenant=HOSTILE_TENANT) for _ in range(options.hostile)]
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(_client(url, key)) for key in keys]
            callers = Callers(clients, options.connections - options.hostile, server.pid, data_dir)
            await callers.call(WARM_UP_S, Honest())
            for number in range(options.rounds):
                progress.print(f"round {number + 1} of {options.rounds} …")
                await _round(
                    callers, measured, partial(_attack_in_process, url, hostile_keys, options), options
                )
        measured.peak_mb = _peak_mb(server.pid)
    return measured


async def _round(
    callers: "Callers",
    measured: Measured,
    attack: Callable[[], Coroutine[Any, Any, Mapping[str, Any]]],
    options: argparse.Namespace,
) -> None:
    alone, beside, *controls = (measured.turns[name] for name in TURNS)
    await callers.call(options.seconds, alone)
    attacking = asyncio.create_task(attack())
    await callers.call(options.seconds, beside)
    attacked = await attacking
    measured.outcomes += Counter(attacked["outcomes"])
    beside.cpu_s[HOSTILE_CPU] += attacked["cpu_s"]
    await callers.until_idle()
    # Also after the attack: a server that has worked for a while may be slower for other reasons.
    await callers.call(options.seconds, alone)
    share = beside.cpu_s[HOSTILE_CPU] / beside.seconds
    for control, also in zip(controls, (0.0, beside.cpu_s[SERVER_PROCESSES] / beside.seconds), strict=True):
        async with burning(share + also):
            await callers.call(options.seconds, control)


@dataclass(frozen=True)
class Callers:
    """The honest callers, and where to read what the server has spent."""

    clients: Sequence[httpx.AsyncClient]
    count: int
    server_pid: int
    data_dir: Path

    async def call(self, seconds: float, honest: Honest) -> None:
        """Call for some seconds; add the times, errors and CPU times to what is known of such turns."""
        before, began_s = self._cpu_s(), time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for number in range(self.count):
                client = self.clients[number % len(self.clients)]
                group.create_task(_caller(client, number, began_s + seconds, honest))
        honest.seconds += time.perf_counter() - began_s
        honest.cpu_s += self._cpu_s() - before

    async def until_idle(self) -> None:
        """Wait until the server has done what the hostile clients left behind, or as long as is sensible."""
        deadline_s = time.perf_counter() + SETTLE_MAX_S
        while time.perf_counter() < deadline_s:
            before = self._cpu_s()
            await asyncio.sleep(SETTLE_CHECK_S)
            if (self._cpu_s() - before).total() < SETTLED_SHARE * SETTLE_CHECK_S:
                return

    def _cpu_s(self) -> Counter[str]:
        postmaster = find_postmaster(self.data_dir)
        assert postmaster is not None, "the server's database runs"
        return cpu_s_by_part(self.server_pid, postmaster)


def _client(url: str, key: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=CALL_TIMEOUT_S)


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


async def _attack_in_process(url: str, keys: Sequence[str], options: argparse.Namespace) -> Mapping[str, Any]:
    command = [sys.executable, "-m", "bench.hostile", "--attack", url]
    command += [word for key in keys for word in ("--key", key)]
    command += ["--hostile", str(options.hostile), "--seconds", str(options.seconds)]
    command += [word for name in options.only or () for word in ("--only", name)]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    output, _ = await process.communicate()
    attacked: Mapping[str, Any] = json.loads(output)
    return attacked


async def _attack(options: argparse.Namespace) -> dict[str, object]:
    """Be the hostile clients; each has one kind of attack. Returns what they counted and spent."""
    give_way()
    attacks = [each for each in ATTACKS if options.only is None or each.__name__ in options.only]
    async with httpx.AsyncClient(base_url=options.attack, timeout=CALL_TIMEOUT_S) as client:
        outcomes = Counter[str]()
        hostile = [Hostile(options.attack, key, client, outcomes) for key in options.key]
        tasks = [
            asyncio.create_task(repeat(attacks[number % len(attacks)], each))
            for number, each in enumerate(hostile)
        ]
        await asyncio.sleep(options.seconds)
        for each in hostile:
            each.is_stopped = True
        for task in tasks:
            task.cancel()
        done, _ = await asyncio.wait(tasks, timeout=CALL_TIMEOUT_S)
    failures = [
        error for task in done if not task.cancelled() and isinstance(error := task.exception(), Exception)
    ]
    if failures:
        raise ExceptionGroup("hostile clients failed", failures)
    return {"outcomes": outcomes, "cpu_s": time.process_time()}


def _peak_mb(pid: int) -> float:
    """The most memory that the server had so far."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the system does not tell the memory of a process")


def report_lines(measured: Measured) -> list[ReportLine]:
    """Measurements beside their targets. The control has none."""
    lines = []
    for what in ("recall", "retain"):
        alone_ms, *others_ms = (_latency(measured.turns[name], what).p95_ms for name in TURNS)
        ratio, *controls = (each / alone_ms for each in others_ms)
        target = (f"≤ {P95_RATIO_MAX:g}", ratio <= P95_RATIO_MAX)
        lines.append(ReportLine(f"p95 of {what}, beside / alone", f"{ratio:.2f}", *target))
        shown = " and ".join(f"{each:.2f}" for each in controls)
        lines.append(ReportLine(f"p95 of {what}, controls / alone", shown))
    errors = sum(each.errors.total() for each in measured.turns.values())
    lines.append(ReportLine("errors of honest callers", str(errors), "0", errors == 0))
    return [*lines, ReportLine("most memory of the server", f"{measured.peak_mb:.0f} MB")]


def _latency(honest: Honest, what: str) -> Latency:
    return Latency.of(honest.recall_ms if what == "recall" else honest.retain_ms)


def _figures(honest: Honest) -> dict[str, object]:
    return {
        "recall": asdict(_latency(honest, "recall")),
        "retain": asdict(_latency(honest, "retain")),
        "errors": honest.errors,
        "cpu_share": _shares(honest),
    }


def _shares(honest: Honest) -> dict[str, float]:
    """CPU time of each part, in cores."""
    return {part: round(spent_s / honest.seconds, 3) for part, spent_s in honest.cpu_s.items()}


def _show(console: Console, measured: Measured, lines: Sequence[ReportLine]) -> None:
    table = table_of(
        "Honest callers, milliseconds", "", "calls", "recall p50 / p95", "retain p50 / p95", "errors"
    )
    spent = table_of("CPU time, in cores", "", *(parts := list(measured.turns[TURNS[1]].cpu_s)))
    for name, honest in measured.turns.items():
        recall, retain = _latency(honest, "recall"), _latency(honest, "retain")
        cells = [f"{each.p50_ms:.1f} / {each.p95_ms:.1f}" for each in (recall, retain)]
        table.add_row(name, str(recall.count + retain.count), *cells, str(honest.errors.total()))
        spent.add_row(name, *(f"{_shares(honest).get(part, 0.0):.2f}" for part in parts))
    attempts = table_of("Hostile clients", "attack and answer", "times")
    for outcome, times in sorted(measured.outcomes.items()):
        attempts.add_row(outcome, str(times))
    console.print(table, spent, attempts, report_table("Targets", lines))
    for error, times in sum((each.errors for each in measured.turns.values()), Counter()).most_common(5):
        console.print(f"{times} × {error}")


if __name__ == "__main__":
    sys.exit(main())
