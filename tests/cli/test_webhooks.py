"""`mnemic webhooks`: secrets are shown once, and a receiver gets what it is sent."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.cli.output import out
from tests.cli.conftest import Run
from tests.cli.test_places import own_url  # noqa: F401 (fixture)
from tests.server.running import running_server
from tests.webhooks.receiving import Receiver, receiving


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A receiver on this machine, to which messages may go, and a terminal that is wide enough for tables."""
    monkeypatch.setattr(out, "width", 200)
    monkeypatch.setenv("MNEMIC_WEBHOOK_PRIVATE_ADDRESSES", "true")
    with receiving() as receiver:
        yield receiver


def made_by(mnemic: Run, receiver: Receiver, *arguments: str) -> tuple[str, str]:
    """The id and the secret of a new webhook."""
    made = mnemic("webhooks", "create", receiver.url, *arguments, "--json")
    assert made.code == 0, made.err
    return made.json["webhook"]["webhook_id"], made.json["secret"]


def test_the_secret_alone_is_printed_once(mnemic: Run, receiver: Receiver) -> None:
    made = mnemic("webhooks", "create", receiver.url, "--type", "memory.created", "--type", "state.deleted")
    secret = made.out.strip()
    assert (made.code, secret.startswith("whsec_"), " " in secret) == (0, True, False)
    assert "shown only now" in made.said
    (webhook,) = mnemic("webhooks", "list", "--json").json
    rotated = mnemic("webhooks", "rotate", webhook["webhook_id"])
    new_secret = rotated.out.strip()
    assert (rotated.code, new_secret.startswith("whsec_"), new_secret != secret) == (0, True, True)
    assert "signed with the old one, too, until 2" in rotated.said
    assert secret not in made.err
    assert new_secret not in rotated.err
    for listed in (mnemic("webhooks", "list"), mnemic("webhooks", "list", "--json")):
        assert listed.code == 0
        assert secret not in listed.out
        assert new_secret not in listed.out
    assert (webhook["owner"], webhook["types"]) == ("alice", ["memory.created", "state.deleted"])


def test_a_receiver_knows_messages_by_the_old_and_the_new_secret(mnemic: Run, receiver: Receiver) -> None:
    webhook_id, old = made_by(mnemic, receiver)
    new = mnemic("webhooks", "rotate", webhook_id, "--json").json["secret"]
    sent = mnemic("webhooks", "test", webhook_id, "--json")
    assert (sent.code, sent.json["status_code"]) == (0, 204)
    (request,) = receiver.received
    assert (request.is_signed_with(old), request.is_signed_with(new)) == (True, True)


def test_what_was_not_taken_ends_in_failure_and_is_listed(mnemic: Run, receiver: Receiver) -> None:
    webhook_id, _ = made_by(mnemic, receiver)
    receiver.statuses = [500]
    failed = mnemic("webhooks", "test", webhook_id)
    assert (failed.code, "status 500" in " ".join(failed.out.split())) == (1, True)
    assert mnemic("webhooks", "test", webhook_id).code == 0
    newest, oldest = mnemic("webhooks", "deliveries", webhook_id, "--json").json
    assert (newest["status_code"], oldest["status_code"]) == (204, 500)
    page = mnemic("webhooks", "deliveries", webhook_id, "--before", newest["delivery_id"], "--json").json
    assert page == [oldest]
    assert "204" in mnemic("webhooks", "deliveries", webhook_id, "--limit", "1").out


def test_a_webhook_is_disabled_enabled_and_deleted(mnemic: Run, receiver: Receiver) -> None:
    webhook_id, _ = made_by(mnemic, receiver)
    disabled = mnemic("webhooks", "disable", webhook_id, "--reason", "a [long] move")
    assert (disabled.code, disabled.out) == (0, f"Disabled: {receiver.url} ({webhook_id})\n")
    assert "disabled: a [long] move" in " ".join(mnemic("webhooks", "list").out.split())
    enabled = mnemic("webhooks", "enable", webhook_id, "--from", "beginning", "--json").json
    assert (enabled["state"], enabled["disabled_reason"]) == ("enabled", None)
    assert mnemic("webhooks", "list", "--owner", "bob", "--json").json == []
    assert mnemic("webhooks", "list", "--after", webhook_id, "--json").json == []
    assert mnemic("webhooks", "delete", webhook_id).out == f"Deleted: {webhook_id}\n"
    gone = mnemic("webhooks", "delete", webhook_id)
    assert (gone.code, "There is no webhook" in gone.said) == (1, True)


def test_a_database_of_ones_own_is_asked_by_the_same_options(
    mnemic: Run,
    receiver: Receiver,
    own_url: str,  # noqa: F811
) -> None:
    assert mnemic("migrate", "--url", own_url).code == 0
    webhook_id, old = made_by(mnemic, receiver, "--url", own_url)
    new = mnemic("webhooks", "rotate", webhook_id, "--url", own_url).out.strip()
    assert mnemic("webhooks", "test", webhook_id, "--url", own_url).code == 0
    (request,) = receiver.received
    assert (request.is_signed_with(old), request.is_signed_with(new)) == (True, True)
    assert mnemic("events", "list", "--url", own_url, "--json").json == []


def test_a_server_is_asked_by_the_same_options(
    mnemic: Run, receiver: Receiver, folder: Path, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_server(folder) as server:
        monkeypatch.setenv("MNEMIC_API_KEY", server.create_key(tenant, "admin").key)
        webhook_id, old = made_by(mnemic, receiver, "--url", server.url)
        rotated = mnemic("webhooks", "rotate", webhook_id, "--url", server.url)
        assert rotated.code == 0, rotated.err
        assert mnemic("webhooks", "test", webhook_id, "--url", server.url).code == 0
        (request,) = receiver.received
        assert (request.is_signed_with(old), request.is_signed_with(rotated.out.strip())) == (True, True)
        audited = server.run(server.memory(tenant).audit.list(action="admin_call"))
        rotate_path = "POST /v1/webhooks/{webhook_id}/rotate"
        phases = [record.phase for record in audited if record.target == rotate_path]
        assert phases == ["succeeded", "intent"]
        monkeypatch.setenv("MNEMIC_API_KEY", server.create_key(tenant, "write").key)
        refused = mnemic("webhooks", "rotate", webhook_id, "--url", server.url)
        assert (refused.code, refused.out) == (1, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("create", "ftp://example.com/"), "url"),
        (("create", "https://127.0.0.1/"), "url"),
        (("create", "https://hooks.invalid/", "--type", "no.type"), "is none of memory.created"),
        (("create", "https://hooks.invalid/", "--from", "soon"), "--from must be"),
        (("rotate", "x"), "webhook_id must be"),
        (("rotate", "00000000-0000-7000-8000-000000000000"), "There is no webhook"),
        (("enable", "00000000-0000-7000-8000-000000000000", "--from", "soon"), "--from must be"),
        (("disable", "00000000-0000-7000-8000-000000000000"), "There is no webhook"),
        (("deliveries", "x"), "webhook_id must be"),
        (("list", "--limit", "0"), "limit must be"),
    ],
)
def test_a_mistake_is_a_clear_error(mnemic: Run, arguments: tuple[str, ...], message: str) -> None:
    ended = mnemic("webhooks", *arguments)
    assert (ended.code, ended.out) == (1, "")
    assert message in ended.said
    assert mnemic("webhooks", "list", "--json").json == []
