"""`mnemic keys`."""

from datetime import UTC, datetime, timedelta

import pytest

from mnemic.govern.keys import KEY_PATTERN
from tests.cli.conftest import Run


def test_the_key_alone_is_printed_once(mnemic: Run) -> None:
    made = mnemic("keys", "create", "--role", "write", "--name", "for [tests]")
    assert (made.code, KEY_PATTERN.fullmatch(made.out.strip()) is not None) == (0, True)
    assert "it is not shown again" in made.said
    key = made.out.strip()
    assert key not in made.err
    for listed in (
        mnemic("keys", "list"),
        mnemic("keys", "list", "--json"),
        mnemic("keys", "list", "--ended"),
    ):
        assert listed.code == 0
        assert key not in listed.out + listed.err
        assert key[3:20] not in listed.out
    (shown,) = mnemic("keys", "list", "--json").json
    assert (shown["role"], shown["owner"], shown["name"]) == ("write", None, "for [tests]")
    assert "[tests]" in mnemic("keys", "list").out


def test_a_key_for_an_owner_with_an_end(mnemic: Run) -> None:
    made = mnemic("keys", "create", "--role", "read", "--owner", "bob", "--expires", "30d", "--json").json
    assert KEY_PATTERN.fullmatch(made["key"])
    assert (made["role"], made["owner"]) == ("read", "bob")
    expected = datetime.now(UTC) + timedelta(days=30)
    assert abs(datetime.fromisoformat(made["expires_at"]) - expected) < timedelta(minutes=5)
    assert mnemic("keys", "list", "--owner", "alice", "--json").json == []
    assert len(mnemic("keys", "list", "--owner", "bob", "--json").json) == 1


@pytest.mark.parametrize(
    ("expires", "expected"),
    [("9999-01-31", "9999-01-31T00:00:00+00:00"), ("9999-01-31T10:00+02:00", "9999-01-31T08:00:00+00:00")],
)
def test_a_date_ends_a_key(mnemic: Run, expires: str, expected: str) -> None:
    made = mnemic("keys", "create", "--role", "read", "--expires", expires, "--json").json
    assert datetime.fromisoformat(made["expires_at"]) == datetime.fromisoformat(expected)


def test_a_revoked_key_is_listed_only_if_asked_for(mnemic: Run) -> None:
    key_id = mnemic("keys", "create", "--role", "admin", "--json").json["key_id"]
    assert mnemic("keys", "revoke", key_id).out.startswith("Revoked mn_")
    assert mnemic("keys", "list", "--json").json == []
    (shown,) = mnemic("keys", "list", "--ended", "--json").json
    assert shown["revoked_at"] is not None
    assert "revoked" in mnemic("keys", "list", "--ended").out
    assert mnemic("keys", "revoke", key_id, "--json").json["key_id"] == key_id


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("create", "--role", "admin", "--owner", "bob"), "whole tenant"),
        (("create", "--role", "read", "--expires", "soon"), "--expires must be"),
        (("create", "--role", "read", "--expires", "0d"), "--expires must lie in the future"),
        (("create", "--role", "read", "--expires", "2020-01-01"), "the future"),
        (("revoke", "x"), "key_id must be an id"),
        (("revoke", "00000000-0000-7000-8000-000000000000"), "There is no API key"),
        (("list", "--limit", "0"), "--limit must be"),
    ],
)
def test_a_mistake_is_a_clear_error(mnemic: Run, arguments: tuple[str, ...], message: str) -> None:
    ended = mnemic("keys", *arguments)
    assert (ended.code, ended.out) == (1, "")
    assert message in ended.said


def test_a_role_is_needed_and_checked(mnemic: Run) -> None:
    assert mnemic("keys", "create").code == 2
    assert mnemic("keys", "create", "--role", "root").code == 2
