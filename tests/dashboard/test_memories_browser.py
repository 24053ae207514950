"""Memories, Memory and Recall in a browser: typing and keys; each act is checked in the database."""

import re

from playwright.sync_api import Page, Route, expect

from mnemic.types.memory import MemoryRecord
from tests.dashboard.browsing import Reports
from tests.dashboard.running import Dashboard
from tests.dashboard.waiting_things import fresh_owner


def test_memories_are_searched_opened_and_changed_with_keys(page: Page, dashboard: Dashboard) -> None:
    own = fresh_owner(dashboard)
    (memory_id,) = dashboard.run(own.retain("Ann lives in Hamburg.", tags=["home"])).memory_ids
    dashboard.run(own.retain("Bo bakes bread."))
    page.goto(f"/ui/memories?owner={own.owner}")
    rows = page.locator("a[data-row]")
    expect(rows).to_have_count(2)
    page.keyboard.press("/")
    page.keyboard.type("hamb")
    # A search for the first letters may come before.
    expect(page).to_have_url(re.compile("q=hamb(&|$)"))
    expect(rows).to_have_text(["Ann lives in Hamburg."])
    expect(page.locator("mark")).to_have_text("Hamburg")
    page.locator("body").click()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Ann lives in Hamburg.")

    page.get_by_text("Edit", exact=True).click()
    page.get_by_label("Text").fill("Ann lives in Berlin.")
    page.get_by_role("button", name="Save as version 2").click()
    expect(page.locator(".notice")).to_contain_text("Saved as version 2.")
    expect(page.locator("ins").first).to_have_text("Berlin")
    assert dashboard.run(own.memories.get(memory_id)).content == "Ann lives in Berlin."
    page.locator("h1").click()
    page.keyboard.press("u")
    expect(page.locator("h1")).to_have_text("Ann lives in Hamburg.")
    assert dashboard.run(own.memories.get(memory_id)).content == "Ann lives in Hamburg."

    page.locator("h1").click()
    page.keyboard.press("d")
    page.get_by_role("button", name="Forget it").click()
    expect(page.locator(".alert")).to_contain_text("Forgotten")
    assert dashboard.run(own.memories.get(memory_id)).deleted_at is not None
    page.locator("h1").click()
    page.keyboard.press("a")
    expect(page.locator(".notice")).to_contain_text("Restored")
    assert dashboard.run(own.memories.get(memory_id)).deleted_at is None


def test_a_memory_is_tagged_anchored_reverted_and_superseded(page: Page, dashboard: Dashboard) -> None:
    own = fresh_owner(dashboard)
    (memory_id,) = dashboard.run(own.retain("Ann lives in Hamburg.")).memory_ids
    dashboard.run(own.memories.update(memory_id, content="Ann lives in Berlin."))
    page.goto(f"/ui/memories/{memory_id}?owner={own.owner}")
    said = page.locator(".notice")

    def now() -> MemoryRecord:
        record: MemoryRecord = dashboard.run(own.memories.get(memory_id))
        return record

    page.get_by_label("New tag").fill("home")
    page.get_by_role("button", name="Add").click()
    expect(said).to_contain_text("Tagged home.")
    assert now().tags == ("home",)
    page.get_by_role("button", name="Remove the tag home").click()
    expect(said).to_contain_text("Removed the tag home.")
    assert now().tags == ()
    page.get_by_role("button", name="Anchor").click()
    expect(said).to_contain_text("Anchored")
    assert now().anchored
    page.get_by_role("button", name="Undo").click()
    expect(said).to_contain_text("No longer anchored.")
    assert not now().anchored

    page.get_by_role("link", name="v1", exact=True).click()
    expect(page.locator("h1")).to_have_text("Ann lives in Hamburg.")
    page.get_by_role("button", name="Make it current again").click()
    expect(said).to_contain_text("Version 1 is the current one again.")
    assert now().content == "Ann lives in Hamburg."

    page.get_by_text("Supersede", exact=True).first.click()
    page.get_by_label("What holds now").fill("Ann lives in Lisbon.")
    page.get_by_label("Since").fill("2026-05-01")
    page.get_by_role("button", name="Supersede").click()
    expect(page.locator("h1")).to_have_text("Ann lives in Lisbon.")
    (new,) = dashboard.run(own.memories.list())
    assert (new.content, now().status, now().superseded_by) == (
        "Ann lives in Lisbon.",
        "superseded",
        new.memory_id,
    )
    page.get_by_role("link", name="Ann lives in Hamburg.").first.click()
    expect(page.locator(".alert")).to_contain_text("No longer holds: Ann lives in Lisbon.")


def test_a_memory_leads_to_the_entities_that_it_mentions(page: Page, dashboard: Dashboard) -> None:
    own = fresh_owner(dashboard)
    dashboard.run(own.entities.upsert("person", "Ann"))
    (memory_id,) = dashboard.run(own.retain("Ann lives in Hamburg.")).memory_ids
    page.goto(f"/ui/memories/{memory_id}?owner={own.owner}")
    page.get_by_role("link", name="Ann person").click()
    expect(page.locator("h1")).to_have_text("Ann")
    expect(page.locator("#mentions")).to_contain_text("Ann lives in Hamburg.")


def test_a_slow_or_silent_server_is_shown(page: Page, dashboard: Dashboard, reports: Reports) -> None:
    reports.allow("ERR_FAILED")
    own = fresh_owner(dashboard)
    dashboard.run(own.retain("Ann lives in Hamburg."))
    page.goto(f"/ui/memories?owner={own.owner}")
    held: list[Route] = []
    page.route("**/ui/recall*", lambda route: held.append(route))
    page.locator(".nav a[data-page=recall]").click()
    expect(page.locator("#busy.on")).to_be_attached()
    held[0].continue_()
    expect(page.locator("h1")).to_have_text("Recall")
    expect(page.locator("#busy.on")).not_to_be_attached()
    page.route("**/ui/memories*", lambda route: route.abort())
    page.locator(".nav a[data-page=memories]").click()
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer.")
    page.unroute("**/ui/memories*")
    page.locator(".nav a[data-page=memories]").click()
    expect(page.locator("a[data-row]")).to_have_text(["Ann lives in Hamburg."])


def test_a_form_that_is_refused_keeps_what_was_written(
    page: Page, dashboard: Dashboard, reports: Reports
) -> None:
    reports.allow("status of 422")
    own = fresh_owner(dashboard)
    (memory_id,) = dashboard.run(own.retain("Ann lives in Hamburg.")).memory_ids
    page.goto(f"/ui/memories/{memory_id}?owner={own.owner}")
    page.get_by_text("Edit", exact=True).click()
    for length in (9000, 8500):
        page.get_by_label("Text").fill("x" * length)
        page.get_by_role("button", name="Save as version 2").click()
        expect(page.locator("form .alert")).to_contain_text("8,192")
        expect(page.get_by_label("Text")).to_have_value("x" * length)
    page.get_by_label("Text").fill("Ann lives in Berlin.")
    page.get_by_role("button", name="Save as version 2").click()
    expect(page.locator(".notice")).to_contain_text("Saved as version 2.")
    assert dashboard.run(own.memories.get(memory_id)).content == "Ann lives in Berlin."


def test_questions_are_answered_while_somebody_types(page: Page, dashboard: Dashboard) -> None:
    own = fresh_owner(dashboard)
    dashboard.run(own.retain(["Ann plays the cello.", "Bo bakes bread."]))
    page.goto(f"/ui/recall?owner={own.owner}")
    page.get_by_label("Question").press_sequentially("Who plays the cello?")
    # The answer to the first words may come before that to all of them.
    expect(page).to_have_url(re.compile(r"q=Who\+plays\+the\+cello%3F(&|$)"))
    first = page.locator("a[data-row]").first
    expect(first).to_have_text("Ann plays the cello.")
    page.get_by_text("Why here?").first.click()
    expect(page.locator(".waterfall").first).to_be_visible()
    page.get_by_label("Question").fill("zyx quux")
    page.get_by_label("Refuse below, 0 to 1").fill("0.95")
    expect(page).to_have_url(re.compile(r"refuse_below=0\.95(&|$)"))
    expect(page.get_by_text("Refused.")).to_be_visible()
    page.get_by_text("Show what it would have answered").click()
    expect(first).to_be_visible()
    expect(page).to_have_url(re.compile("refuse_below=0(&|$)"))
    assert [each.retrieval_count for each in dashboard.run(own.memories.list())] == [0, 0]


def test_recall_is_asked_as_of_a_time_with_chosen_techniques_and_hits(
    page: Page, dashboard: Dashboard
) -> None:
    own = fresh_owner(dashboard)
    dashboard.run(own.retain(["Ann plays the cello.", *(f"Ann bought cello number {n}." for n in range(9))]))
    page.goto(f"/ui/recall?owner={own.owner}&q=cello")
    rows = page.locator("#found a[data-row]")
    expect(rows).to_have_count(10)
    page.locator("#limit").select_option("5")
    expect(rows).to_have_count(5)
    for name in ("vector", "graph", "time", "neighbours"):
        page.get_by_role("checkbox", name=name).uncheck()
    expect(page.locator("#found li").first).to_contain_text("found by text")
    expect(page.locator("#found li").first).not_to_contain_text("vector")
    expect(page).to_have_url(re.compile("technique=text"))
    # The slider reaches to the first memory: a day ago, nothing was known yet.
    slider = page.get_by_role("slider", name="As of, in days before now")
    slider.focus()
    slider.press("ArrowLeft")
    expect(rows).to_have_count(0)
    expect(page.locator("#found")).to_contain_text("as of")
    expect(page).to_have_url(re.compile("day=-1(&|$)"))
    slider.press("ArrowRight")
    expect(rows).to_have_count(5)
    page.get_by_label("or as of the date").fill("2020-01-01")
    expect(page.locator("#found")).to_contain_text("as of 1 Jan 2020")
    expect(rows).to_have_count(0)
