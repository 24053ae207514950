"""The page Map: made by a job, drawn by category and region, without what was forgotten."""

import asyncio
import re
from uuid import UUID

from playwright.sync_api import Page, expect

from mnemic.memory_map.reading import MAP_JOB
from mnemic.sdk.memory import AsyncMemory
from tests.dashboard import accessibility
from tests.dashboard.conftest import OpenContext
from tests.dashboard.modes import check_modes
from tests.dashboard.running import Dashboard
from tests.memory_map.texts import fill

PAGE_MAX_BYTES = 60_000


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def linked(html: str) -> set[UUID]:
    return {UUID(each) for each in re.findall(r'class="spot" href="/ui/memories/([0-9a-f-]+)', html)}


async def work(memory: AsyncMemory) -> None:
    """Run the job that was enqueued."""
    (job,) = await memory.jobs.list(type=MAP_JOB, state="waiting")
    working = asyncio.create_task(memory.jobs.work())
    finished = await memory.jobs.wait(job.job_id)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    assert finished.state == "done", finished.error


def test_a_map_is_made_drawn_and_filtered(empty_dashboard: Dashboard) -> None:
    alice = empty_dashboard.memory.scope(owner="alice")
    ids = empty_dashboard.run(fill(alice))
    (rule,) = empty_dashboard.run(
        alice.retain("<b>Never</b> sail at night.", category="procedural")
    ).memory_ids
    empty_dashboard.run(alice.retain("Bob keeps a secret zebra.", owner="bob"))
    with empty_dashboard.client("write", owner="alice") as client:
        assert "There is no map yet" in client.get("/ui/map").text
        answer = client.post("/ui/map")
        assert (answer.status_code, answer.headers["location"]) == (303, "/ui/map")
        assert client.post("/ui/map").status_code == 303
        assert len(empty_dashboard.run(alice.jobs.list(type=MAP_JOB))) == 1
        waiting = client.get("/ui/map").text
        assert "waiting for a worker" in waiting
        assert 'data-refresh="2"' in waiting
        empty_dashboard.run(work(alice))
        html = client.get("/ui/map").text
        assert linked(html) == {*ids, rule}
        assert "<b>Never" not in html
        assert "zebra" not in html
        assert " style=" not in html
        assert "All 37 memories of the map are drawn" in text_of(html)
        assert "Made just now" in text_of(html)
        assert linked(client.get("/ui/map?category=procedural").text) == {rule}
        found = empty_dashboard.run(alice.memories.map())
        seen: set[UUID] = set()
        for region in found.regions:
            shown = client.get(f"/ui/map?region={region.region}").text
            assert len(linked(shown)) == region.memory_count
            seen |= linked(shown)
        assert seen == {*ids, rule}
        empty_dashboard.run(alice.memories.forget(rule))
        assert rule not in linked(client.get("/ui/map").text)
        assert "Nothing here" in client.get("/ui/map?category=procedural").text


def test_a_reader_cannot_make_a_map_and_bad_fields_are_explained(empty_dashboard: Dashboard) -> None:
    alice = empty_dashboard.memory.scope(owner="alice")
    empty_dashboard.run(fill(alice, ("chess",), 3))
    with empty_dashboard.client("read", owner="alice") as reader:
        assert "Make the map" not in reader.get("/ui/map").text
        refused = reader.post("/ui/map")
        assert (refused.status_code, refused.headers["content-type"][:9]) == (403, "text/html")
        for address, reason in (
            ("/ui/map?category=nonsense", "category must be one of"),
            ("/ui/map?region=x", "region must be a whole number"),
            ("/ui/map?region=-1", "region must be a whole number"),
        ):
            answer = reader.get(address)
            assert (answer.status_code, reason in answer.text) == (422, True), address
        assert reader.get("/ui/map?region=7").status_code == 200
        assert reader.get("/ui/map?owner=bob").status_code == 403
    assert empty_dashboard.run(alice.jobs.list(type=MAP_JOB)) == []


def test_a_large_map_is_a_small_page(empty_dashboard: Dashboard) -> None:
    alice = empty_dashboard.memory.scope(owner="alice")
    texts = [
        f"A memory with quite a long text about subject {n % 7} and number {n}, and more."
        for n in range(1_800)
    ]
    empty_dashboard.run(alice.retain(texts))
    empty_dashboard.run(alice.memories.make_map())
    empty_dashboard.run(work(alice))
    with empty_dashboard.client("read", owner="alice") as client:
        answer = client.get("/ui/map")
        assert "1,000 of 1,800 memories are drawn" in text_of(answer.text)
        assert len(answer.content) < PAGE_MAX_BYTES


def test_the_map_in_a_browser(empty_dashboard: Dashboard, open_context: OpenContext) -> None:
    alice = empty_dashboard.memory.scope(owner="alice")
    empty_dashboard.run(fill(alice))
    context = open_context(empty_dashboard)
    accessibility.prepare(context)
    page: Page = context.new_page()
    page.goto("/ui/map?owner=alice")
    page.get_by_role("button", name="Make the map").click()
    expect(page.locator("#map-state")).to_contain_text("waiting for a worker")
    empty_dashboard.run(work(alice))
    expect(page.locator("#map-state")).to_contain_text("Made just now")
    page.get_by_role("link", name="Show the new map").click()
    expect(page.locator("a.spot")).to_have_count(36)
    check_modes(page)
    page.locator(".list a[data-row]").first.click()
    expect(page).to_have_url(re.compile("region="))
    expect(page.get_by_role("heading", name="Memories of this region")).to_be_visible()
    page.get_by_label("Category").select_option("factual")
    expect(page).to_have_url(re.compile("category=factual"))
    assert empty_dashboard.run(alice.jobs.list(type=MAP_JOB, state="waiting")) == []
