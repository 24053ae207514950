"""Make the fixture of one version: the contents of a data folder that this version made.

python tools/make_version_fixture.py [COMMIT]    write tests/db/versions/<last migration>_<commit>.sql.xz

The sources of the commit (by default HEAD) fill a new data folder by `version_contents.py`. A data folder has
40 MB, most of it the server's own catalogs; so the fixture is the output of pg_dump, with owners, privileges
and the records of migrations and definitions, which the tests load into the database of a new data folder.

Make one when a migration has landed: `tests/db/test_earlier_versions.py` opens every fixture with the current
code. A fixture is never changed afterwards.
"""

import lzma
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mnemic.db.access import DATABASE_NAME
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer, server_binaries

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "tests" / "db" / "versions"
CONTENTS = ROOT / "tools" / "version_contents.py"


def make_fixture(commit: str) -> Path:
    """Write the fixture of a commit; returns its path."""
    with tempfile.TemporaryDirectory(prefix="mnemic-version-") as folder:
        sources, data_dir = _sources_of(commit, Path(folder)), Path(folder) / "data"
        environment = os.environ | {"PYTHONPATH": str(sources)}
        subprocess.run([sys.executable, str(CONTENTS), str(data_dir)], env=environment, check=True)
        dump = _dump(data_dir)
        last = max((sources / "mnemic" / "sql" / "migrations").glob("[0-9]*_*.sql")).name[:4]
    TARGET.mkdir(exist_ok=True)
    path = TARGET / f"{last}_{_git('rev-parse', '--short=7', commit).decode().strip()}.sql.xz"
    path.write_bytes(lzma.compress(dump, preset=9 | lzma.PRESET_EXTREME))
    return path


def _sources_of(commit: str, folder: Path) -> Path:
    archive = _git("archive", commit, "src")
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    return folder / "src"


def _dump(data_dir: Path) -> bytes:
    """All of the database as statements that any client can run."""
    with EmbeddedServer.start(data_dir) as server:
        conninfo = server.conninfo(user=ADMIN_ROLE, dbname=DATABASE_NAME)
        command = [str(server_binaries() / "pg_dump"), "--inserts", "--rows-per-insert=100", "--no-password"]
        return subprocess.run([*command, f"--dbname={conninfo}"], capture_output=True, check=True).stdout


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True).stdout


def main(arguments: Sequence[str]) -> int:
    """Make one fixture; returns the exit code."""
    path = make_fixture(arguments[0] if arguments else "HEAD")
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
