"""`mnemic jobs` and `mnemic worker`."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TIMEOUT_S = 120.0


@pytest.fixture
def data_dir(memory_dir: Path) -> Path:
    """The folder of an embedded server for the commands."""
    return memory_dir / "commands on jobs"


def start(data_dir: Path, *arguments: str) -> list[str]:
    program = "from mnemic.cli.app import main; main()"
    return [sys.executable, "-c", program, *arguments, "--data-dir", str(data_dir)]


def run(data_dir: Path, *arguments: str, fails: bool = False) -> str:
    given = start(data_dir, *arguments)
    ended = subprocess.run(given, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert (ended.returncode != 0) == fails, ended.stderr
    return ended.stderr if fails else ended.stdout


def jobs(data_dir: Path, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run(data_dir, "jobs", *arguments, "--json"))["jobs"]
    return found


def test_jobs_are_added_listed_shown_and_cancelled(data_dir: Path) -> None:
    (job,) = jobs(data_dir, "enqueue", "print", "--payload", '{"page": 1}', "--key", "k", "--priority", "5")
    assert (job["state"], job["payload"], job["priority"]) == ("waiting", {"page": 1}, 5)
    (listed,) = jobs(data_dir, "list", "--type", "print")
    assert listed["job_id"] == job["job_id"]
    assert "waiting" in run(data_dir, "jobs", "show", job["job_id"])
    (cancelled,) = jobs(data_dir, "cancel", job["job_id"])
    assert cancelled["state"] == "cancelled"
    assert jobs(data_dir, "dead") == []
    assert "only dead jobs are replayed" in run(data_dir, "jobs", "replay", job["job_id"], fails=True)
    assert "--payload must be JSON" in run(data_dir, "jobs", "enqueue", "x", "--payload", "{", fails=True)


@pytest.mark.parametrize("stopping", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_stops_cleanly_when_it_is_told_to(data_dir: Path, stopping: signal.Signals) -> None:
    given = start(data_dir, "worker", "--embedder", "test")
    with subprocess.Popen(given, stderr=subprocess.PIPE, text=True) as worker:
        assert worker.stderr is not None
        assert "is working" in worker.stderr.readline()
        worker.send_signal(stopping)
        _, rest = worker.communicate(timeout=TIMEOUT_S)
    assert worker.returncode == 0, rest
    assert "Traceback" not in rest
