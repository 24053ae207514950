"""Allowed addresses: none that only this machine or its network can reach."""

import ipaddress
import ssl
from collections.abc import Sequence

import httpx
import pytest

from mnemic.errors import InvalidInputError
from mnemic.sdk.memory import AsyncMemory
from mnemic.webhooks import sending
from mnemic.webhooks.addresses import IPAddress, check_url, is_public
from mnemic.webhooks.sending import send
from tests.webhooks.receiving import CERTIFICATE, receiving

PRIVATE_HOSTS = [
    "localhost",
    "LOCALHOST",
    "127.0.0.1",
    "127.1",
    "127.255.255.254",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "017700000001",
    "0",
    "0.0.0.0",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:10.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[2001:0:7f00:1::]",
    "[fe80::1]",
    "[fc00::1]",
    "[ff02::1]",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "169.254.169.254",
    "198.18.0.1",
    "192.0.2.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
]


async def test_private_addresses_are_refused_however_they_are_written(
    memory: AsyncMemory, subtests: pytest.Subtests
) -> None:
    for host in PRIVATE_HOSTS:
        with subtests.test(host):
            with pytest.raises(InvalidInputError, match="private address"):
                await memory.webhooks.create(f"http://{host}/")
            outcome = await send(f"http://{host}/", {}, b"", allow_private=False)
            assert outcome.status_code is None
            assert "private address" in str(outcome.error)
    assert await memory.webhooks.list() == []


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "::ffff:8.8.8.8"])
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "url",
    [
        "",
        " ",
        "example.com",
        "//example.com/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "javascript:alert(1)",
        "http://",
        "http:///path",
        "https://user:password@example.com/",
        "https://user@example.com/",
        "http://example.com:99999/",
        "http://example.com:0/",
        "http://[::1/",
        "http://0177.0.0.1/",
        "http://127.0.0.1%2eexample.com/",
        "http://exa mple.com/",
        "https://example.com/" + "x" * 2048,
        "https://example.com/\0",
        7,
        None,
    ],
)
def test_unusable_urls_are_refused(url: object) -> None:
    with pytest.raises(InvalidInputError, match="url"):
        check_url(url)


async def test_an_unknown_host_is_accepted_and_fails_when_sending(memory: AsyncMemory) -> None:
    made = await memory.webhooks.create("https://nowhere.invalid/hook")
    assert made.webhook.url == "https://nowhere.invalid/hook"
    delivery = await memory.webhooks.test(made.webhook.webhook_id)
    assert (delivery.status_code, delivery.error) == (None, "the host 'nowhere.invalid' is unknown")


class Names:
    """A fake DNS: each lookup returns the next of some addresses."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.looked_up: list[str] = []

    async def __call__(self, url: httpx.URL) -> list[IPAddress]:
        self.looked_up.append(url.host)
        return [ipaddress.ip_address(text) for text in self._answers.pop(0)]


async def test_one_private_address_among_public_ones_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "addresses_of", Names(["8.8.8.8", "127.0.0.1"]))
    outcome = await send("http://mixed.example/", {}, b"", allow_private=False)
    assert "private address" in str(outcome.error)


async def test_the_name_is_resolved_once_and_the_checked_address_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A second lookup could return another address; here it would fail."""
    names = Names(["127.0.0.1"])
    monkeypatch.setattr(sending, "addresses_of", names)
    with receiving() as receiver:
        port = httpx.URL(receiver.url).port
        outcome = await send(f"http://receiver.example:{port}/hook?x=1", {}, b"{}", allow_private=True)
    assert (outcome.status_code, outcome.error) == (204, None)
    assert names.looked_up == ["receiver.example"]
    (request,) = receiver.received
    assert (request.path, request.headers["host"]) == ("/hook?x=1", f"receiver.example:{port}")


async def test_the_next_address_is_tried_if_one_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "addresses_of", Names(["::1", "127.0.0.1"]))
    with receiving() as receiver:
        port = httpx.URL(receiver.url).port
        outcome = await send(f"http://receiver.example:{port}/", {}, b"{}", allow_private=True)
    assert outcome.status_code == 204


@pytest.mark.parametrize(("host", "is_trusted"), [("receiver.example", True), ("other.example", False)])
async def test_a_certificate_must_be_that_of_the_name(
    host: str, is_trusted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.create_default_context(cafile=str(CERTIFICATE))
    monkeypatch.setattr(sending, "_tls", lambda: context)
    monkeypatch.setattr(sending, "addresses_of", Names(["127.0.0.1"]))
    with receiving(tls=True) as receiver:
        port = httpx.URL(receiver.url).port
        outcome = await send(f"https://{host}:{port}/", {}, b"{}", allow_private=True)
    assert (outcome.status_code == 204) is is_trusted
    assert ("certificate" in str(outcome.error).lower()) is not is_trusted


async def test_a_self_signed_certificate_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "addresses_of", Names(["127.0.0.1"]))
    with receiving(tls=True) as receiver:
        port = httpx.URL(receiver.url).port
        outcome = await send(f"https://receiver.example:{port}/", {}, b"{}", allow_private=True)
    assert "certificate" in str(outcome.error).lower()
    assert receiver.received == []


async def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with receiving() as receiver:
        assert (await send(receiver.url, {}, b"{}", allow_private=True)).status_code == 204
