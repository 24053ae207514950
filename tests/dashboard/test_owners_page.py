"""The page Owners: counts, search, export, erasing by the typed name, receipts."""

import json
import re
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

from mnemic.types.key import Role
from tests.dashboard.running import Dashboard

ROLES: tuple[tuple[Role, str | None], ...] = (("read", None), ("write", None), ("write", "alice"))


def retain(dashboard: Dashboard, owner: str, *contents: str) -> None:
    dashboard.run(dashboard.memory.retain(list(contents), owner=owner))


def test_owners_are_listed_with_their_counts_and_searched(empty_dashboard: Dashboard) -> None:
    with empty_dashboard.client() as client:
        assert "Nobody is remembered yet" in client.get("/ui/owners").text
        retain(empty_dashboard, "alice", "One", "Two", "Three")
        retain(empty_dashboard, "<b>bob</b>", "One")
        html = client.get("/ui/owners").text
        assert re.search(r"alice</a></td>\s*<td class=\"right num\">3</td>", html)
        assert "<b>bob" not in html
        assert "&lt;b&gt;bob&lt;/b&gt;" in html
        found = client.get("/ui/owners?prefix=al").text
        assert "alice" in found
        assert "&lt;b&gt;bob&lt;/b&gt;</a>" not in found
        assert "No owner's name starts" in client.get("/ui/owners?prefix=zzz").text
        part = client.get("/ui/owners?order=memories", headers={"X-Fragment": "#owners"}).text
        assert part.index(">alice<") < part.index("&lt;b&gt;bob")
        assert "<h1>" not in part


def test_owners_are_paged(empty_dashboard: Dashboard) -> None:
    for number in range(51):
        retain(empty_dashboard, f"owner {number:02}", "One")
    with empty_dashboard.client() as client:
        first = client.get("/ui/owners").text
        (after,) = re.findall(r'href="([^"]*after=[^"]*)"', first)
        second = client.get(after.replace("&amp;", "&")).text
    assert ">owner 49<" in first
    assert ">owner 50</a>" not in first
    assert ">owner 50</a>" in second


def test_counting_again_counts_large_owners(empty_dashboard: Dashboard) -> None:
    retain(empty_dashboard, "large", *(f"memory {number}" for number in range(1001)))
    with empty_dashboard.client() as client:
        assert "not counted yet" in client.get("/ui/owners").text
        answer = client.post("/ui/owners/count")
        assert answer.status_code == 303
        html = client.get(answer.headers["location"]).text
    assert "Counted 1 owners again" in html
    assert "1,001" in html


def test_an_export_is_the_file_that_the_sdk_writes(empty_dashboard: Dashboard, tmp_path: Path) -> None:
    owner = ' "Zoë/ü" '
    retain(empty_dashboard, owner, "Eins", "Zwei")
    with empty_dashboard.client() as client:
        page = client.get("/ui/owners").text
        (link,) = re.findall(r'href="(/ui/owners/export[^"]*)"', page)
        answer = client.get(link.replace("&amp;", "&"))
        assert answer.status_code == 200
        assert answer.headers["content-disposition"].startswith("attachment;")
        assert quote(owner, safe="") in answer.headers["content-disposition"]
        foreign = client.get(link.replace("&amp;", "&"), headers={"Sec-Fetch-Site": "cross-site"})
        assert foreign.status_code == 403
        assert client.get("/ui/owners/export").status_code == 422
    head, *lines = [json.loads(line) for line in answer.text.splitlines()]
    assert head["owner"] == owner
    run, memory = empty_dashboard.run, empty_dashboard.memory
    run(memory.admin.export(tmp_path / "file", owner=owner))
    written = [json.loads(line) for line in (tmp_path / "file").read_text("utf-8").splitlines()]

    def memories(rows: list[dict[str, object]]) -> list[dict[str, object]]:
        return [row for row in rows if row["table"] == "state.memories"]

    assert memories(lines) == memories(written[1:])
    assert len(memories(lines)) == 2
    outcomes = [each for each in run(memory.audit.list(action="export_owner")) if each.phase == "succeeded"]
    assert [each.target == "download" for each in outcomes] == [False, True]
    assert outcomes[1].detail["rows"]["state.memories"] == 2


def test_an_owner_is_erased_by_its_typed_name_with_a_receipt(empty_dashboard: Dashboard) -> None:
    run, memory = empty_dashboard.run, empty_dashboard.memory
    for owner in ("alice", " alice", "alicia"):
        retain(empty_dashboard, owner, "One", "Two")
    with empty_dashboard.client() as client:
        form = client.get("/ui/owners", params={"erase": " alice"}).text
        assert 'name="name" value=" alice"' in form
        answer = client.post("/ui/owners/erase", data={"name": " alice", "typed": " alice", "mode": "erase"})
        assert answer.status_code == 303
        page = client.get(answer.headers["location"]).text
        (shown,) = re.findall(r"<code data-receipt>([^<]*)</code>", page)
        receipt = run(memory.admin.receipt(shown))
        counts = dict(re.findall(r"<td><code>([^<]*)</code></td><td class=\"right num\">([\d,]*)</td>", page))
        assert {name: int(count.replace(",", "")) for name, count in counts.items()} == {
            name: count for name, count in receipt.rows.items() if count
        }
        outcome, _ = run(memory.audit.list(action="erase_owner"))
        assert (outcome.target, outcome.detail["rows"]) == (shown, receipt.rows)
        assert receipt.rows["state.memories"] == 2
        assert [each.owner for each in run(memory.admin.owner_counts())] == ["alice", "alicia"]
        later = client.get(f"/ui/owners?receipt={shown}").text
        assert shown in later
    assert run(memory.memories.list(owner=" alice", statuses=None)) == []
    assert len(run(memory.memories.list(owner="alice"))) == 2


def test_without_the_typed_name_nothing_is_erased(empty_dashboard: Dashboard) -> None:
    retain(empty_dashboard, "alice", "One")
    with empty_dashboard.client() as client:
        for wrong in (
            {"name": "alice", "mode": "erase"},
            {"name": "alice", "typed": "Alice", "mode": "erase"},
            {"name": "alice", "typed": "alice ", "mode": "erase"},
            {"typed": "alice", "mode": "erase"},
            {"name": "alice", "typed": "alice", "mode": "burn"},
            {},
        ):
            answer = client.post("/ui/owners/erase", data=wrong)
            assert answer.status_code == (415 if not wrong else 422), wrong
            assert answer.headers["content-type"].startswith("text/html")
        cross = {"Sec-Fetch-Site": "cross-site"}
        form = {"name": "alice", "typed": "alice", "mode": "erase"}
        assert client.post("/ui/owners/erase", data=form, headers=cross).status_code == 403
    assert len(empty_dashboard.run(empty_dashboard.memory.memories.list(owner="alice"))) == 1
    assert empty_dashboard.run(empty_dashboard.memory.admin.receipts()) == []


def test_archiving_keeps_the_memories(empty_dashboard: Dashboard) -> None:
    run, memory = empty_dashboard.run, empty_dashboard.memory
    retain(empty_dashboard, "alice", "One", "Two")
    with empty_dashboard.client() as client:
        answer = client.post("/ui/owners/erase", data={"name": "alice", "typed": "alice", "mode": "archive"})
        assert "Receipt: archived" in client.get(answer.headers["location"]).text
    assert run(memory.memories.list(owner="alice")) == []
    archived = run(memory.memories.list(owner="alice", statuses=None))
    assert [record.status for record in archived] == ["archived", "archived"]


def test_only_admins_see_and_use_the_page(empty_dashboard: Dashboard) -> None:
    retain(empty_dashboard, "alice", "One")
    for role, owner in ROLES:
        with empty_dashboard.client(role, owner) as client:
            form = {"name": "alice", "typed": "alice", "mode": "erase"}
            assert client.get("/ui/owners").status_code == 403
            assert client.get("/ui/owners/export?of=alice").status_code == 403
            assert client.post("/ui/owners/erase", data=form).status_code == 403
            assert client.post("/ui/owners/count").status_code == 403
            assert 'data-page="owners"' not in client.get("/ui/events").text
    assert len(empty_dashboard.run(empty_dashboard.memory.memories.list(owner="alice"))) == 1


def test_bad_fields_get_a_page_that_says_what_is_wrong(empty_dashboard: Dashboard) -> None:
    retain(empty_dashboard, "alice", "One")
    with empty_dashboard.client() as client:
        for address, status in (
            ("/ui/owners?order=size", 422),
            ("/ui/owners?receipt=x", 422),
            (f"/ui/owners?receipt={uuid4()}", 404),
            ("/ui/owners?order=memories&after=nobody", 404),
            ("/ui/owners?prefix=%00", 422),
        ):
            answer = client.get(address)
            assert (answer.status_code, address) == (status, address)
            assert answer.headers["content-type"].startswith("text/html")
            assert "Traceback" not in answer.text
