"""The page Entities: lists, the graph, and one entity, now and at an earlier moment."""

import re
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from mnemic.types.entity import Entity
from tests.dashboard import accessibility
from tests.dashboard.conftest import OpenContext
from tests.dashboard.modes import check_modes
from tests.dashboard.running import Dashboard

MARKED = "<i data-injected>x</i>"
PAGE_MAX_BYTES = 60_000


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


@pytest.fixture(scope="module")
def ada(dashboard: Dashboard) -> Entity:
    """An entity of an owner of its own, who moved from Rome to Oslo and has a hostile friend."""
    memory = dashboard.memory.scope(owner="ada's diary")

    async def fill() -> Entity:
        await memory.retain("Ada met Grace in Rome.")
        ada = await memory.entities.upsert(
            "person", "Ada", facts={"city": "Rome"}, aliases=["Countess"], salience=0.9
        )
        for category, name in (("place", "Rome"), ("place", "Oslo"), ("person", "Grace"), ("person", MARKED)):
            await memory.entities.upsert(category, name)
        await memory.entities.relate(ada, ("place", "Rome"), "lives in")
        await memory.entities.relate(ada, ("person", MARKED), MARKED)
        await memory.entities.relate(("person", "Grace"), ("place", "Oslo"), "works in")
        return await memory.entities.get(ada)

    made: Entity = dashboard.run(fill())
    return made


def test_entities_are_found_by_prefix_category_and_order(dashboard: Dashboard, ada: Entity) -> None:
    with dashboard.client("read") as client:
        for fields, expected in (
            ({}, ["Ada", "Grace", "Oslo", "Rome", "&lt;i data-injected&gt;x&lt;/i&gt;"]),
            ({"q": "count"}, ["Ada"]),
            ({"q": "GR"}, ["Grace"]),
            ({"category": "place"}, ["Oslo", "Rome"]),
            ({"category": "place", "order": "name"}, ["Oslo", "Rome"]),
            ({"q": "zzz"}, []),
        ):
            answer = client.get("/ui/entities", params={"owner": ada.owner, **fields})
            assert answer.status_code == 200
            listed = re.findall(r'<span class="strong anywhere">(.*?)</span>', answer.text)
            assert sorted(listed) == sorted(expected), fields
            assert f"{len(expected)} entit" in text_of(answer.text)
            part = client.get(
                "/ui/entities", params={"owner": ada.owner, **fields}, headers={"X-Fragment": "#found"}
            )
            assert "<svg" not in part.text.replace('<svg class="icon"', "")
            assert re.findall(r'<span class="strong anywhere">(.*?)</span>', part.text) == listed
        assert "No name begins so" in answer.text


def test_the_graph_links_every_entity_and_names_every_relation(dashboard: Dashboard, ada: Entity) -> None:
    with dashboard.client("read") as client:
        html = client.get("/ui/entities", params={"owner": ada.owner}).text
        nodes = re.findall(r'<a class="node[^"]*" href="(/ui/entities/[^"]+)" aria-label="([^"]*)"', html)
        assert {label for _, label in nodes} >= {"Ada, person", "Rome, place", "Grace, person"}
        assert len(nodes) == 5
        assert 'aria-label="Ada lives in Rome"' in html
        assert "3 relations as a table" in text_of(html)
        for address, label in nodes:
            shown = client.get(address.replace("&amp;", "&"))
            assert (shown.status_code, label.split(",")[0] in shown.text) == (200, True)
        assert "<i data-injected" not in html
        assert " style=" not in html


def test_one_entity_is_shown_with_all_that_is_known(dashboard: Dashboard, ada: Entity) -> None:
    memory = dashboard.memory.scope(owner=ada.owner)
    (mention,) = dashboard.run(memory.entities.mentions(ada))
    with dashboard.client("read", owner=ada.owner) as client:
        html = client.get(f"/ui/entities/{ada.entity_id}?steps=1").text
        text = text_of(html)
        assert "city Rome" in text
        assert "Countess" in text
        assert "Ada met Grace in Rome." in text
        assert f"/ui/memories/{mention}" in html
        assert "lives in" in text
        assert "<i data-injected" not in html
        # Grace and Oslo are related to each other only.
        assert "Oslo, place" not in html
        assert len(html.encode()) < PAGE_MAX_BYTES


def test_an_earlier_moment_shows_what_was_known_then(empty_dashboard: Dashboard) -> None:
    memory = empty_dashboard.memory.scope(owner="alice")

    async def fill() -> tuple[Entity, str]:
        bo = await memory.entities.upsert("person", "Bo", facts={"city": "Rome"})
        rome = await memory.entities.upsert("place", "Rome")
        await memory.entities.relate(bo, rome, "lives in")
        (song,) = (await memory.retain("Bo sings a song.")).memory_ids
        moment = (await memory.state.set("clock", 1)).updated_at.isoformat()
        await memory.memories.update(song, content="Nobody sings a song.")
        await memory.retain("Bo is silent.")
        await memory.entities.unrelate(bo, rome, "lives in")
        await memory.entities.upsert("person", "Bo", facts={"city": "Oslo"})
        return bo, moment

    bo, moment = empty_dashboard.run(fill())
    with empty_dashboard.client("read", owner="alice") as client:
        now = client.get(f"/ui/entities/{bo.entity_id}").text
        assert "Bo lives in Rome" not in now
        assert "city Oslo" in text_of(now)
        assert "Bo is silent." in now
        assert "sings a song." not in now
        then = client.get(f"/ui/entities/{bo.entity_id}", params={"as_of": moment}).text
        assert "Bo lives in Rome" in then
        assert "city Rome" in text_of(then)
        assert "Bo sings a song." in then
        assert "Bo is silent." not in then
        assert "as it was known on" in text_of(then)
        assert "Bo lives in Rome" in client.get("/ui/entities", params={"as_of": moment}).text
        assert "No entity was known then" in client.get("/ui/entities?as_of=2020-01-01").text
        assert client.get(f"/ui/entities/{bo.entity_id}?as_of=2020-01-01").status_code == 404


def test_mentions_are_paged(empty_dashboard: Dashboard) -> None:
    memory = empty_dashboard.memory.scope(owner="alice")

    async def fill() -> Entity:
        bo = await memory.entities.upsert("person", "Bo")
        await memory.retain([f"Bo sings song {number}." for number in range(20)])
        return bo

    bo = empty_dashboard.run(fill())
    seen: list[str] = []
    with empty_dashboard.client("read", owner="alice") as client:
        address = f"/ui/entities/{bo.entity_id}"
        while address:
            html = client.get(address, headers={"X-Fragment": "#mentions"}).text
            seen += re.findall(r"song \d+", html)
            further = re.search(r'data-append="#mentions" href="([^"]+)"', html)
            address = further[1].replace("&amp;", "&") if further else ""
    assert seen == [f"song {number}" for number in range(19, -1, -1)]


def test_an_owner_without_entities_and_bad_input(dashboard: Dashboard, empty_dashboard: Dashboard) -> None:
    with empty_dashboard.client() as client:
        assert "No entities yet" in client.get("/ui/entities?owner=nobody").text
    with dashboard.client() as client:
        for address, status, reason in (
            ("/ui/entities?order=age", 422, "order must be one of"),
            ("/ui/entities?as_of=yesterday", 422, "as_of must be a date"),
            ("/ui/entities?before=x", 422, "before must be an id"),
            (f"/ui/entities?q={'a' * 300}", 422, "prefix must have"),
            ("/ui/entities/x", 422, "entity must be an id"),
            (f"/ui/entities/{uuid4()}", 404, "has no entity"),
            (f"/ui/entities/{uuid4()}?steps=4", 422, "steps must be a whole number from 1 to 3"),
        ):
            answer = client.get(address)
            assert (answer.status_code, reason in answer.text) == (status, True), address
            assert answer.headers["content-type"].startswith("text/html")


def test_a_bound_key_sees_only_its_owner(dashboard: Dashboard, ada: Entity) -> None:
    with dashboard.client("write", owner=dashboard.owner) as client:
        assert client.get(f"/ui/entities/{ada.entity_id}").status_code == 404
        assert client.get(f"/ui/entities?owner={ada.owner}").status_code == 403
        assert "Countess" not in client.get("/ui/entities").text


def test_the_largest_page_is_small(empty_dashboard: Dashboard) -> None:
    memory = empty_dashboard.memory.scope(owner="alice")

    async def fill() -> Entity:
        hub = await memory.entities.upsert("person", "The hub of it all")
        for number in range(120):
            spoke = await memory.entities.upsert("thing", f"Spoke with a long name {number}")
            await memory.entities.relate(hub, spoke, "is connected with")
        return hub

    hub = empty_dashboard.run(fill())
    with empty_dashboard.client("read", owner="alice") as client:
        for address in ("/ui/entities", f"/ui/entities/{hub.entity_id}"):
            answer = client.get(address)
            assert answer.status_code == 200
            assert len(answer.content) < PAGE_MAX_BYTES, address
        assert "are drawn" in answer.text


def test_entities_in_a_browser(open_context: OpenContext, dashboard: Dashboard, ada: Entity) -> None:
    context = open_context(dashboard)
    accessibility.prepare(context)
    page = context.new_page()
    page.goto(f"/ui/entities?owner={ada.owner}")
    check_modes(page)
    page.get_by_label("Beginning of a name").fill("cou")
    expect(page.locator("#found .strong")).to_have_text(["Ada"])
    page.locator("#found a").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Ada")
    expect(page.locator(".nav a[aria-current]")).to_have_text("Entities")
    check_modes(page)
    page.get_by_label("Steps", exact=True).select_option("1")
    expect(page).to_have_url(re.compile("steps=1"))
    # Tab walks through the nodes, Enter opens one.
    page.locator("a.node").first.focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.classList.contains('node')")
    name = page.evaluate("document.activeElement.getAttribute('aria-label').split(',')[0]")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Ada")
    page.get_by_text("relations as a table").click()
    expect(page.get_by_role("cell", name="lives in")).to_be_visible()
