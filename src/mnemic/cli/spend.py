"""`mnemic spend`: what calls of language models cost, caps on it, and prices."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Annotated

import typer
from rich.markup import escape

from mnemic.cli.opening import tenant_memory
from mnemic.cli.options import DataDir, Json, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, table
from mnemic.errors import InvalidInputError
from mnemic.runtime.spend_ledger import dollars
from mnemic.types.spend import MICRODOLLARS, ModelPrice, PeriodSpend, SpendCaps, SpendLine, SpendPeriod

NO_CAP = "none"

app = typer.Typer(
    invoke_without_command=True, help="Show what calls of language models cost; set caps and prices."
)

Model = Annotated[str, typer.Argument(help="The model as `mnemic spend` names it: openai:gpt-5-mini.")]


@app.callback()
def spend(
    context: typer.Context,
    since: Annotated[str | None, typer.Option(help="Only calls from this day or time on (UTC).")] = None,
    until: Annotated[str | None, typer.Option(help="Only calls before this day or time (UTC).")] = None,
    limit: Annotated[int, typer.Option(help="Maximum number of lines.")] = 100,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Show what calls of language models cost, by day, purpose and model, and the caps."""
    if context.invoked_subcommand is not None:
        return

    async def run() -> tuple[Sequence[SpendLine], SpendCaps]:
        async with tenant_memory(url, data_dir, tenant) as memory:
            lines = await memory.spend.summary(since=since, until=until, limit=limit)
            return lines, await memory.spend.caps()

    lines, caps = asyncio.run(run())
    if json:
        print_json({"lines": [asdict(line) for line in lines], "caps": asdict(caps)})
    else:
        _print_lines(lines)
        _print_caps(caps)


@app.command("cap")
def cap(
    day: Annotated[str | None, typer.Option(help="Dollars for each day (UTC), or none.")] = None,
    month: Annotated[str | None, typer.Option(help="Dollars for each month (UTC), or none.")] = None,
    total: Annotated[str | None, typer.Option(help="Dollars for all time, or none.")] = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Set caps, in US dollars: no call is made that might exceed one. Without options, show them."""
    given: dict[SpendPeriod, str | None] = {"day": day, "month": month, "total": total}

    async def run() -> SpendCaps:
        async with tenant_memory(url, data_dir, tenant, creates_tenant=True) as memory:
            for period, usd in given.items():
                if usd is not None:
                    await memory.spend.set_cap(None if usd == NO_CAP else usd, period=period)
            return await memory.spend.caps()

    caps = asyncio.run(run())
    if json:
        print_json(asdict(caps))
    else:
        _print_caps(caps)


@app.command("price")
def price(
    model: Model,
    input_usd: Annotated[
        str | None, typer.Option("--input", help="Dollars for a million tokens of input.")
    ] = None,
    output_usd: Annotated[
        str | None, typer.Option("--output", help="Dollars for a million tokens of output.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the price that was set by hand.")] = False,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Set the price of a model by hand, or remove it; for models without a known price."""
    if remove == (input_usd is not None and output_usd is not None):
        raise InvalidInputError("Give both --input and --output, or --remove.")

    async def run() -> ModelPrice | None:
        async with tenant_memory(url, data_dir, tenant, creates_tenant=not remove) as memory:
            if input_usd is None or output_usd is None:
                await memory.spend.remove_price(model)
                return None
            return await memory.spend.set_price(model, input_usd=input_usd, output_usd=output_usd)

    made = asyncio.run(run())
    if json:
        print_json(asdict(made) if made is not None else None)
    elif made is None:
        print_line(f"Removed the price of {one_line(model)}.")
    else:
        print_line(f"{one_line(model)}: ${made.input_usd} in, ${made.output_usd} out per million tokens.")


def _print_lines(lines: Sequence[SpendLine]) -> None:
    if not lines:
        print_line("No language model was called.")
        return
    shown = table("day (UTC)", "purpose", "model", "calls", "failed", "tokens in", "tokens out", "cost")
    for line in lines:
        shown.add_row(
            str(line.day),
            line.purpose,
            escape(one_line(line.model)),
            f"{line.call_count:,}",
            f"{line.failed_count:,}",
            f"{line.input_tokens:,}",
            f"{line.output_tokens:,}",
            _amount(line.usd)
            + (f" + {line.unpriced_count:,} calls without a price" if line.unpriced_count else ""),
        )
    out.print(shown)


def _print_caps(caps: SpendCaps) -> None:
    for spent in (caps.day, caps.month, caps.total):
        print_line(_cap_line(spent))
    if caps.operator_day_cap_usd is not None:
        print_line(f"The server's own cap for a day is {_amount(caps.operator_day_cap_usd)}.")
    if caps.reserved_usd:
        print_line(f"Reserved for calls in progress: {_amount(caps.reserved_usd)}.")


def _cap_line(spent: PeriodSpend) -> str:
    period = {"day": "today", "month": "this month", "total": "in total"}[spent.period]
    cap = f"of at most {_amount(spent.cap_usd)}" if spent.cap_usd is not None else "without a cap"
    return f"Spent {period}: {_amount(spent.spent_usd)} {cap}."


def _amount(usd: Decimal) -> str:
    return dollars(usd * MICRODOLLARS)
