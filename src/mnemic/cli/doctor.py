"""`mnemic doctor`: check the machine, the server and the database, and say what to do."""

import asyncio
from dataclasses import asdict

import typer

from mnemic.cli.options import DataDir, Json, TenantName, Url, settings_from
from mnemic.cli.output import out, print_json, table
from mnemic.maintenance.doctor import Report, diagnose

COLOURS = {"ok": "green", "warning": "yellow", "failed": "red"}


def doctor(url: Url = None, data_dir: DataDir = None, tenant: TenantName = None, json: Json = False) -> None:
    """Check machine, server, extension, migrations, role and row security; exit 1 if one fails."""
    settings = settings_from(url, data_dir, tenant).model_copy(update={"create_tenant": False})
    report = asyncio.run(diagnose(settings))
    if json:
        print_json({"healthy": report.healthy, **asdict(report)})
    else:
        _print_report(report)
    if not report.healthy:
        raise typer.Exit(1)


def _print_report(report: Report) -> None:
    listing = table("check", "state", "found", "what to do")
    for check in report.checks:
        listing.add_row(check.name, f"[{COLOURS[check.state]}]{check.state}[/]", check.found, check.advice)
    out.print(listing)
    if report.dsn is not None:
        out.print(f"\ndata folder  {report.data_dir}\ndsn          {report.dsn}", markup=False)
