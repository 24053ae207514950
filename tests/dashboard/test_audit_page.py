"""The page Audit: operations with their outcomes, filters in the URL, paging."""

import re
from uuid import uuid4

import httpx
import pytest

from mnemic.errors import NotFoundError
from tests.dashboard.running import Dashboard


def actions_of(client: httpx.Client, **filters: str) -> list[str]:
    answer = client.get("/ui/audit", params=filters)
    assert answer.status_code == 200, answer.text
    return re.findall(r"<td><strong>([^<]*)</strong>", answer.text)


def test_operations_are_shown_with_key_and_outcome(empty_dashboard: Dashboard) -> None:
    with empty_dashboard.client() as client:
        client.post("/ui/keys", data={"role": "read", "name": "a reader"})
        assert actions_of(client) == ["create key", "open session", "create key"]
        page = client.get("/ui/audit").text
        assert page.count(">succeeded</span>") == 3
        assert actions_of(client, action="open_session") == ["open session"]
        assert actions_of(client, outcome="succeeded") == ["create key", "open session", "create key"]
        assert actions_of(client, outcome="failed") == []
        assert actions_of(client, since="2100-01-01") == []
        assert actions_of(client, until="2100-01-01", since="2020-01-01") != []
        assert "No acts match" in client.get("/ui/audit?outcome=unfinished").text


def test_failures_are_found(empty_dashboard: Dashboard) -> None:
    memory = empty_dashboard.memory.scope(owner="alice")
    with empty_dashboard.client() as client:
        with pytest.raises(NotFoundError):
            empty_dashboard.run(memory.entities.delete(str(uuid4())))
        (failed,) = empty_dashboard.run(empty_dashboard.memory.audit.operations(outcome="failed"))
        assert (failed.action, failed.outcome, failed.result["error"]) == (
            "delete_entity",
            "failed",
            "NotFoundError",
        )
        assert actions_of(client, outcome="failed") == ["delete entity"]


def test_bad_filters_get_a_page_that_says_so(empty_dashboard: Dashboard) -> None:
    with empty_dashboard.client() as client:
        for field, value in (
            ("outcome", "x"),
            ("since", "yesterday-ish"),
            ("before", "x"),
            ("before", "0199f3a2-5b7c-7d10-8a42-1f0e9c3b7d55"),
            ("action", "x" * 300),
        ):
            answer = client.get("/ui/audit", params={field: value})
            assert answer.status_code in (404, 422)
            assert answer.headers["content-type"].startswith("text/html")


def test_operations_are_paged(empty_dashboard: Dashboard) -> None:
    with empty_dashboard.client() as client:
        for number in range(60):
            empty_dashboard.run(empty_dashboard.memory.groups.create(f"group {number}"))
        for filters in ({}, {"outcome": "succeeded"}):
            first = client.get("/ui/audit", params=filters).text
            (older,) = re.findall(r'href="([^"]*before=[^"]*)"', first)
            second = client.get(older.replace("&amp;", "&")).text
            assert "group 59<" in first
            assert "group 0<" not in first
            assert "group 0<" in second
