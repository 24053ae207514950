"""All SQL of Mnemic, and the loader that hands it to the code above.

* ``queries/*.sql`` hold the runtime queries. A query opens with ``-- name: <name>``, then says in
  a sentence what it returns and why; its parameters are written ``%(name)s``.
* ``migrations/NNNN_<what>.sql`` hold the schema, see `mnemic.sql.migration_files`.

A query is asked for as ``query("<file>.<name>")``; files are read once, when first needed.
"""

import re
from functools import cache
from importlib.resources import files
from typing import LiteralString, cast

_NAME_LINE = re.compile(r"^-- name: (?P<name>[a-z_]+)$", re.MULTILINE)


@cache
def queries() -> dict[str, LiteralString]:
    """Every named query, as ``{"file.name": text}``."""
    found: dict[str, LiteralString] = {}
    for path in sorted(files(__name__).joinpath("queries").iterdir(), key=lambda path: path.name):
        if path.name.endswith(".sql"):
            _read_file(path.name.removesuffix(".sql"), path.read_text("utf-8"), found)
    return found


def query(name: str) -> LiteralString:
    """The text of one query. An unknown name is a defect in the caller and raises KeyError."""
    return queries()[name]


def _read_file(stem: str, text: str, found: dict[str, LiteralString]) -> None:
    """Split one file at its name lines; text before the first one is the file's introduction."""
    parts = _NAME_LINE.split(text)
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        full_name = f"{stem}.{name}"
        if full_name in found:
            raise ValueError(f"the query {full_name} is defined twice")
        # Shipped with the package and never made from input: as good as a literal to the driver.
        found[full_name] = cast(LiteralString, body.strip())
