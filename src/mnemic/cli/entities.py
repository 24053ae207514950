"""`mnemic entities`: who and what is known, and how they hang together."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from mnemic.cli.options import DataDir, Json, Owner, TenantName, Url, open_memory
from mnemic.cli.output import one_line, out, print_json, table
from mnemic.types.entity import Entity, EntityGraph

app = typer.Typer(no_args_is_help=True, help="Who and what is known, with facts and relations.")


@app.command("list")
def list_entities(
    owner: Owner = None,
    category: Annotated[str | None, typer.Option(help="Only of this category, such as person.")] = None,
    before: Annotated[str | None, typer.Option(help="The last id of the page before.")] = None,
    limit: Annotated[int, typer.Option(help="How many at most.")] = 20,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List entities, newest first."""

    async def run() -> Sequence[Entity]:
        async with open_memory(url, data_dir, tenant, None, owner, None) as memory:
            return await memory.entities.list(category=category, before=before, limit=limit)

    entities = asyncio.run(run())
    if json:
        print_json([asdict(entity) for entity in entities])
    else:
        _print_table(entities)


@app.command("get")
def get_entity(
    entity: Annotated[str, typer.Argument(help="The id of the entity, or its category if a name follows.")],
    name: Annotated[str | None, typer.Argument(help="Its name or alias.")] = None,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Show an entity, its facts and its relations."""

    async def run() -> tuple[Entity, EntityGraph]:
        async with open_memory(url, data_dir, tenant, None, owner, None) as memory:
            found = await memory.entities.get(entity, name)
            return found, await memory.entities.graph(found, depth=1)

    found, graph = asyncio.run(run())
    if json:
        print_json({**asdict(found), "relations": [asdict(relation) for relation in graph.relations]})
    else:
        _print_entity(found, graph)


def _print_table(entities: Sequence[Entity]) -> None:
    listing = table("id", "category", "name", "aliases", "facts")
    for entity in entities:
        words = (entity.category, entity.name, ", ".join(entity.aliases))
        listing.add_row(
            str(entity.entity_id), *(Text(one_line(word)) for word in words), str(len(entity.facts))
        )
    out.print(listing)


def _print_entity(entity: Entity, graph: EntityGraph) -> None:
    listing = table("what", "value")
    listing.add_row(Text(one_line(entity.category)), Text(one_line(entity.name)))
    for alias in entity.aliases:
        listing.add_row("alias", Text(one_line(alias)))
    for attribute, value in entity.facts.items():
        listing.add_row(Text(one_line(attribute)), Text(one_line(str(value))))
    names = {node.entity_id: node.name for node in graph.nodes}
    for relation in graph.relations:
        words = f"{names[relation.from_id]} → {relation.kind} → {names[relation.to_id]}"
        listing.add_row("relation", Text(one_line(words)))
    out.print(listing)
