"""`mnemic metrics`: calls of the tenant over time."""

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer

from mnemic.cli.opening import tenant_memory
from mnemic.cli.options import DataDir, Json, TenantName, Url
from mnemic.cli.output import out, print_json, print_line, table
from mnemic.types.series import Series, SeriesPoint


def metrics(
    hours: Annotated[
        int | None, typer.Option(help="The last so many hours; more than 168 are shown by day. Default: 24.")
    ] = None,
    since: Annotated[str | None, typer.Option(help="From this day or time on (UTC).")] = None,
    until: Annotated[str | None, typer.Option(help="Before this day or time (UTC).")] = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Show calls, their durations, refusals and cost by hour or by day, of all processes."""

    async def run() -> Series:
        async with tenant_memory(url, data_dir, tenant) as memory:
            return await memory.metrics.series(hours=hours, since=since, until=until)

    series = asyncio.run(run())
    if json:
        print_json(asdict(series))
        return
    shown = table("from (UTC)", "retain", "stored", "recall", "p50 ms", "p95 ms", "refused", "failed", "cost")
    for point in series.points:
        if any(calls.call_count for calls in point.calls.values()):
            shown.add_row(*_cells(point))
    if shown.row_count:
        out.print(shown)
    else:
        print_line("No calls in that time.")


def _cells(point: SeriesPoint) -> tuple[str, ...]:
    retain, recall = point.calls["retain"], point.calls["recall"]
    return (
        f"{point.at:%m-%d %H:%M}",
        f"{retain.call_count:,}",
        f"{retain.memory_count:,}",
        f"{recall.call_count:,}",
        _ms(recall.p50_ms),
        _ms(recall.p95_ms),
        f"{recall.refused_count:,}",
        f"{sum(calls.failed_count for calls in point.calls.values()):,}",
        f"${point.usd:,.4f}",
    )


def _ms(duration_ms: float | None) -> str:
    return f"{duration_ms:.1f}" if duration_ms is not None else ""
