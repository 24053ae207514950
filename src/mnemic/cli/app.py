"""The command `mnemic` and its subcommands."""

import io
import sys
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
from mnemic.errors import MnemicError

EXIT_FAILURE = 1

app = typer.Typer(
    name="mnemic",
    help="The memory of AI agents. By default, commands use the embedded server.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("retain")(retain.retain)
app.command("recall")(recall.recall)
app.command("profile")(profile.profile)
app.command("consolidate")(consolidate.consolidate)
memories.app.command("feedback")(feedback.feedback)
memories.app.command("promotions")(feedback.promotions)
memories.app.command("map")(memory_map.show_map)
app.add_typer(memories.app, name="memories")
app.add_typer(entities.app, name="entities")
app.add_typer(conversations.app, name="conversations")
curate.app.command("waiting")(review.waiting)
curate.app.command("pairs")(review.pairs)
curate.app.command("resolve")(review.resolve)
curate.app.command("reopen")(review.reopen)
app.add_typer(curate.app, name="curate")
app.add_typer(cleanup.app, name="cleanup")
app.add_typer(channels.app, name="channels")
app.add_typer(goals.app, name="goals")
app.add_typer(strategies.app, name="strategies")
app.add_typer(working.app, name="working")
app.add_typer(context.app, name="context")
app.add_typer(shares.app, name="shares")
app.add_typer(groups.app, name="groups")
app.add_typer(spend.app, name="spend")
app.add_typer(statements.app, name="statements")
app.add_typer(tenants.app, name="tenants")
app.command("stats")(admin.stats)
app.command("metrics")(metrics.metrics)
app.command("owners")(admin.owners)
app.command("erase")(admin.erase)
app.command("receipt")(admin.receipt)
app.command("export")(transfer.export)
app.command("import")(transfer.import_)
app.command("backup")(backup.backup)
app.command("restore")(backup.restore)
app.command("ingest")(ingest.ingest)
app.add_typer(documents.app, name="documents")
app.command("embed")(embed.embed)
app.command("reembed")(reembed.reembed)
app.command("index")(index.index)
app.command("migrate")(migrate.migrate)
app.command("doctor")(doctor.doctor)
app.command("bench")(bench.bench)
app.command("serve")(serve.serve)
app.command("ui")(ui.ui)
app.command("proxy")(proxy.proxy)
app.add_typer(keys.app, name="keys")
app.command("mcp")(mcp.mcp)
app.command("worker")(worker.worker)
app.add_typer(jobs.app, name="jobs")
app.add_typer(schedules.app, name="schedules")
app.add_typer(events.app, name="events")
app.add_typer(webhooks.app, name="webhooks")
app.command("stop")(stop.stop)


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
    return commands
