"""The dashboard on a large tenant: CPU time, latency and size of each page, and its first paint.

    python -m bench.dashboard [--memories 100000] [--requests 40] [--data-dir folder] [--only memories]
                              [--json bench/results/dashboard.json]

1. Fill a tenant (`bench/dashboard_place.py`), or use the folder of an earlier run.
2. Start `mnemic serve` in another process, without a worker, sign in, and ask for every page `--requests`
   times, one after the other. CPU time is that of the server's threads and of all processes of PostgreSQL,
   from /proc, without what both use when nobody asks.
3. Load some pages in Chromium, in turns with a copy from a static server (`bench/dashboard_paint.py`).

Prints a table with the targets; the exit code is 1 when one is missed.
"""

import argparse
import asyncio
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx
from rich.console import Console

from bench.cpu_time import find_postmaster, postgres_cpu_ms, process_cpu_ms, spent_between
from bench.dashboard_paint import Paint, find_browser, measure_paint
from bench.dashboard_place import OWNER, fill_place
from bench.report import ReportLine, as_json, report_table, table_of
from bench.serving import ServerProcess, create_key
from bench.speed_measure import Latency
from bench.speed_sizes import SEED
from bench.speed_texts import questions
from mnemic.dashboard.page_list import PAGES
from mnemic.db.embedded import stop

DEFAULT_MEMORIES = 100_000
DEFAULT_REQUESTS = 40
WARM_UP_REQUESTS = 5
IDLE_S = 5.0
PAINT_ROUNDS = 15
PAINTED = ("/ui/overview", "/ui/memories")
REQUEST_TIMEOUT_S = 60.0
UNLIMITED_RATE = "1000000"
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}

CPU_MAX_MS = 40.0
P95_MAX_MS = 50.0
PAGE_MAX_BYTES = 60_000
SCRIPT_MAX_BYTES = 15_000
PAINT_MAX_RATIO = 1.2


@dataclass(frozen=True)
class PageResult:
    """Measurements of one address. Bytes are those of the HTML, and as they are sent."""

    address: str
    server_cpu_ms: float
    database_cpu_ms: float
    latency: Latency
    page_bytes: int
    sent_bytes: int

    @property
    def cpu_ms(self) -> float:
        """CPU time of a request, in both."""
        return self.server_cpu_ms + self.database_cpu_ms


@dataclass(frozen=True)
class Results:
    """All measurements. `broken` are pages that failed; `paints` is empty without a browser."""

    pages: list[PageResult]
    broken: list[str]
    script_bytes: int
    paints: dict[str, Paint]


class CpuMeter:
    """CPU time of the server and of its PostgreSQL, without what they use when nobody asks."""

    def __init__(self, server_pid: int, postmaster_pid: int) -> None:
        self._server_pid = server_pid
        self._postmaster_pid = postmaster_pid
        self._idle_ms_per_s = (0.0, 0.0)
        time.sleep(IDLE_S)  # What starting left over ends.
        with self.measured() as idle:
            time.sleep(IDLE_S)
        self._idle_ms_per_s = (idle[0] / IDLE_S, idle[1] / IDLE_S)

    @contextmanager
    def measured(self) -> Iterator[list[float]]:
        """Measure a block; afterwards the list holds the CPU times of server and database."""
        spent: list[float] = []
        began_s, server, database = time.perf_counter(), process_cpu_ms(self._server_pid), self._database()
        yield spent
        took_s = time.perf_counter() - began_s
        server_ms = process_cpu_ms(self._server_pid) - server - self._idle_ms_per_s[0] * took_s
        database_ms = spent_between(database, self._database()) - self._idle_ms_per_s[1] * took_s
        spent.extend((max(server_ms, 0.0), max(database_ms, 0.0)))

    def _database(self) -> dict[int, float]:
        return postgres_cpu_ms(self._postmaster_pid)


def main() -> int:
    """Measure, print and write the results."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        results = _measure(options.data_dir or Path(folder) / "data", options, Console(stderr=True))
    lines = report_lines(results)
    _show(Console(), results, lines)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        plan = {"memories": options.memories, "requests": options.requests}
        options.json.write_text(as_json({"plan": plan, **asdict(results)}, lines))
    return int(any(line.met is False for line in lines))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the dashboard on a large tenant.")
    parser.add_argument("--memories", type=int, default=DEFAULT_MEMORIES, help="memories of the large owner")
    parser.add_argument("--requests", type=int, default=DEFAULT_REQUESTS, help="requests of each page")
    parser.add_argument("--data-dir", type=Path, help="fill this folder, or use it if it is filled")
    parser.add_argument("--only", default="", metavar="TEXT", help="only addresses that contain this")
    parser.add_argument("--no-paint", action="store_true", help="do not start a browser")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the results to this file")
    return parser.parse_args()


def _measure(data_dir: Path, options: argparse.Namespace, progress: Console) -> Results:
    if not data_dir.exists():
        progress.print(f"filling {options.memories:,} memories …")
        asyncio.run(fill_place(data_dir, options.memories))
    key = create_key(data_dir, role="admin")
    # Without a worker: a job that is due, such as consolidating 100,000 turns, would count as idle time.
    server = ServerProcess(data_dir, worker=False, MNEMIC_RECALL_RATE_PER_MINUTE=UNLIMITED_RATE)
    try:
        with (
            server as url,
            httpx.Client(base_url=url, timeout=REQUEST_TIMEOUT_S, headers=SAME_ORIGIN) as client,
        ):
            assert client.post("/ui/sign-in", data={"key": key}).status_code == 303, "signed in"
            postmaster_pid = find_postmaster(data_dir)
            assert postmaster_pid is not None, "the database runs"
            meter = CpuMeter(server.pid, postmaster_pid)
            measured: dict[str, PageResult | None] = {}
            for address in _addresses(client, options.memories):
                if options.only in address:
                    progress.print(address)
                    measured[address] = _measure_page(client, meter, address, options.requests)
            return Results(
                [page for page in measured.values() if page is not None],
                [address for address, page in measured.items() if page is None],
                _script_bytes(client),
                _paints(client, options, progress),
            )
    finally:
        stop(data_dir)


def _addresses(client: httpx.Client, memory_count: int) -> list[str]:
    """The first view of each page, and some with fields."""
    asked = questions(1, of_count=memory_count, seed=SEED)[0].question
    firsts = [f"/ui{page.views[0].path}?owner={OWNER}" for page in PAGES]
    more = [
        "/ui/overview?owner=small+1",
        f"/ui/memories?owner={OWNER}&q={asked.replace(' ', '+')}",
        f"/ui/recall?owner={OWNER}&q={asked.replace(' ', '+')}",
        "/ui/metrics?span=7d",
        "/ui/metrics?span=30d",
    ]
    for page in ("memories", "entities"):
        listed = client.get(f"/ui/{page}?owner={OWNER}").text
        one = re.search(rf'href="(/ui/{page}/[0-9a-f-]{{36}})', listed)
        more += [f"{one[1]}?owner={OWNER}"] if one else []
    return [*firsts, *more]


def _measure_page(
    client: httpx.Client, meter: CpuMeter, address: str, request_count: int
) -> PageResult | None:
    """Ask for a page many times; None if it does not answer with a page."""
    for _ in range(WARM_UP_REQUESTS):
        answer = client.get(address)
    if answer.status_code != 200:
        return None
    times_ms, sent_bytes = [], 0
    with meter.measured() as spent:
        for _ in range(request_count):
            began_s = time.perf_counter()
            answer = client.get(address)
            times_ms.append((time.perf_counter() - began_s) * 1000)
            sent_bytes = max(sent_bytes, answer.num_bytes_downloaded)
    server_ms, database_ms = (each / request_count for each in spent)
    return PageResult(address, server_ms, database_ms, Latency.of(times_ms), len(answer.content), sent_bytes)


def _script_bytes(client: httpx.Client) -> int:
    """The size of all scripts of a page, not compressed."""
    found = re.findall(r'<script src="([^"]+)"', client.get("/ui/overview").text)
    return sum(len(client.get(address).content) for address in found)


def _paints(client: httpx.Client, options: argparse.Namespace, progress: Console) -> dict[str, Paint]:
    program = find_browser()
    if options.no_paint or program is None:
        progress.print("First paint is not measured: there is no Chromium.")
        return {}
    progress.print("first paint …")
    return {
        address: measure_paint(client, address, program, rounds=PAINT_ROUNDS)
        for address in PAINTED
        if options.only in address and client.get(address).status_code == 200
    }


def report_lines(results: Results) -> list[ReportLine]:
    """Measurements beside their targets: the worst page for each."""
    lines = [
        ReportLine(
            "script",
            f"{results.script_bytes:,} bytes",
            f"< {SCRIPT_MAX_BYTES:,}",
            results.script_bytes < SCRIPT_MAX_BYTES,
        )
    ]
    for page in results.pages:
        cpu, p95 = page.cpu_ms <= CPU_MAX_MS, page.latency.p95_ms <= P95_MAX_MS
        lines += [
            ReportLine(f"{page.address}: CPU", f"{page.cpu_ms:.1f} ms", f"≤ {CPU_MAX_MS:.0f} ms", cpu),
            ReportLine(
                f"{page.address}: p95", f"{page.latency.p95_ms:.1f} ms", f"≤ {P95_MAX_MS:.0f} ms", p95
            ),
            ReportLine(
                f"{page.address}: size",
                f"{page.page_bytes:,} bytes",
                f"< {PAGE_MAX_BYTES:,}",
                page.page_bytes < PAGE_MAX_BYTES,
            ),
        ]
    lines += [ReportLine(address, "failed", "is shown", met=False) for address in results.broken]
    for address, paint in results.paints.items():
        lines.append(
            ReportLine(
                f"{address}: first paint",
                f"{paint.page_ms:.0f} ms, {paint.ratio:.2f} × static",
                f"≤ {PAINT_MAX_RATIO} ×",
                paint.ratio <= PAINT_MAX_RATIO,
            )
        )
    return lines


def _show(console: Console, results: Results, lines: Sequence[ReportLine]) -> None:
    table = table_of("The dashboard", "page", "CPU, server + database", "p50 / p95", "bytes", "sent")
    for page in results.pages:
        table.add_row(
            page.address,
            f"{page.server_cpu_ms:.1f} + {page.database_cpu_ms:.1f} ms",
            f"{page.latency.p50_ms:.1f} / {page.latency.p95_ms:.1f} ms",
            f"{page.page_bytes:,}",
            f"{page.sent_bytes:,}",
        )
    console.print(table, report_table("Targets", [line for line in lines if line.met is not True] or lines))


if __name__ == "__main__":
    sys.exit(main())
