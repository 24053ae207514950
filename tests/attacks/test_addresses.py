"""Addresses that are not on the public internet, in every block and spelling, get no message."""

import ipaddress
from collections.abc import Iterator

import httpx
import pytest

from mnemic.errors import InvalidInputError
from mnemic.webhooks import sending
from mnemic.webhooks.addresses import IPAddress, check_url, is_public
from mnemic.webhooks.sending import send

# The registries of IANA: special-purpose addresses of IPv4 and IPv6, and what is not global unicast.
SPECIAL_4 = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "255.255.255.255/32",
]
SPECIAL_6 = [
    "::/128",
    "::1/128",
    "::/96",
    "::/8",
    "::ffff:0:0:0/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "100:0:0:1::/64",
    "200::/7",
    "400::/6",
    "800::/5",
    "1000::/4",
    "2001::/23",
    "2001::/32",
    "2001:1::1/128",
    "2001:2::/48",
    "2001:3::/32",
    "2001:4:112::/48",
    "2001:10::/28",
    "2001:20::/28",
    "2001:30::/28",
    "2001:db8::/32",
    "2002::/16",
    "2620:4f:8000::/48",
    "3fff::/20",
    "4000::/3",
    "5f00::/16",
    "6000::/3",
    "8000::/3",
    "a000::/3",
    "c000::/3",
    "e000::/4",
    "f000::/5",
    "f800::/6",
    "fc00::/7",
    "fd00:ec2::254/128",
    "fe00::/9",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
    "ff02::1/128",
]
MAPPED = "::ffff:0:0/96"
PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "93.184.216.34",
    "223.255.255.254",
    "2606:4700:4700::1111",
    "2a00:1450:4001::8a",
    "2001:4860:4860::8888",
]
ODD_SPELLINGS = [
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0x7f.1",
    "017700000001",
    "0",
    "0x0",
    "169.16689662",
    "0xa9fea9fe",
    "2852039166",
    "[::127.0.0.1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:7f00:1]",
    "[::ffff:0:127.0.0.1]",
    "[fec0::1]",
    "[3fff::1]",
    "[5f00::1]",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "①②⑦.⓪.⓪.①",
    "１２７.０.０.１",
    "127。0。0。1",
]


def edges(network: str) -> Iterator[IPAddress]:
    """The first, the last and a middle address of a network."""
    block = ipaddress.ip_network(network)
    yield from {block[0], block[-1], block[block.num_addresses // 2]}


def test_no_special_block_is_public(subtests: pytest.Subtests) -> None:
    for network in SPECIAL_4 + SPECIAL_6:
        with subtests.test(network):
            assert not any(map(is_public, edges(network)))


def test_an_address_mapped_to_ipv6_is_judged_as_the_ipv4_address_that_it_is(
    subtests: pytest.Subtests,
) -> None:
    base = int(ipaddress.ip_network(MAPPED)[0])
    for network in SPECIAL_4:
        with subtests.test(network):
            mapped = [ipaddress.IPv6Address(base + int(address)) for address in edges(network)]
            assert not any(map(is_public, mapped))
    assert is_public(ipaddress.IPv6Address(base + int(ipaddress.IPv4Address("8.8.8.8"))))


def test_public_addresses_are_public(subtests: pytest.Subtests) -> None:
    for address in PUBLIC:
        with subtests.test(address):
            assert is_public(ipaddress.ip_address(address))


async def test_odd_spellings_of_a_private_address_are_refused(subtests: pytest.Subtests) -> None:
    for host in ODD_SPELLINGS:
        with subtests.test(host):
            try:
                url = str(check_url(f"http://{host}/"))
            except InvalidInputError:
                continue  # Refused before any lookup.
            outcome = await send(url, {}, b"", allow_private=False)
            assert outcome.status_code is None
            assert "private address" in str(outcome.error) or "is unknown" in str(outcome.error)


async def test_a_name_with_one_private_address_is_refused_whatever_the_order(
    monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    for private in ("fec0::1", "::7f00:1", "::ffff:0:7f00:1", "3fff::1", "5f00::1", "192.88.99.1"):
        for answers in ([private, "8.8.8.8"], ["8.8.8.8", private]):
            with subtests.test(" ".join(answers)):

                async def resolved(url: httpx.URL, answers: list[str] = answers) -> list[IPAddress]:
                    return [ipaddress.ip_address(answer) for answer in answers]

                monkeypatch.setattr(sending, "addresses_of", resolved)
                outcome = await send("http://rebinding.example/", {}, b"", allow_private=False)
                assert "private address" in str(outcome.error)


def test_a_zone_in_an_address_is_refused(subtests: pytest.Subtests) -> None:
    for url in ("http://[fe80::1%25lo]/", "http://[fe80::1%lo]/", "http://[2606:4700::1%25lo]/"):
        with subtests.test(url), pytest.raises(InvalidInputError, match="url"):
            check_url(url)
