"""The functions, triggers, views and policies of the schema: one current file each.

A definition is a file ``definitions/<subject>/<name>.sql``. Extensions bring their own, see
`mnemic.sql.migration_files`. It is named after the function or view in it; the triggers that call a
function stand in its file, and the policies of a table in ``policies/<table>.sql``. Every statement can be
run again: ``CREATE OR REPLACE``, or ``DROP … IF EXISTS`` before ``CREATE`` for policies.
`mnemic.db.migrate` applies a file whenever its checksum differs from the recorded one.

Order is declared, not computed. A file may begin with these lines, in this order::

    -- stage: before tables
    -- needs: tenancy/verified, tenancy/seal

*Stage.* Tables need some functions: in defaults (``mnemic.new_id``), generated columns
(``mnemic.content_hash``), checks, index expressions and ``CALL mnemic.protect(…)``. Those are marked ``before
tables`` and are applied before the migrations of their set; all others are applied after the migrations of
all sets.

*Needs.* PostgreSQL checks the bodies of views, policies, triggers and of SQL functions with ``RETURN`` or
``BEGIN ATOMIC`` when they are created, so what they use must exist before. Names in ``$$`` bodies are looked
up at run time and need nothing. A need is in the same set and stage; an earlier stage need not be named. An
unknown or circular need is a `ConfigurationError`. Among files that need nothing of each other the order is
alphabetical.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from hashlib import sha256
from importlib.resources.abc import Traversable
from itertools import takewhile
from typing import Final, LiteralString

from mnemic.errors import ConfigurationError

BEFORE_TABLES: Final = "before tables"
AFTER_TABLES: Final = "after tables"

_CREATED = re.compile(
    r"^CREATE (?:OR REPLACE )?(?:"
    r"(?P<kind>FUNCTION|PROCEDURE|VIEW) (?P<name>\w+\.\w+)"
    r"|(?P<part>TRIGGER|POLICY) (?P<part_name>\w+)[^;]*?\sON (?P<table>\w+\.\w+))",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Definition:
    """One SQL file that can be applied again whenever it has changed."""

    set_name: str
    name: str
    sql: LiteralString = field(repr=False)

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the file's text, in hexadecimal digits."""
        return sha256(self.sql.encode()).hexdigest()

    @property
    def label(self) -> str:
        """How people name it: ``mnemic/jobs/claim_jobs``."""
        return f"{self.set_name}/{self.name}"

    @cached_property
    def stage(self) -> str:
        """`BEFORE_TABLES` or `AFTER_TABLES`."""
        stage = self._header("stage") or AFTER_TABLES
        if stage not in (BEFORE_TABLES, AFTER_TABLES):
            raise ConfigurationError(f"{self.label} names the stage {stage!r}, which does not exist.")
        return stage

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """Names of the definitions that must be applied before this one."""
        return tuple(name.strip() for name in self._header("needs").split(",") if name.strip())

    @cached_property
    def objects(self) -> tuple[str, ...]:
        """What the file creates, as ``DROP`` names it: ``ROUTINE mnemic.new_id``, ``POLICY p ON state.x``."""
        return tuple(_object_of(match) for match in _CREATED.finditer(self.sql))

    def _header(self, key: str) -> str:
        """The value of a line at the top of the file; empty without one."""
        prefix = f"-- {key}: "
        lines = takewhile(lambda line: line.startswith(("-- stage: ", "-- needs: ")), self.sql.split("\n", 2))
        return ", ".join(line.removeprefix(prefix) for line in lines if line.startswith(prefix))


def read_definitions(set_name: str, folder: Traversable) -> tuple[Definition, ...]:
    """The definitions in a folder, in the order of their application; none if there is no such folder."""
    return in_order(tuple(_read_files(set_name, folder))) if folder.is_dir() else ()


def _read_files(set_name: str, folder: Traversable) -> Iterator[Definition]:
    for subject in folder.iterdir():
        if not subject.is_dir():
            continue
        for path in subject.iterdir():
            if path.name.endswith(".sql"):
                # Shipped with a package and never made from input: as good as a literal to the driver.
                yield Definition(
                    set_name, f"{subject.name}/{path.name.removesuffix('.sql')}", path.read_text("utf-8")
                )


def in_order(definitions: tuple[Definition, ...]) -> tuple[Definition, ...]:
    """Earlier stage first; within a stage, what is needed before what needs it."""
    return tuple(
        definition
        for stage in (BEFORE_TABLES, AFTER_TABLES)
        for definition in _sorted({item.name: item for item in definitions if item.stage == stage})
    )


def _sorted(by_name: dict[str, Definition]) -> Iterator[Definition]:
    sorter = TopologicalSorter[str]()
    for name in sorted(by_name):
        for need in by_name[name].needs:
            if need not in by_name:
                raise ConfigurationError(
                    f"{by_name[name].label} needs {need!r}, which is no definition of the stage "
                    f"{by_name[name].stage!r}."
                )
        sorter.add(name, *by_name[name].needs)
    try:
        return (by_name[name] for name in tuple(sorter.static_order()))
    except CycleError as error:
        raise ConfigurationError(
            f"Definitions need each other in a circle: {' → '.join(error.args[1])}."
        ) from None


def _object_of(match: re.Match[str]) -> str:
    if match["kind"]:
        return f"{'VIEW' if match['kind'] == 'VIEW' else 'ROUTINE'} {match['name']}"
    return f"{match['part']} {match['part_name']} ON {match['table']}"
