"""The page Metrics: what was called, as charts and as a table."""

import re

from playwright.sync_api import Page, expect

from tests.dashboard.running import Dashboard


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def test_the_page_shows_what_the_series_counts(dashboard: Dashboard) -> None:
    memory = dashboard.memory.scope(owner=dashboard.owner)
    for query in ("Where does Mara live?", "quantum chromodynamics"):
        dashboard.run(memory.recall(query))
    series = dashboard.run(memory.metrics.series())
    totals = series.totals
    with dashboard.client("read") as client:
        for span, title in (("24h", "24 hours"), ("7d", "7 days"), ("30d", "30 days")):
            answer = client.get("/ui/metrics", params={"span": span})
            assert answer.status_code == 200
            text = text_of(answer.text)
            assert f"All calls of the last {title}" in text
            assert f"Recalls {totals['recall'].call_count} " in text
            assert f"{totals['recall'].refused_count} refused" in text
            assert f"Memories stored {totals['retain'].memory_count}" in text
            assert "refused below 0.25" in text
            assert len(answer.content) < 60_000
            assert " style=" not in answer.text
        table = text_of(client.get("/ui/metrics?view=table").text)
        point = next(point for point in reversed(series.points) if point.calls["recall"].call_count)
        assert f"{point.at:%d %b %H:%M} {point.calls['recall'].call_count} " in table


def test_a_tenant_without_calls_says_what_to_do(empty_dashboard: Dashboard) -> None:
    with empty_dashboard.client() as client:
        assert "No calls in the last 7 days" in client.get("/ui/metrics?span=7d").text


def test_bad_spans_and_bound_keys_get_a_page_that_says_why(dashboard: Dashboard) -> None:
    with dashboard.client() as client:
        answer = client.get("/ui/metrics?span=1y")
        assert (answer.status_code, "span must be one of: 24h, 7d, 30d" in answer.text) == (422, True)
        assert answer.headers["content-type"].startswith("text/html")
    with dashboard.client("write", owner=dashboard.owner) as bound:
        refused = bound.get("/ui/metrics")
        assert (refused.status_code, refused.headers["content-type"][:9]) == (403, "text/html")


def test_times_and_views_are_chosen_by_links_and_stand_in_the_address(
    page: Page, dashboard: Dashboard
) -> None:
    memory = dashboard.memory.scope(owner=dashboard.owner)
    dashboard.run(memory.recall("Where does Mara live?"))
    page.goto("/ui/metrics")
    expect(page.locator("svg.time-plot").first).to_be_visible()
    page.get_by_role("link", name="7 days").click()
    expect(page).to_have_url(re.compile("span=7d"))
    expect(page.get_by_text("All calls of the last 7 days")).to_be_visible()
    page.get_by_role("link", name="Table").click()
    expect(page).to_have_url(re.compile("span=7d.*view=table|view=table.*span=7d"))
    count = dashboard.run(memory.metrics.series(hours=168)).totals["recall"].call_count
    cells = page.locator("table").first.locator("tbody tr td:nth-child(2)")
    assert sum(int(text) for text in cells.all_inner_texts()) == count
    page.go_back()
    expect(page.locator("svg.time-plot").first).to_be_visible()
