"""All SQL of Mnemic, and the loader of named queries.

* ``queries/*.sql`` hold the runtime queries. A query opens with ``-- name: <name>``, then says in
  a sentence what it returns and why; its parameters are written ``%(name)s``.
* ``migrations/NNNN_<what>.sql`` hold tables and data, see `mnemic.sql.migration_files`.
* ``definitions/<subject>/<name>.sql`` hold functions, triggers, views and policies, see
  `mnemic.sql.definition_files`.

``query("<file>.<name>")`` returns a query; files are read once, when first needed.
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
        # Shipped with the package and never built from input, so it counts as a literal.
        found[full_name] = cast(LiteralString, body.strip())
