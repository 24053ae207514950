"""The systems that are measured side by side, and their environments.

Each competitor is installed by name and version from the package registry, into its own environment in
`bench/.competitors`, which later runs reuse. Mnemic's environment does not change.
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
    """A system that is measured. Without requirements it runs in Mnemic's own environment."""

    name: str
    driver: str
    fairness: str
    requirements: tuple[str, ...] = ()
    needs_database: bool = False
    variant: str = ""


MNEMIC = Contestant(
    "Mnemic",
    "bench.drivers.add_to_mnemic",
    "each call atomic and durable (fsync); lexical index; duplicates and tenant checked; logged",
)
# Versions are only named here.
_LANGGRAPH = ("langgraph-checkpoint-postgres==3.2.0", "psycopg[binary]==3.3.8", "numpy==2.4.6")
COMPETITORS = (
    Contestant(
        "mem0",
        "bench.drivers.add_to_mem0",
        "infer=False; two SQLite commits per memory, also in bulk; no lexical index without a download",
        ("mem0ai==2.2.1", "qdrant-client==1.20.0", "numpy==2.4.6"),
    ),
    Contestant(
        "Chroma",
        "bench.drivers.add_to_chroma",
        "calls of 5,461, each atomic; trigram index of the text; HNSW, written to disk periodically",
        ("chromadb==1.5.9", "numpy==2.4.6"),
    ),
    Contestant(
        "LangGraph",
        "bench.drivers.add_to_langgraph",
        "PostgresStore on the same kind of server; HNSW, its default; calls of 1,000; no lexical index",
        _LANGGRAPH,
        needs_database=True,
        variant="hnsw",
    ),
    Contestant(
        "LangGraph, flat",
        "bench.drivers.add_to_langgraph",
        "the same without a vector index and in half precision, as in Mnemic",
        _LANGGRAPH,
        needs_database=True,
        variant="flat",
    ),
)


class NotInstalledError(Exception):
    """A competitor cannot be installed; the message says why."""


def interpreter_of(contestant: Contestant, timeout_s: float) -> Path:
    """The Python interpreter of the environment; NotInstalledError if the installation fails."""
    if not contestant.requirements:
        return Path(sys.executable)
    stamp = hashlib.sha256(json.dumps([sys.version, contestant.requirements]).encode()).hexdigest()[:12]
    folder = ENVIRONMENTS / f"{contestant.requirements[0].partition('==')[0]}-{stamp}"
    interpreter, complete = folder / "bin" / "python", folder / "complete"
    if not complete.exists():
        try:
            _install(folder, interpreter, contestant, min(INSTALL_TIMEOUT_S, timeout_s))
        except (OSError, subprocess.SubprocessError) as error:
            shutil.rmtree(folder, ignore_errors=True)
            output = getattr(error, "stderr", None) or str(error)
            raise NotInstalledError(f"cannot be installed: {output.strip().splitlines()[-1]}") from error
        complete.touch()
    return interpreter


def quiet_environment(contestant: Contestant, home: Path) -> Mapping[str, str]:
    """Environment variables of a driver: no telemetry, no downloads, `home` as its home folder."""
    # Mnemic's modules must not be visible in a competitor's environment.
    removed = {"PYTHONPATH"} if contestant.requirements else set()
    kept = {name: value for name, value in os.environ.items() if name not in removed}
    quiet = {"ANONYMIZED_TELEMETRY": "False", "MEM0_TELEMETRY": "False", "HF_HUB_OFFLINE": "1"}
    return kept | quiet | {"HOME": str(home), "MEM0_DIR": str(home / "mem0")}


def _install(folder: Path, interpreter: Path, contestant: Contestant, timeout_s: float) -> None:
    venv.create(folder, clear=True, with_pip=True)
    pip = [str(interpreter), "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, *contestant.requirements], capture_output=True, text=True, timeout=timeout_s, check=True
    )
