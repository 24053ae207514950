"""`mnemic backup` and `mnemic restore`: save everything in one file, and restore it."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from mnemic.backup.dump import Backup
from mnemic.backup.restore import restore_storage
from mnemic.cli.opening import memory_from
from mnemic.cli.options import DataDir, Json, Replace, Url, settings_from
from mnemic.cli.output import print_json, print_line, remark
from mnemic.maintenance.as_is import back_up_as_is, schema_mismatch
from mnemic.types.scope import Scope


def backup(
    path: Annotated[Path, typer.Argument(help="The file to write.")],
    replace: Replace = False,
    url: Url = None,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Save everything, of all tenants, in one file. Others can go on working meanwhile.

    Also works if the database has the schema of another version; it is not migrated then.
    """

    async def run() -> Backup:
        settings = settings_from(url, data_dir)
        async with schema_mismatch(settings) as mismatch:
            if mismatch is not None:
                remark(
                    f"{mismatch} The backup holds the database as it is; the audit log does not record it."
                )
                return await back_up_as_is(settings, path, replace=replace)
            async with memory_from(url, data_dir, None) as memory:
                return await memory.admin.backup(path, replace=replace)

    made = asyncio.run(run())
    if json:
        print_json({"path": str(made.path), "size_bytes": made.size_bytes})
    else:
        print_line(f"{made.path}: {made.size_bytes / 1e6:.1f} MB")


def restore(
    path: Annotated[Path, typer.Argument(help="A file that `mnemic backup` wrote.")],
    replace: Replace = False,
    url: Url = None,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Restore a backup. Existing data is replaced only with --replace."""
    settings = settings_from(url, data_dir)
    by = Scope(None, settings.channel, "cli")
    asyncio.run(restore_storage(settings, path, replace=replace, by=by))
    if json:
        print_json({"restored": str(path)})
    else:
        print_line(f"Restored {path}.")
