"""Databases of the version before the baseline, made by the migrations that it had.

``version_before.tar.xz`` holds its 28 files, as written by
``git archive c548c27 src/mnemic/sql/migrations | xz -9e``.
"""

import tarfile
from hashlib import sha256
from pathlib import Path
from typing import LiteralString

import psycopg

from mnemic.sql import query

ARCHIVE = Path(__file__).with_name("version_before.tar.xz")


def old_migrations() -> dict[str, LiteralString]:
    """Names and texts, in order."""
    with tarfile.open(ARCHIVE) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        texts = {Path(member.name).stem: _text(archive, member) for member in members}
    return dict(sorted(texts.items()))


def make_old_database(conninfo: str, *, count: int | None = None) -> None:
    """Apply the first `count` migrations, or all, to an empty database; the server has Mnemic's roles."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(query("provision.make_vector_extension"))
        connection.execute(query("provision.make_housekeeping"))
        connection.execute("DROP TABLE mnemic.definitions")
        for place, (name, text) in enumerate(list(old_migrations().items())[:count], start=1):
            connection.execute(text)
            connection.execute(
                query("migrations.record"),
                {
                    "set_name": "mnemic",
                    "number": place,
                    "title": name.split("_", maxsplit=1)[1],
                    "checksum": sha256(text.encode()).hexdigest(),
                },
            )


def _text(archive: tarfile.TarFile, member: tarfile.TarInfo) -> LiteralString:
    file = archive.extractfile(member)
    assert file is not None, "members were filtered for files"
    # Shipped with the tests and never built from input, so it counts as a literal.
    return file.read().decode()
