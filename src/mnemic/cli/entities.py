"""`mnemic entities`: list, show and upsert entities: people, projects and other things."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, cast
from uuid import UUID

import typer
from rich.text import Text

from mnemic.cli.json_options import parse_object
from mnemic.cli.opening import memory_from, run_call
from mnemic.cli.options import DataDir, Json, Owner, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, table
from mnemic.errors import InvalidInputError
from mnemic.types.entity import (
    ENTITY_ORDERS,
    Entity,
    EntityCounts,
    EntityGraph,
    EntityOrder,
    EntityReference,
)

app = typer.Typer(no_args_is_help=True, help="List, show and upsert entities, with facts and relations.")


@app.command("list")
def list_entities(
    owner: Owner = None,
    prefix: Annotated[str | None, typer.Option(help="Only names and aliases that begin with this.")] = None,
    category: Annotated[str | None, typer.Option(help="Only this category, such as person.")] = None,
    order: Annotated[str, typer.Option(help=f"What comes first: {', '.join(ENTITY_ORDERS)}.")] = "newest",
    before: Annotated[
        str | None, typer.Option(help="Continue after this id, the last of the previous page.")
    ] = None,
    limit: Annotated[int, typer.Option(help="Maximum number to list.")] = 20,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List entities with the number of their mentions, facts and relations, newest first."""

    async def run() -> Sequence[Entity]:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.entities.list(
                prefix=prefix,
                category=category,
                order=cast(EntityOrder, order),
                with_counts=True,
                before=before,
                limit=limit,
            )

    entities = asyncio.run(run())
    if json:
        print_json([asdict(entity) for entity in entities])
    elif not entities:
        print_line("No entities. `mnemic entities upsert CATEGORY NAME` adds one.")
    else:
        _print_table(entities)


@app.command("graph")
def show_graph(
    entity: Annotated[
        str | None,
        typer.Argument(help="Id of the entity to start from, or its category; without it, the most salient."),
    ] = None,
    name: Annotated[str | None, typer.Argument(help="Its name or alias.")] = None,
    depth: Annotated[int, typer.Option(help="How many relations away from the start.")] = 2,
    as_of: Annotated[
        str | None, typer.Option(help="Show what was known at this date or time, such as 2026-03-01.")
    ] = None,
    limit: Annotated[int, typer.Option(help="Maximum number of entities.")] = 50,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Show the relations between entities: around one, or between the most salient."""
    start = _reference(entity, name) if entity is not None else None

    async def run() -> EntityGraph:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            if start is None:
                return await memory.entities.top_graph(limit=limit, as_of=as_of)
            return await memory.entities.graph(start, depth=depth, limit=limit, as_of=as_of)

    graph = asyncio.run(run())
    if json:
        print_json(asdict(graph))
    elif not graph.relations:
        print_line("No relations. memory.entities.relate(…) adds one.")
    else:
        for line in _relation_lines(graph):
            print_line(one_line(line))


@app.command("get")
def get_entity(
    entity: Annotated[
        str, typer.Argument(help="Id of the entity; or its category, with the name as second argument.")
    ],
    name: Annotated[str | None, typer.Argument(help="Its name or alias.")] = None,
    as_of: Annotated[
        str | None, typer.Option(help="Show what was known at this date or time, such as 2026-03-01.")
    ] = None,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Show an entity, its facts and its relations."""
    reference = _reference(entity, name)

    async def run() -> tuple[Entity, EntityGraph]:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            found = await memory.entities.get(reference, as_of=as_of)
            return found, await memory.entities.graph(found, depth=1, as_of=as_of)

    found, graph = asyncio.run(run())
    if json:
        print_json({**asdict(found), "relations": [asdict(relation) for relation in graph.relations]})
    else:
        _print_entity(found, _relation_lines(graph))


@app.command("upsert")
def upsert(
    category: Annotated[str, typer.Argument(help="What it is, such as person or project.")],
    name: Annotated[str, typer.Argument(help="Its name.")],
    fact: Annotated[
        list[str] | None,
        typer.Option("--fact", help="A fact as NAME=TEXT, such as likes=tea; may be repeated."),
    ] = None,
    facts: Annotated[
        str | None, typer.Option("--facts", help='Facts as a JSON object, such as {"age": 42}.')
    ] = None,
    alias: Annotated[list[str] | None, typer.Option("--alias", help="Another name; may be repeated.")] = None,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Create an entity, or add facts and aliases to it. A new value of a fact replaces the old one."""
    given = {**parse_object("--facts", facts or "{}"), **_parse_facts(fact or ())}
    entity = run_call(
        memory_from(url, data_dir, tenant, owner=owner, creates_tenant=True),
        lambda memory: memory.entities.upsert(category, name, facts=given, aliases=alias or ()),
    )
    if json:
        print_json(asdict(entity))
    else:
        _print_entity(entity)


def _reference(entity: str, name: str | None) -> EntityReference:
    """The entity that the arguments name: by id, or by category and name."""
    if name is not None:
        return (entity, name)
    if not _is_id(entity):
        raise InvalidInputError("Give the id of an entity, or its category and its name.")
    return entity


def _is_id(text: str) -> bool:
    """Whether a text is an id as Mnemic makes them."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _parse_facts(given: Sequence[str]) -> dict[str, str]:
    """Facts given as NAME=TEXT."""
    facts = {}
    for each in given:
        name, separator, text = each.partition("=")
        if not separator or not name.strip():
            raise InvalidInputError(f"--fact must be NAME=TEXT, such as likes=tea, not {each!r}.")
        facts[name.strip()] = text
    return facts


def _print_table(entities: Sequence[Entity]) -> None:
    listing = table("id", "category", "name", "aliases", "facts", "relations", "mentions")
    for entity in entities:
        words = (entity.category, entity.name, ", ".join(entity.aliases))
        counts = entity.counts or EntityCounts(0, len(entity.facts), 0)
        numbers = (counts.fact_count, counts.relation_count, counts.mention_count)
        listing.add_row(
            str(entity.entity_id), *(Text(one_line(word)) for word in words), *(str(each) for each in numbers)
        )
    out.print(listing)


def _print_entity(entity: Entity, relations: Sequence[str] = ()) -> None:
    listing = table("what", "value")
    listing.add_row(Text(one_line(entity.category)), Text(one_line(entity.name)))
    for alias in entity.aliases:
        listing.add_row("alias", Text(one_line(alias)))
    for attribute, value in entity.facts.items():
        listing.add_row(Text(one_line(attribute)), Text(one_line(str(value))))
    for relation in relations:
        listing.add_row("relation", Text(one_line(relation)))
    out.print(listing)


def _relation_lines(graph: EntityGraph) -> list[str]:
    names = {node.entity_id: node.name for node in graph.nodes}
    return [
        f"{names[relation.from_id]} → {relation.kind} → {names[relation.to_id]}"
        for relation in graph.relations
    ]
