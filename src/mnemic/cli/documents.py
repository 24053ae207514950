"""`mnemic documents`: list and delete documents. `mnemic ingest` adds them."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from mnemic.cli.opening import memory_from, run_call
from mnemic.cli.options import DataDir, Json, Owner, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, table
from mnemic.errors import NotFoundError
from mnemic.types.document import ReferenceDocument

app = typer.Typer(no_args_is_help=True, help="List and delete documents; `mnemic ingest` adds them.")


@app.command("list")
def list_documents(
    owner: Owner = None,
    after: Annotated[str, typer.Option(help="Continue after this name, the last of the previous page.")] = "",
    limit: Annotated[int, typer.Option(help="Maximum number to list.")] = 20,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List documents by name."""
    found = run_call(
        memory_from(url, data_dir, tenant, owner=owner),
        lambda memory: memory.documents.list(after=after, limit=limit),
    )
    if json:
        print_json([asdict(document) for document in found])
    elif found:
        _print_table(found)
    else:
        print_line("No documents. `mnemic ingest FILE` adds one.")


@app.command("delete")
def delete(
    name: Annotated[str, typer.Argument(help="The name of the document, from `mnemic documents list`.")],
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Delete a document, and forget all memories made from it."""
    memory = memory_from(url, data_dir, tenant, owner=owner)
    if not run_call(memory, lambda memory: memory.documents.delete(name)):
        raise NotFoundError(f"There is no document {name!r}. `mnemic documents list` shows those that exist.")
    if json:
        print_json({"deleted": name})
    else:
        print_line(f"Deleted: {one_line(name)}")


def _print_table(documents: Sequence[ReferenceDocument]) -> None:
    listing = table("name", "title", "updated (UTC)")
    for document in documents:
        listing.add_row(
            Text(one_line(document.name)),
            Text(one_line(document.title or "")),
            f"{document.updated_at:%Y-%m-%d %H:%M}",
        )
    out.print(listing)
