"""The page Jobs: tabs with counts, errors, replays of one or all, cancelling, schedules."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from mnemic import Memory
from mnemic.dashboard.views import jobs
from mnemic.jobs.handlers import RunningJob
from mnemic.types.job import Job
from mnemic.types.key import Role
from tests.dashboard.running import Dashboard

FRAGMENT = {"X-Fragment": "#jobs"}


@dataclass(frozen=True)
class Worker:
    """Lets jobs of the dashboard's tenant fail for good, and is gone then."""

    folder: Path
    tenant: str

    def kill(self, count: int, *, type: str = "mail.send", message: str = "no") -> list[Job]:
        def fail(job: RunningJob) -> None:
            raise ValueError(message)

        payloads = [{"to": "<b>bob</b>", "number": number} for number in range(count)]
        with Memory(data_dir=self.folder, tenant=self.tenant, embedder="test") as memory:
            memory.jobs.handler(type)(fail)
            ids = memory.jobs.enqueue_many(type, payloads, max_attempts=1)
            return [memory.jobs.wait(job_id) for job_id in ids]


@pytest.fixture
def worker(empty_dashboard: Dashboard, dashboard_folder: Path) -> Worker:
    return Worker(dashboard_folder, empty_dashboard.tenant)


def tabs(html: str) -> dict[str, str]:
    return dict(re.findall(r'data-state="(\w+)">([\d,+]+)<', html))


def follow(client: httpx.Client, answer: httpx.Response) -> str:
    assert answer.status_code == 303, answer.text
    return client.get(answer.headers["location"]).text


def test_dead_jobs_are_shown_with_their_error_and_replayed(
    empty_dashboard: Dashboard, worker: Worker
) -> None:
    run, memory = empty_dashboard.run, empty_dashboard.memory
    first, second, third = worker.kill(3, message="<img src=x onerror=alert(1)>")
    with empty_dashboard.client() as client:
        html = client.get("/ui/jobs?state=dead").text
        assert tabs(html)["dead"] == "3"
        assert "Replay all 3" in html
        assert "<img src=x" not in html
        assert "<b>bob" not in html
        assert html.count("ValueError</span>: &lt;img src=x") == 3
        assert "in fail" in html, "the traceback"
        one = client.get(f"/ui/jobs/{first.job_id}").text
        assert "raise ValueError(message)" in one
        form = {"job_id": str(first.job_id)}
        html = follow(client, client.post("/ui/jobs/replay?state=dead", data=form))
        assert "mail.send waits again" in html
        assert (tabs(html)["dead"], tabs(html)["waiting"]) == ("2", "1")
        assert run(memory.jobs.status(first.job_id)).state == "waiting"
        assert client.post("/ui/jobs/replay", data=form).status_code == 409
        html = follow(client, client.post("/ui/jobs/replay-all", data={"type": "mail.send"}))
        assert "2 jobs wait again" in html
    assert [run(memory.jobs.status(job.job_id)).state for job in (second, third)] == ["waiting", "waiting"]


def test_all_that_match_a_type_and_a_time_are_replayed_and_no_others(
    empty_dashboard: Dashboard, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, memory = empty_dashboard.run, empty_dashboard.memory
    worker.kill(2)
    (other,) = worker.kill(1, type="other")
    # As if the last hour were over already.
    monkeypatch.setattr(jobs, "SINCE", {"1 hour": timedelta(hours=-1), "24 hours": timedelta(hours=24)})
    with empty_dashboard.client() as client:
        html = client.get("/ui/jobs?state=dead&type=other&since=1+hour").text
        assert "Replay all of other" in html
        assert ">mail.send</a>" not in html
        html = follow(client, client.post("/ui/jobs/replay-all", data={"since": "1 hour"}))
        assert "0 jobs wait again" in html
        assert len(run(memory.jobs.dead())) == 3
        follow(client, client.post("/ui/jobs/replay-all", data={"type": "other", "since": "24 hours"}))
    assert run(memory.jobs.list(state="waiting", type="other"))[0].job_id == other.job_id
    assert [job.type for job in run(memory.jobs.dead())] == ["mail.send", "mail.send"]


def test_jobs_are_cancelled(empty_dashboard: Dashboard) -> None:
    run, memory = empty_dashboard.run, empty_dashboard.memory
    waiting = run(memory.jobs.enqueue("mail.send"))
    later = run(memory.jobs.enqueue("mail.send", run_at=datetime.now(UTC) + timedelta(days=1)))
    with empty_dashboard.client() as client:
        html = client.get("/ui/jobs").text
        assert (tabs(html)["waiting"], tabs(html)["scheduled"]) == ("1", "1")
        for job in (waiting, later):
            html = follow(client, client.post("/ui/jobs/cancel", data={"job_id": str(job.job_id)}))
            assert "mail.send is cancelled" in html
            assert run(memory.jobs.status(job.job_id)).state == "cancelled"
        assert tabs(html)["cancelled"] == "2"
        assert client.post("/ui/jobs/cancel", data={"job_id": str(waiting.job_id)}).status_code in (303, 409)


def test_schedules_are_paused_and_resumed(empty_dashboard: Dashboard) -> None:
    run, memory = empty_dashboard.run, empty_dashboard.memory
    name = " <b>digest</b> "
    run(memory.schedules.set(name, "mail.digest", every_s=7200))
    with empty_dashboard.client() as client:
        html = client.get("/ui/jobs").text
        assert "<b>digest" not in html
        assert "every 2 h" in html
        html = follow(client, client.post("/ui/jobs/schedule", data={"name": name, "act": "pause"}))
        assert not run(memory.schedules.get(name)).enabled
        assert 'badge warn">paused' in html
        html = follow(client, client.post("/ui/jobs/schedule", data={"name": name, "act": "resume"}))
        assert run(memory.schedules.get(name)).enabled
        assert "next run" in html
        assert client.post("/ui/jobs/schedule", data={"name": "nobody"}).status_code == 404


def test_the_list_refreshes_and_pages(empty_dashboard: Dashboard) -> None:
    run, memory = empty_dashboard.run, empty_dashboard.memory
    with empty_dashboard.client() as client:
        html = client.get("/ui/jobs").text
        assert 'id="jobs"' in html
        assert 'data-refresh="5"' in html
        assert 'data-pause="#jobs"' in html
        assert "No such job" in html
        run(
            memory.jobs.enqueue_many(
                "mail.send", [{"number": number} for number in range(jobs.LISTED_MAX + 1)]
            )
        )
        part = client.get("/ui/jobs", headers=FRAGMENT).text
        assert "<h1>" not in part
        assert tabs(part)["waiting"] == str(jobs.LISTED_MAX + 1)
        (older,) = re.findall(r'href="([^"]*before=[^"]*)"', part)
        last = client.get(older.replace("&amp;", "&")).text
        assert '{"number": 0}' in last.replace("&#34;", '"')
        assert '{"number": 1}' not in last.replace("&#34;", '"')


def test_others_than_admins_look_only(empty_dashboard: Dashboard, worker: Worker) -> None:
    run, memory = empty_dashboard.run, empty_dashboard.memory
    (job,) = worker.kill(1)
    run(memory.schedules.set("digest", "mail.digest", every_s=7200))
    roles: tuple[Role, ...] = ("read", "write")
    for role in roles:
        with empty_dashboard.client(role) as client:
            html = client.get("/ui/jobs?state=dead").text
            assert "ValueError" in html
            for hidden in (">Replay", ">Cancel<", "/ui/jobs/schedule"):
                assert hidden not in html
            form = {"job_id": str(job.job_id), "name": "digest"}
            for action in ("replay", "replay-all", "cancel", "schedule"):
                assert client.post(f"/ui/jobs/{action}", data=form).status_code == 403
    with empty_dashboard.client("write", "alice") as client:
        assert client.get("/ui/jobs").status_code == 403
        assert client.get(f"/ui/jobs/{job.job_id}").status_code == 403
    assert run(memory.jobs.status(job.job_id)).state == "dead"
    assert run(memory.schedules.get("digest")).enabled


def test_bad_fields_get_a_page_that_says_what_is_wrong(empty_dashboard: Dashboard) -> None:
    with empty_dashboard.client() as client:
        for method, address, form, status in (
            ("GET", "/ui/jobs?state=lost", None, 422),
            ("GET", "/ui/jobs?type=No+type", None, 422),
            ("GET", "/ui/jobs?before=x", None, 422),
            ("GET", "/ui/jobs/x", None, 422),
            ("GET", f"/ui/jobs/{uuid4()}", None, 404),
            ("POST", "/ui/jobs/replay", {"job_id": "x"}, 422),
            ("POST", "/ui/jobs/replay", {"job_id": str(uuid4())}, 404),
            ("POST", "/ui/jobs/replay-all", {"since": "ever"}, 422),
            ("POST", "/ui/jobs/cancel", {"job_id": str(uuid4())}, 404),
            ("POST", "/ui/jobs/schedule", {"act": "pause"}, 422),
            ("POST", "/ui/jobs/schedule", {"name": "x", "act": "stop"}, 422),
        ):
            answer = client.request(method, address, data=form)
            assert (answer.status_code, address, form) == (status, address, form)
            assert answer.headers["content-type"].startswith("text/html")
            assert "Traceback" not in answer.text
