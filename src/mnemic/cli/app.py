"""The command `mnemic` and its subcommands."""

import io
import sys
from collections.abc import Callable, Mapping
from functools import cache

import typer

from mnemic import __version__
from mnemic.cli import (
    admin,
    backup,
    bench,
    channels,
    cleanup,
    consolidate,
    context,
    conversations,
    curate,
    demo,
    doctor,
    documents,
    embed,
    entities,
    events,
    feedback,
    goals,
    groups,
    index,
    ingest,
    jobs,
    keys,
    mcp,
    memories,
    memory_map,
    metrics,
    migrate,
    profile,
    proxy,
    recall,
    reembed,
    retain,
    review,
    schedules,
    serve,
    shares,
    spend,
    statements,
    stop,
    strategies,
    tenants,
    transfer,
    ui,
    webhooks,
    worker,
    working,
)
from mnemic.cli.error_messages import find_command, message_of
from mnemic.cli.output import complain
from mnemic.cli.usage_errors import Commands
from mnemic.cli.value_names import name_values
from mnemic.errors import MnemicError

EXIT_FAILURE = 1

app = typer.Typer(
    name="mnemic",
    cls=Commands,
    help="The memory of AI agents. By default, commands use the embedded server.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
memories.app.command("feedback")(feedback.feedback)
memories.app.command("promotions")(feedback.promotions)
memories.app.command("map")(memory_map.show_map)
curate.app.command("waiting")(review.waiting)
curate.app.command("pairs")(review.pairs)
curate.app.command("resolve")(review.resolve)
curate.app.command("reopen")(review.reopen)

PANELS: Mapping[str, Mapping[str, Callable[..., None] | typer.Typer]] = {
    "Remember and ask": {
        "demo": demo.demo,
        "retain": retain.retain,
        "recall": recall.recall,
        "profile": profile.profile,
        "ingest": ingest.ingest,
        "memories": memories.app,
        "conversations": conversations.app,
        "documents": documents.app,
        "entities": entities.app,
    },
    "Learn and curate": {
        "consolidate": consolidate.consolidate,
        "statements": statements.app,
        "curate": curate.app,
        "cleanup": cleanup.app,
        "channels": channels.app,
    },
    "Work of an agent": {
        "goals": goals.app,
        "strategies": strategies.app,
        "working": working.app,
        "context": context.app,
    },
    "Connect programs and people": {
        "mcp": mcp.mcp,
        "serve": serve.serve,
        "ui": ui.ui,
        "proxy": proxy.proxy,
        "keys": keys.app,
        "shares": shares.app,
        "groups": groups.app,
        "events": events.app,
        "webhooks": webhooks.app,
    },
    "Run jobs": {
        "worker": worker.worker,
        "jobs": jobs.app,
        "schedules": schedules.app,
    },
    "Move, keep and erase data": {
        "export": transfer.export,
        "import": transfer.import_,
        "backup": backup.backup,
        "restore": backup.restore,
        "erase": admin.erase,
        "receipt": admin.receipt,
    },
    "Operate": {
        "doctor": doctor.doctor,
        "stop": stop.stop,
        "migrate": migrate.migrate,
        "embed": embed.embed,
        "reembed": reembed.reembed,
        "index": index.index,
        "stats": admin.stats,
        "owners": admin.owners,
        "metrics": metrics.metrics,
        "bench": bench.bench,
        "spend": spend.app,
        "tenants": tenants.app,
    },
}
"""All commands, as `mnemic --help` shows them."""

for panel, commands in PANELS.items():
    for name, command in commands.items():
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=panel)
        else:
            app.command(name, rich_help_panel=panel)(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mnemic {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """The memory of AI agents. By default, commands use the embedded server."""


def main() -> None:
    """Run one command. A MnemicError ends in one clear message and exit code 1, never a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Memories may hold any character: print the codes of those that the terminal cannot show.
        sys.stdout.reconfigure(errors="backslashreplace")
    commands = built_commands()
    try:
        commands(prog_name="mnemic")
    except MnemicError as error:
        complain(message_of(error, find_command(commands, sys.argv[1:])))
        sys.exit(EXIT_FAILURE)


@cache
def built_commands() -> typer.core.TyperGroup:
    """All commands, built once in a process: reading the signatures of so many functions takes 50 ms."""
    commands = typer.main.get_command(app)
    assert isinstance(commands, typer.core.TyperGroup), "mnemic has several commands"
    name_values(commands)
    return commands
