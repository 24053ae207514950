"""The pages Memories and Memory over HTTP: what they show, and every act, seen and then in the database."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

import httpx
import pytest

from mnemic.dashboard.highlighting import highlighted
from mnemic.sdk.memory import AsyncMemory
from tests.dashboard.running import Dashboard
from tests.dashboard.waiting_things import fresh_owner, text_of

PAGE_MAX_BYTES = 60_000
TEA = "Ann likes tea & <b>cake</b>."
ACTS = ("edit", "anchor", "forget", "restore", "revert", "supersede", "tag", "untag")


@pytest.fixture(scope="module")
def client(dashboard: Dashboard) -> Iterator[httpx.Client]:
    with dashboard.client() as opened:
        yield opened


@pytest.fixture
def own(dashboard: Dashboard) -> AsyncMemory:
    return fresh_owner(dashboard)


def stored(dashboard: Dashboard, own: AsyncMemory, content: str, **fields: Any) -> UUID:
    found: UUID = dashboard.run(own.retain(content, **fields)).memory_ids[0]
    return found


def opened(client: httpx.Client, own: AsyncMemory, path: str = "memories", **fields: Any) -> str:
    answer = client.get(f"/ui/{path}", params={"owner": own.owner, **fields})
    assert answer.status_code == 200, answer.text
    assert len(answer.content) < PAGE_MAX_BYTES
    return answer.text


def test_a_refused_filter_replaces_the_list_only(client: httpx.Client, own: AsyncMemory) -> None:
    fields = {"owner": own.owner, "min_confidence": "7"}
    answer = client.get("/ui/memories", params=fields, headers={"X-Fragment": "#list"})
    assert answer.status_code == 422
    assert "min_confidence must be a number" in answer.text
    for part in ("<html", "<nav", "<main", "<title"):
        assert part not in answer.text


def test_a_page_of_long_memories_is_bounded(
    client: httpx.Client, dashboard: Dashboard, own: AsyncMemory
) -> None:
    """`opened` checks the size."""
    conversation = "A conversation with a long name about the plans for the next three summers in the north"
    tags = [f"a rather long tag {number}" for number in range(12)]
    texts = [f"{number}: {'A long text that nobody reads to its end. ' * 20}" for number in range(51)]
    turns = [{"role": "user", "name": "Ann-Sophie", "content": text, "tags": tags} for text in texts]
    dashboard.run(own.retain_many(turns, conversation=conversation))
    html = opened(client, own)
    assert html.count("data-row") == 50
    assert "and 11 more" in text_of(html)
    more = re.findall(r'href="([^"]+)" data-append', html)
    assert len(more) == 1
    (tag,) = set(re.findall(r'class="tag" href="([^"]+)"', html))
    filtered = client.get("/ui/memories" + unescape(tag))
    assert filtered.text.count("data-row") == 50


def sent(
    client: httpx.Client, own: AsyncMemory, memory_id: UUID, name: str, fields: dict[str, Any]
) -> httpx.Response:
    """Send a form as a browser does, which also says of an empty one that it is a form."""
    return client.post(
        f"/ui/memories/{memory_id}/{name}",
        params={"owner": own.owner},
        content=urlencode(fields),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )


def act(client: httpx.Client, own: AsyncMemory, memory_id: UUID, name: str, **fields: Any) -> str:
    """Send the form of an act; returns the page that follows."""
    answer = sent(client, own, memory_id, name, fields)
    assert answer.status_code == 303, text_of(answer.text)
    return client.get(answer.headers["location"]).text


def rows_of(page: str) -> list[str]:
    """The texts of the rows, without the marks of words."""
    found = re.findall(r"<a class=\"row-link clamp\"[^>]*>(.*?)</a>", page, re.S)
    return [unescape(re.sub(r"</?mark>", "", each)) for each in found]


def test_the_list_is_searched_filtered_and_counted(
    client: httpx.Client, dashboard: Dashboard, own: AsyncMemory, subtests: pytest.Subtests
) -> None:
    stored(dashboard, own, "Ann moved to Berlin.", tags=["home"])
    stored(dashboard, own, TEA, category="preference", tags=["food"])
    turn = {"role": "user", "name": "Bo", "content": "I play the cello in Berlin."}
    dashboard.run(own.retain([turn], conversation="a talk"))
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({}, ["I play the cello in Berlin.", TEA, "Ann moved to Berlin."]),
        ({"order": "oldest", "q": "Berlin"}, ["Ann moved to Berlin.", "I play the cello in Berlin."]),
        ({"q": "moving"}, ["Ann moved to Berlin."]),
        ({"q": "cel"}, ["I play the cello in Berlin."]),
        ({"category": "preference"}, [TEA]),
        ({"tag": "home"}, ["Ann moved to Berlin."]),
        ({"speaker": "name:Bo"}, ["I play the cello in Berlin."]),
        ({"speaker": "role:user", "source": "user_provided"}, ["I play the cello in Berlin."]),
        ({"conversation": "a talk"}, ["I play the cello in Berlin."]),
        ({"as_of": "2020-01-01"}, []),
        (
            {
                "min_confidence": "0.5",
                "never_recalled": "yes",
                "category": "preference",
                "since": "2020-01-01",
            },
            [TEA],
        ),
        ({"status": "archived"}, []),
    ]
    for fields, expected in cases:
        with subtests.test(fields=fields):
            page = opened(client, own, **fields)
            assert rows_of(page) == expected
            count = f"{len(expected)} {'memory' if len(expected) == 1 else 'memories'}"
            assert count in text_of(page) if expected else "No memory" in page
    page = opened(client, own, q="Berlin")
    assert "<mark>Berlin</mark>" in page
    assert "speaker=name%3ABo" in page
    assert "<b>cake" not in opened(client, own)


def test_a_long_list_has_pages(client: httpx.Client, dashboard: Dashboard, own: AsyncMemory) -> None:
    dashboard.run(own.retain_many(f"Fact number {number}" for number in range(60)))
    first = opened(client, own)
    more = re.search(r'href="(/ui/memories\?[^"]*before=[^"]*)" data-append="#rows"', first)
    assert more is not None
    address = more[1].replace("&amp;", "&")
    rest = client.get(address).text
    seen = rows_of(first) + rows_of(rest)
    assert (len(rows_of(first)), len(seen), len(set(seen))) == (50, 60, 60)
    assert "Back to the first page" in rest
    fragment = client.get(address, headers={"X-Fragment": "#rows"}).text
    assert rows_of(fragment) == rows_of(rest)
    assert "<html" not in fragment
    assert "<h1" not in client.get(address, headers={"X-Fragment": "#list"}).text


def test_empty_lists_say_what_to_do(client: httpx.Client, own: AsyncMemory) -> None:
    assert "mnemic retain" in opened(client, own)
    assert "Ask the same in Recall" in opened(client, own, q="xyzzy")
    assert "Show all memories" in opened(client, own, tag="nothing")


def test_a_memory_is_edited_reverted_and_undone(
    client: httpx.Client, dashboard: Dashboard, own: AsyncMemory
) -> None:
    memory_id = stored(dashboard, own, "Ann lives in Hamburg.")
    page = act(client, own, memory_id, "edit", content="Ann lives in Berlin now.", reason="she moved")
    assert "Saved as version 2." in page
    assert "<del>Hamburg</del>" in page
    assert "<ins>Berlin now</ins>" in page
    assert "she moved" in page
    current = dashboard.run(own.memories.get(memory_id))
    assert (current.content, current.version) == ("Ann lives in Berlin now.", 2)
    assert f"/ui/memories/{memory_id}/revert" in page, "the notice has an undo"
    old = opened(client, own, f"memories/{memory_id}", version=1)
    assert "This is version 1 of 2" in old
    assert "Make it current again" in old
    assert "Version 1 is the current one again." in act(client, own, memory_id, "revert", version="1")
    assert dashboard.run(own.memories.get(memory_id)).content == "Ann lives in Hamburg."
    assert "Nothing was changed" in act(client, own, memory_id, "edit", content="Ann lives in Hamburg.")


def test_an_edit_keeps_the_line_ends_and_blanks_that_nobody_edited(
    client: httpx.Client, dashboard: Dashboard, own: AsyncMemory
) -> None:
    """Browsers send line ends as two characters, and drop the first one of a text area."""
    for text in ("Milk\nBread", "Milk\r\nBread", "Milk\nBread  "):
        memory_id = stored(dashboard, own, text)
        before = dashboard.run(own.memories.get(memory_id))
        assert "Nothing was changed" in act(client, own, memory_id, "edit", content="Milk\r\nBread")
        assert dashboard.run(own.memories.get(memory_id)) == before
    act(client, own, memory_id, "edit", content="Milk\r\nButter")
    assert dashboard.run(own.memories.get(memory_id)).content == "Milk\nButter"


def test_an_edit_of_an_old_version_is_refused(
    client: httpx.Client, dashboard: Dashboard, own: AsyncMemory
) -> None:
    memory_id = stored(dashboard, own, "Ann lives in Hamburg.")
    act(client, own, memory_id, "edit", content="Ann lives in Berlin.", version="1")
    late = client.post(
        f"/ui/memories/{memory_id}/edit?owner={own.owner}",
        data={"content": "Ann lives in Bonn.", "version": "1"},
    )
    assert late.status_code == 409
    assert "Somebody saved version 2 while you edited version 1." in late.text
    assert dashboard.run(own.memories.get(memory_id)).content == "Ann lives in Berlin."


def test_a_memory_is_forgotten_and_restored(
    client: httpx.Client, dashboard: Dashboard, own: AsyncMemory
) -> None:
    memory_id = stored(dashboard, own, "Ann plays golf.")
    page = act(client, own, memory_id, "forget", reason="a joke")
    assert "Forgotten: it is no longer recalled." in page
    assert dashboard.run(own.memories.get(memory_id)).deleted_at is not None
    assert rows_of(opened(client, own)) == []
    assert rows_of(opened(client, own, status="any")) == ["Ann plays golf."]
    assert "Restored" in act(client, own, memory_id, "restore")
    assert dashboard.run(own.memories.get(memory_id)).deleted_at is None


def test_a_memory_is_superseded(client: httpx.Client, dashboard: Dashboard, own: AsyncMemory) -> None:
    memory_id = stored(dashboard, own, "Ann works at Acme.")
    page = act(client, own, memory_id, "supersede", content="Ann works at Globex.", valid_from="2026-01-01")
    assert "took the place of the old one" in page
    old = dashboard.run(own.memories.get(memory_id))
    assert old.status == "superseded"
    assert "Ann works at Globex.</a> took its place" in opened(client, own, f"memories/{memory_id}")
    assert "It replaced" in opened(client, own, f"memories/{old.superseded_by}")


def test_a_memory_is_tagged_and_anchored(
    client: httpx.Client, dashboard: Dashboard, own: AsyncMemory
) -> None:
    memory_id = stored(dashboard, own, "Ann is allergic to nuts.")
    assert "#health" in act(client, own, memory_id, "tag", tag="Health")
    assert dashboard.run(own.memories.get(memory_id)).tags == ("health",)
    assert "Removed the tag" in act(client, own, memory_id, "untag", tag="health")
    assert dashboard.run(own.memories.get(memory_id)).tags == ()
    assert "Remove the anchor" in act(client, own, memory_id, "anchor", anchored="yes")
    assert dashboard.run(own.memories.get(memory_id)).anchored
    act(client, own, memory_id, "anchor", anchored="no")
    assert not dashboard.run(own.memories.get(memory_id)).anchored


def test_a_memory_shows_where_it_comes_from_and_what_was_made_of_it(
    client: httpx.Client, dashboard: Dashboard, own: AsyncMemory
) -> None:
    turns = [
        {"role": "user", "name": "Ann", "content": text} for text in ("Hello!", "I live in Lisbon.", "Bye!")
    ]
    ids = dashboard.run(own.retain(turns, conversation="first talk")).memory_ids
    dashboard.run(own.consolidate())
    (statement,) = dashboard.run(own.statements.list())
    dashboard.run(own.memories.relate(ids[0], ids[2], "co_occurs"))
    page = opened(client, own, f"memories/{statement.memory_id}")
    assert "I live in Lisbon." in page
    assert f"/ui/memories/{ids[1]}" in page
    turn = opened(client, own, f"memories/{ids[1]}")
    assert "Understood from it" in turn
    assert f"/ui/memories/{statement.memory_id}" in turn
    assert "Hello!" in turn
    assert "Bye!" in turn
    assert "co occurs" in opened(client, own, f"memories/{ids[0]}")


def test_bad_addresses_and_fields_are_pages_that_say_so(
    client: httpx.Client, dashboard: Dashboard, own: AsyncMemory, subtests: pytest.Subtests
) -> None:
    memory_id = stored(dashboard, own, "x")
    gets: list[tuple[str, dict[str, str], int, str]] = [
        ("memories/no-id", {}, 422, "memory_id"),
        (f"memories/{uuid4()}", {}, 404, "no memory"),
        (f"memories/{memory_id}", {"version": "9"}, 404, "no version 9"),
        (f"memories/{memory_id}", {"version": "x"}, 422, "version"),
        ("memories", {"status": "odd"}, 422, "status"),
        ("memories", {"before": "odd"}, 422, "before"),
        ("memories", {"speaker": "Alice"}, 422, "name:Alice"),
        ("memories", {"as_of": "never"}, 422, "as_of"),
        ("memories", {"q": "x" * 500}, 422, "400"),
        ("memories", {"min_confidence": "much"}, 422, "min_confidence"),
        ("memories", {"order": "salience", "as_of": "2026-01-01"}, 422, "salience"),
        ("memories", {"tag": "x" * 500}, 422, "tag"),
    ]
    for path, fields, status, said in gets:
        with subtests.test(path=path, fields=fields):
            answer = client.get(f"/ui/{path}", params={"owner": own.owner, **fields})
            assert answer.status_code == status, text_of(answer.text)
            assert answer.headers["content-type"].startswith("text/html")
            assert said in text_of(answer.text)
    posts: list[tuple[str, dict[str, str], int]] = [
        ("edit", {}, 422),
        ("edit", {"content": "y", "category": "odd"}, 422),
        ("revert", {"version": "7"}, 404),
        ("revert", {}, 422),
        ("supersede", {"content": "y", "valid_from": "soon"}, 422),
        ("tag", {}, 422),
        ("tag", {"tag": "t" * 65}, 422),
        ("anchor", {"anchored": "perhaps"}, 422),
        ("forget", {"reason": "r" * 2000}, 422),
    ]
    for name, fields, status in posts:
        with subtests.test(act=name, fields=fields):
            answer = sent(client, own, memory_id, name, fields)
            assert answer.status_code == status, text_of(answer.text)
            assert answer.headers["content-type"].startswith("text/html")
    assert dashboard.run(own.memories.get(memory_id)).version == 1


def test_a_reader_sees_no_acts_and_may_do_none(
    dashboard: Dashboard, own: AsyncMemory, subtests: pytest.Subtests
) -> None:
    memory_id = stored(dashboard, own, "Ann reads.", tags=["books"])
    with dashboard.client("read") as reader:
        page = opened(reader, own, f"memories/{memory_id}")
        assert re.findall(r'method="post" action="(/ui/memories/[^"]*)"', page) == []
        for name in ACTS:
            with subtests.test(act=name):
                fields = {"content": "x", "version": "1", "tag": "t"}
                answer = sent(reader, own, memory_id, name, fields)
                assert answer.status_code == 403
                assert answer.headers["content-type"].startswith("text/html")
    assert dashboard.run(own.memories.get(memory_id)).version == 1


def test_a_bound_owner_sees_and_changes_only_its_own(dashboard: Dashboard, own: AsyncMemory) -> None:
    other = fresh_owner(dashboard)
    mine, theirs = stored(dashboard, own, "Mine."), stored(dashboard, other, "Theirs.")
    with dashboard.client("write", own.owner) as bound:
        assert rows_of(bound.get("/ui/memories").text) == ["Mine."]
        assert bound.get("/ui/memories", params={"owner": other.owner}).status_code == 403
        assert bound.get(f"/ui/memories/{theirs}").status_code == 404
        assert bound.post(f"/ui/memories/{theirs}/forget", data={"reason": "x"}).status_code == 404
        assert bound.post(f"/ui/memories/{mine}/forget", data={"reason": "x"}).status_code == 303
    assert dashboard.run(other.memories.get(theirs)).deleted_at is None
    assert dashboard.run(own.memories.get(mine)).deleted_at is not None


def test_words_are_marked_in_all_their_forms() -> None:
    assert highlighted("Moved, moving and removed", ["moves"]) == [
        (True, "Moved"),
        (False, ", "),
        (True, "moving"),
        (False, " and removed"),
    ]
    assert highlighted("nothing", []) == [(False, "nothing")]
    assert highlighted("Mara, marathon", ["mara"]) == [(True, "Mara"), (False, ", marathon")]
    assert highlighted("a marathon", ["mara*"]) == [(False, "a "), (True, "marathon")]
