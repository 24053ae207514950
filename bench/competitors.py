"""The stores that are measured side by side, and the environments that they run in.

Each competitor is installed by name and version from the package registry, into an environment of its own
that is kept in `bench/.competitors` for the next run. Nothing of it touches Mnemic's own environment.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
ENVIRONMENTS = REPOSITORY / "bench" / ".competitors"
INSTALL_TIMEOUT_S = 600.0


@dataclass(frozen=True)
class Contestant:
    """A store that is measured. Without requirements it runs in Mnemic's own environment."""

    name: str
    driver: str
    fairness: str
    requirements: tuple[str, ...] = ()
    needs_database: bool = False
    variant: str = ""


MNEMIC = Contestant(
    "Mnemic",
    "bench.drivers.add_to_mnemic",
    "each call atomic and durable (fsync); indexed by words; duplicates and tenant checked; logged",
)
# The one place that names versions.
_LANGGRAPH = ("langgraph-checkpoint-postgres==3.2.0", "psycopg[binary]==3.3.8", "numpy==2.4.6")
COMPETITORS = (
    Contestant(
        "mem0",
        "bench.drivers.add_to_mem0",
        "infer=False; two SQLite commits per memory, also in bulk; no index by words without a download",
        ("mem0ai==2.2.1", "qdrant-client==1.20.0", "numpy==2.4.6"),
    ),
    Contestant(
        "Chroma",
        "bench.drivers.add_to_chroma",
        "calls of 5,461, each atomic; trigram index of the text; HNSW, written to disk now and then",
        ("chromadb==1.5.9", "numpy==2.4.6"),
    ),
    Contestant(
        "LangGraph",
        "bench.drivers.add_to_langgraph",
        "PostgresStore on the same kind of server; HNSW, its default; calls of 1,000; no index by words",
        _LANGGRAPH,
        needs_database=True,
        variant="hnsw",
    ),
    Contestant(
        "LangGraph, flat",
        "bench.drivers.add_to_langgraph",
        "the same without an index of the vectors and in half precision, as Mnemic keeps them",
        _LANGGRAPH,
        needs_database=True,
        variant="flat",
    ),
)


class NotInstalledError(Exception):
    """A competitor cannot be had here; says why."""


def interpreter_of(contestant: Contestant, timeout_s: float) -> Path:
    """The Python that has the store installed; NotInstalledError if it cannot be."""
    if not contestant.requirements:
        return Path(sys.executable)
    stamp = hashlib.sha256(json.dumps([sys.version, contestant.requirements]).encode()).hexdigest()[:12]
    place = ENVIRONMENTS / f"{contestant.requirements[0].partition('==')[0]}-{stamp}"
    interpreter, complete = place / "bin" / "python", place / "complete"
    if not complete.exists():
        try:
            _install(place, interpreter, contestant, min(INSTALL_TIMEOUT_S, timeout_s))
        except (OSError, subprocess.SubprocessError) as error:
            shutil.rmtree(place, ignore_errors=True)
            said = getattr(error, "stderr", None) or str(error)
            raise NotInstalledError(f"cannot be installed: {said.strip().splitlines()[-1]}") from error
        complete.touch()
    return interpreter


def quiet_environment(contestant: Contestant, home: Path) -> Mapping[str, str]:
    """The environment of a driver: no telemetry, no downloads, what it writes to its home goes there."""
    # Where Mnemic's own modules are found is nothing for an environment with modules of its own.
    not_theirs = {"PYTHONPATH"} if contestant.requirements else set()
    kept = {name: value for name, value in os.environ.items() if name not in not_theirs}
    quiet = {"ANONYMIZED_TELEMETRY": "False", "MEM0_TELEMETRY": "False", "HF_HUB_OFFLINE": "1"}
    return kept | quiet | {"HOME": str(home), "MEM0_DIR": str(home / "mem0")}


def _install(place: Path, interpreter: Path, contestant: Contestant, timeout_s: float) -> None:
    venv.create(place, clear=True, with_pip=True)
    pip = [str(interpreter), "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, *contestant.requirements], capture_output=True, text=True, timeout=timeout_s, check=True
    )
