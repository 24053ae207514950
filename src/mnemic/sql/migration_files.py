"""The numbered SQL files that make tables, columns, indexes, roles and data, ours and those of extensions.

Functions, triggers, views and policies are definitions, see `mnemic.sql.definition_files`. A *set* is a
folder of files named ``NNNN_<what>.sql``, numbered from 1 without gaps. Mnemic's own set is called
``mnemic``. A package adds one through an entry point in the group
``mnemic.migrations``; its name is the set's name, its value the package that holds the files::

    [project.entry-points."mnemic.migrations"]
    billing = "acme_billing.migrations"

A folder ``definitions`` in that package holds the definitions of the set. A file is identified by its
SHA-256, so that an edit after it was applied is noticed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import sha256
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import chain
from typing import LiteralString

from mnemic.errors import ConfigurationError
from mnemic.sql.definition_files import Definition, read_definitions

ENTRY_POINT_GROUP = "mnemic.migrations"
CORE_SET = "mnemic"

_FILE_NAME = re.compile(r"^\d{4}_[a-z0-9_]+\.sql$")


@dataclass(frozen=True)
class Migration:
    """One SQL file: applied once, in one transaction, never edited afterwards."""

    set_name: str
    number: int
    title: str
    sql: LiteralString = field(repr=False)

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the file's text, in hexadecimal digits."""
        return sha256(self.sql.encode()).hexdigest()

    @property
    def label(self) -> str:
        """How people name it: ``mnemic/0001_tenancy``."""
        return f"{self.set_name}/{self.number:04}_{self.title}"


@dataclass(frozen=True)
class SchemaFiles:
    """Every migration and definition that is installed: ours first, then each extension's by name."""

    migrations: tuple[Migration, ...]
    definitions: tuple[Definition, ...]

    @property
    def set_names(self) -> tuple[str, ...]:
        """The installed sets in the order in which they are applied."""
        names = (item.set_name for item in self.migrations), (item.set_name for item in self.definitions)
        return tuple(dict.fromkeys(chain.from_iterable(names)))


def installed_files() -> SchemaFiles:
    """The files of all installed sets; looking for extensions takes milliseconds."""
    sets = [_our_files(), *(_read_files(name, folder) for name, folder in _extensions())]
    return SchemaFiles(
        tuple(chain.from_iterable(files.migrations for files in sets)),
        tuple(chain.from_iterable(files.definitions for files in sets)),
    )


def all_migrations() -> tuple[Migration, ...]:
    """Every installed migration, in order."""
    return installed_files().migrations


def all_definitions() -> tuple[Definition, ...]:
    """Every installed definition, by set, each set in the order in which it is applied."""
    return installed_files().definitions


@cache
def _our_files() -> SchemaFiles:
    """Read once per process: every opening of a database compares them."""
    folder = files("mnemic.sql")
    return SchemaFiles(
        tuple(read_set(CORE_SET, folder.joinpath("migrations"))),
        read_definitions(CORE_SET, folder.joinpath("definitions")),
    )


def _read_files(set_name: str, folder: Traversable) -> SchemaFiles:
    return SchemaFiles(
        tuple(read_set(set_name, folder)), read_definitions(set_name, folder.joinpath("definitions"))
    )


def _extensions() -> Iterator[tuple[str, Traversable]]:
    """Names and folders of the sets of extensions."""
    for extension in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name):
        if extension.name == CORE_SET:
            raise ConfigurationError(
                f"The package {extension.value} names its migrations {CORE_SET!r}, which is reserved. "
                "Rename its entry point."
            )
        yield extension.name, _folder_of(extension)


def _folder_of(extension: EntryPoint) -> Traversable:
    try:
        return files(extension.value)
    except ImportError as error:
        raise ConfigurationError(
            f"The migrations of {extension.name!r} should be in {extension.value}, which cannot be imported: "
            f"{error}. Repair or uninstall the package that names it."
        ) from error


def read_set(set_name: str, folder: Traversable) -> Iterator[Migration]:
    """The migrations of one folder in order; a gap or a double number is an error."""
    found = sorted(
        (path for path in folder.iterdir() if _FILE_NAME.match(path.name)), key=lambda path: path.name
    )
    for expected, path in enumerate(found, start=1):
        number, title = _number_and_title(path.name)
        if number != expected:
            raise ConfigurationError(
                f"The migrations of {set_name!r} are not numbered 1, 2, 3 …: {path.name} stands where "
                f"number {expected} should."
            )
        # Shipped with a package and never made from input: as good as a literal to the driver.
        yield Migration(set_name, number, title, path.read_text("utf-8"))


def _number_and_title(file_name: str) -> tuple[int, str]:
    number, title = file_name.removesuffix(".sql").split("_", maxsplit=1)
    return int(number), title
