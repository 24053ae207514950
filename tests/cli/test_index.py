"""`mnemic index`, and what `mnemic doctor` says about the indexes of large owners."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from mnemic import Memory
from mnemic.db.tenancy import SigningKey
from mnemic.embeddings import indexes as indexing
from mnemic.maintenance import doctor
from tests.cli.conftest import Run
from tests.opened import core_of
from tests.password_server import PasswordServer

ROWS_MIN = 20


@pytest.fixture(autouse=True)
def early_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Owners are large early."""
    monkeypatch.setattr(indexing, "INDEX_MIN_ROWS", ROWS_MIN)
    monkeypatch.setattr(indexing, "INDEX_KEEP_ROWS", ROWS_MIN // 2)


def remember(memory: Memory, owner: str, count: int) -> None:
    memory.retain_many((f"fact {number} of {owner}" for number in range(count)), owner=owner)


def check_of(report: Any) -> Any:
    (check,) = (check for check in report["checks"] if check["name"] == "vector indexes")
    return check


def test_index_makes_what_is_missing_once(mnemic: Run, memory: Memory) -> None:
    remember(memory, "large", ROWS_MIN + 2)
    remember(memory, "[red]odd[/]", ROWS_MIN + 1)
    remember(memory, "small", ROWS_MIN)
    first = mnemic("index", "--json").json["owners"]
    assert [each["owner"] for each in first] == ["large", "[red]odd[/]"]
    assert [each["vector_count"] for each in first] == [ROWS_MIN + 2, ROWS_MIN + 1]
    assert [each["seconds"] is not None and each["seconds"] > 0 for each in first] == [True, True]
    assert [each["size_bytes"] is not None for each in first] == [True, True]
    again = mnemic("index", "--json").json["owners"]
    assert [each["seconds"] for each in again] == [None, None]
    assert [each["size_bytes"] for each in again] == [each["size_bytes"] for each in first]


def test_index_prints_a_table(mnemic: Run, memory: Memory) -> None:
    remember(memory, "[red]odd[/]", ROWS_MIN + 1)
    ended = mnemic("index")
    assert ended.code == 0
    head, row = ended.out.splitlines()
    assert head.split() == ["owner", "vectors", "size", "seconds"]
    assert row.split()[:2] == ["[red]odd[/]", str(ROWS_MIN + 1)]
    assert "MB" in row


def test_index_can_be_told_one_owner(mnemic: Run, memory: Memory) -> None:
    remember(memory, "one", ROWS_MIN + 1)
    remember(memory, "other", ROWS_MIN + 1)
    assert [each["owner"] for each in mnemic("index", "--owner", "one", "--json").json["owners"]] == ["one"]
    check = check_of(mnemic("doctor", "--json").json)
    assert (check["state"], "other: 21 vectors, not indexed" in check["found"]) == ("warning", True)
    assert "one: 21 vectors, index of" in check["found"]
    assert "mnemic index" in check["advice"]


def test_index_says_that_there_is_nothing_to_do(mnemic: Run, memory: Memory) -> None:
    remember(memory, "small", 3)
    ended = mnemic("index")
    assert (ended.code, "Nothing to do" in ended.out) == (0, True)
    assert mnemic("index", "--json").json == {"owners": []}
    check = check_of(mnemic("doctor", "--json").json)
    assert (check["state"], "no owner has more than" in check["found"]) == ("ok", True)


def test_index_drops_what_serves_nobody(mnemic: Run, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(memory, "gone", ROWS_MIN + 1)
    assert mnemic("index").code == 0
    with monkeypatch.context() as patched:
        patched.setattr(indexing, "admin_conninfo", lambda place, settings: place.database.access.conninfo())
        memory.admin.erase("gone")
    database = core_of(memory._async).storage.tenant_database
    assert len(memory._portal.run(indexing.survey_indexes(database, "test:hash-64")).leftovers) == 1
    assert mnemic("index").code == 0
    assert memory._portal.run(indexing.survey_indexes(database, "test:hash-64")).leftovers == ()


def test_doctor_is_content_when_every_large_owner_is_indexed(
    mnemic: Run, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "OWNERS_SHOWN_MAX", 1)
    remember(memory, "first", ROWS_MIN + 2)
    remember(memory, "second", ROWS_MIN + 1)
    mnemic("index")
    check = check_of(mnemic("doctor", "--json").json)
    assert (check["state"], check["advice"]) == ("ok", "")
    assert check["found"].startswith("first: 22 vectors, index of")
    assert check["found"].endswith("and 1 more; 0 not indexed")


def test_doctor_says_when_there_is_no_room_for_more(
    mnemic: Run, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(memory, "large", ROWS_MIN + 1)
    monkeypatch.setattr(doctor, "INDEXES_MAX", 0)
    monkeypatch.setattr("mnemic.db.vector_index.INDEXES_MAX", 0)
    (left_out,) = mnemic("index", "--json").json["owners"]
    assert (left_out["size_bytes"], left_out["seconds"]) == (None, None)
    check = check_of(mnemic("doctor", "--json").json)
    assert (check["state"], "searched exactly" in check["advice"]) == ("warning", True)


def test_a_plain_login_is_told_that_an_administrator_must_do_it(
    mnemic: Run, password_server: PasswordServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, key = f"index_{uuid4().hex}", SigningKey.new()
    password_server.execute(f"CREATE DATABASE {name}")
    admin_url = password_server.url(dbname=name)
    monkeypatch.setenv("MNEMIC_TENANT_KEY", key.secret.hex())
    assert mnemic("migrate", "--url", admin_url).code == 0
    login = password_server.url(key.login, key.login_password, dbname=name)
    facts = tmp_path / "facts.jsonl"
    facts.write_text("".join(f'"fact {number}"\n' for number in range(ROWS_MIN + 1)))
    assert mnemic("retain", "--jsonl", facts, "--url", login).code == 0
    check = check_of(mnemic("doctor", "--url", login, "--json").json)
    assert (check["state"], "an administrator can run" in check["advice"]) == ("warning", True)
    ended = mnemic("index", "--url", login)
    assert (ended.code, "mnemic index" in ended.said, key.login_password in ended.err) == (1, True, False)
    assert mnemic("index", "--url", admin_url).code == 0
    assert check_of(mnemic("doctor", "--url", login, "--json").json)["state"] == "ok"


def test_a_url_that_cannot_be_opened_shows_no_password(mnemic: Run) -> None:
    ended = mnemic("index", "--url", "postgresql://alice:hunter2@127.0.0.1:1/x")
    assert (ended.code, ended.out, "hunter2" in ended.err, "Traceback" in ended.err) == (1, "", False, False)
