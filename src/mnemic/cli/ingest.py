"""`mnemic ingest`: ingest files as documents."""

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from mnemic.cli.job_progress import follow_job
from mnemic.cli.opening import memory_from
from mnemic.cli.options import Channel, DataDir, Embedder, Json, Owner, TenantName, Url
from mnemic.cli.output import print_json, print_line
from mnemic.documents.reading.media_types import MediaType
from mnemic.errors import InvalidInputError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.document import Ingestion

Files = Annotated[list[Path], typer.Argument(help="Files to ingest: text, Markdown, HTML or PDF.")]


def ingest(
    files: Files,
    name: Annotated[
        str | None, typer.Option(help="Name of the document. Default: the name of the file.")
    ] = None,
    media_type: Annotated[
        MediaType | None, typer.Option(help="Type of the files. Default: by their extension.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag; may be repeated.")] = None,
    owner: Owner = None,
    channel: Channel = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Ingest files as documents, and wait until recall finds them. An unchanged file is skipped."""
    if name is not None and len(files) > 1:
        raise InvalidInputError("--name goes with one file.")
    opened = memory_from(
        url,
        data_dir,
        tenant,
        owner=owner,
        channel=channel,
        embedder=embedder,
        worker=True,  # This command waits for its jobs, so it works on them, also where no other worker runs.
        creates_tenant=True,
    )

    async def run() -> list[Ingestion]:
        async with opened as memory:
            return [await _ingest(memory, file, name, media_type, tag or [], quiet=json) for file in files]

    done = asyncio.run(run())
    if json:
        print_json({"documents": [asdict(ingestion) for ingestion in done]})
    else:
        for ingestion in done:
            plural = "" if ingestion.chunk_count == 1 else "s"
            print_line(f"{ingestion.document.name}: {ingestion.chunk_count:,} chunk{plural}")


async def _ingest(
    memory: AsyncMemory,
    file: Path,
    name: str | None,
    media_type: MediaType | None,
    tags: list[str],
    *,
    quiet: bool,
) -> Ingestion:
    filed = await memory.documents.ingest_file(file, name=name, media_type=media_type, tags=tags)
    if filed.is_complete or filed.job_id is None:
        return filed
    await follow_job(memory, filed.job_id, file.name, quiet=quiet)
    return await memory.documents.status(filed.document.name)
