"""The page Recall over HTTP: hits with their parts, refusals, and answers as of a time."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import httpx
import pytest

from mnemic.dashboard.score_parts import stacked, waterfall
from mnemic.sdk.memory import AsyncMemory
from tests.dashboard.running import Dashboard
from tests.dashboard.waiting_things import fresh_owner, text_of


@pytest.fixture(scope="module")
def client(dashboard: Dashboard) -> Iterator[httpx.Client]:
    with dashboard.client() as opened:
        yield opened


@pytest.fixture(scope="module")
def own(dashboard: Dashboard) -> AsyncMemory:
    own = fresh_owner(dashboard)
    dashboard.run(
        own.retain(["Ann plays the cello.", "Bo bakes bread <script>on</script> Sundays.", "Cleo swims."])
    )
    return own


def asked(client: httpx.Client, own: AsyncMemory, **fields: Any) -> str:
    answer = client.get("/ui/recall", params={"owner": own.owner, **fields})
    assert answer.status_code == 200, text_of(answer.text)
    assert len(answer.content) < 60_000
    return answer.text


def hits_of(page: str) -> list[str]:
    found = re.findall(r"<a class=\"row-link anywhere\"[^>]*>(.*?)</a>", page, re.S)
    return [unescape(re.sub(r"</?mark>", "", each)) for each in found]


def test_without_a_question_the_page_says_what_to_do(client: httpx.Client, own: AsyncMemory) -> None:
    assert "Ask something" in asked(client, own)


def test_hits_are_shown_with_parts_confidence_and_stages(client: httpx.Client, own: AsyncMemory) -> None:
    page = asked(client, own, q="Who plays the cello?")
    assert hits_of(page)[0] == "Ann plays the cello."
    assert "<mark>cello</mark>" in page
    assert 'class="parts"' in page
    for part in ("Why here?", "Its parts", "refuses below 0.25", "Stages", "Candidates", "found by"):
        assert part in text_of(page)
    assert "<script>on" not in asked(client, own, q="Who bakes bread?")


def test_a_refusal_shows_what_it_would_have_answered(client: httpx.Client, own: AsyncMemory) -> None:
    page = asked(client, own, q="zyx quux", refuse_below="0.9")
    assert "Refused." in page
    assert hits_of(page) == []
    link = re.search(r'href="([^"]*refuse_below=0[^"]*)" data-swap="#found"', page)
    assert link is not None
    would = client.get(link[1].replace("&amp;", "&"), headers={"X-Fragment": "#found"})
    assert would.status_code == 200
    assert hits_of(would.text)
    assert "<h1" not in would.text


def test_options_are_obeyed(client: httpx.Client, dashboard: Dashboard, own: AsyncMemory) -> None:
    assert (
        len(hits_of(asked(client, own, q="Ann cello Bo bread Cleo swims", limit="5", refuse_below="0"))) == 3
    )
    by_words = asked(client, own, q="cello", technique="text", refuse_below="0")
    assert hits_of(by_words) == ["Ann plays the cello."]
    assert "found by text" in text_of(by_words)
    past = asked(client, own, q="cello", as_of="2020-01-01")
    assert hits_of(past) == []
    assert "as of 1 Jan 2020" in text_of(past)
    assert hits_of(asked(client, own, q="cello", day="-30")) == []
    assert 'type="range" name="day"' in past


def test_asking_counts_as_no_recall(client: httpx.Client, dashboard: Dashboard, own: AsyncMemory) -> None:
    for _ in range(3):
        asked(client, own, q="cello")
    assert [each.retrieval_count for each in dashboard.run(own.memories.list())] == [0, 0, 0]


@pytest.mark.parametrize(
    "fields",
    [
        {"limit": "7"},
        {"technique": "magic"},
        {"technique": "neighbours"},
        {"as_of": "soon"},
        {"day": "1"},
        {"day": "x"},
        {"refuse_below": "2"},
        {"q": "x" * 4001},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_bad_fields_are_a_page_that_says_so(
    client: httpx.Client, own: AsyncMemory, fields: dict[str, str]
) -> None:
    answer = client.get("/ui/recall", params={"owner": own.owner, "q": "cello", **fields})
    assert answer.status_code == 422, text_of(answer.text)
    assert answer.headers["content-type"].startswith("text/html")
    assert next(iter(fields)) in answer.text


def test_a_bound_reader_asks_only_its_own_memories(dashboard: Dashboard, own: AsyncMemory) -> None:
    with dashboard.client("read", own.owner) as bound:
        page = bound.get("/ui/recall", params={"q": "cello"})
        assert hits_of(page.text)[0] == "Ann plays the cello."
        assert bound.get("/ui/recall", params={"q": "cello", "owner": "mara"}).status_code == 403


def test_the_parts_of_a_score_are_drawn_to_scale(dashboard: Dashboard, own: AsyncMemory) -> None:
    found = dashboard.run(own.recall("Who plays the cello?", explain=True))
    first = stacked(found[0], 10.0)
    assert all(0 <= each.x <= 100 and each.x + each.width <= 100.1 for each in first)
    drawn = waterfall({"words": 4.0, "meaning": 2.0, "length": -1.0})
    assert [(each.name, each.family) for each in drawn] == [
        ("words", "words"),
        ("meaning", "meaning"),
        ("length", "against"),
    ]
    assert [round(each.width) for each in drawn] == [67, 33, 17]
    assert round(drawn[2].x) == 83
