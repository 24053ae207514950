"""`mnemic jobs` and `mnemic worker`."""

import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.warm_start.starting import WarmStart

TIMEOUT_S = 120.0


def test_jobs_are_added_listed_shown_and_cancelled(mnemic: Run) -> None:
    added = mnemic(
        "jobs", "enqueue", "print", "--payload", '{"page": 1}', "--key", "k", "--priority", "5", "--json"
    )
    (job,) = added.json["jobs"]
    assert (job["state"], job["payload"], job["priority"]) == ("waiting", {"page": 1}, 5)
    (listed,) = mnemic("jobs", "list", "--type", "print", "--json").json["jobs"]
    assert listed["job_id"] == job["job_id"]
    assert "waiting" in mnemic("jobs", "show", job["job_id"]).out
    (cancelled,) = mnemic("jobs", "cancel", job["job_id"], "--json").json["jobs"]
    assert cancelled["state"] == "cancelled"
    assert mnemic("jobs", "dead", "--json").json["jobs"] == []
    assert mnemic("jobs", "replay-dead", "--type", "print", "--json").json == {"replayed_count": 0}
    assert "0 jobs wait again" in mnemic("jobs", "replay-dead").out
    assert "--since must be" in mnemic("jobs", "replay-dead", "--since", "soon").said
    counted = mnemic("jobs", "counts", "--json").json
    assert {"state": "cancelled", "type": "print", "job_count": 1, "has_more": False} in counted
    assert ["cancelled", "print", "1"] in [line.split() for line in mnemic("jobs", "counts").out.splitlines()]


def test_what_cannot_be_done_is_said(mnemic: Run) -> None:
    (job,) = mnemic("jobs", "enqueue", "print", "--json").json["jobs"]
    for arguments, complaint in (
        (("replay", job["job_id"]), "only dead jobs are replayed"),
        (("enqueue", "x", "--payload", "{"), "--payload must be JSON"),
    ):
        ended = mnemic("jobs", *arguments)
        assert ended.code != 0
        assert complaint in ended.said


@pytest.mark.parametrize("stopping", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_stops_cleanly_when_it_is_told_to(
    folder: Path, stopping: signal.Signals, warm_start: WarmStart
) -> None:
    given = [warm_start.mnemic, "worker", "--embedder", "test", "--data-dir", str(folder)]
    with subprocess.Popen(given, stderr=subprocess.PIPE, text=True) as worker:
        assert worker.stderr is not None
        assert any("is working" in line for line in worker.stderr), "it ended before it worked"
        worker.send_signal(stopping)
        _, rest = worker.communicate(timeout=TIMEOUT_S)
    assert worker.returncode == 0, rest
    assert "Traceback" not in rest
