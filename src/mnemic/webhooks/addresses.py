"""Which addresses messages may be sent to: public ones, unless the operator allows private ones.

Otherwise a caller that may create webhooks could make this machine call what only this machine can reach: its
own services, its neighbours', a cloud's metadata service. The check is on the address that a name resolves
to, whatever the name looks like (``localhost``, ``2130706433``, ``0x7f.1``, a public DNS name for 127.0.0.1).
The sender connects to exactly the addresses checked here, because a second lookup could return others.

Public is what the registries of IANA list as global unicast, without the blocks for special purposes in it.
All else is refused, so that a block that gets a meaning later is not public before somebody says so here.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Sequence

import httpx

from mnemic.errors import DeliveryError, InvalidInputError
from mnemic.types.checks import check_text

URL_MAX_CHARACTERS = 2048
PORTS = {"http": 80, "https": 443}
PORT_MAX = 65_535

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

# Of IPv6, IANA has assigned only this block as global unicast. Outside of it are, among others, the
# unspecified and the loopback address, IPv4-compatible (::/96) and IPv4-translated (::ffff:0:0:0/96,
# 64:ff9b::/96, 64:ff9b:1::/48) addresses, the discard prefix (100::/64), segment routing (5f00::/16), unique
# local (fc00::/7), link-local (fe80::/10), site-local (fec0::/10) and multicast addresses (ff00::/8).
_GLOBAL_UNICAST_6 = ipaddress.IPv6Network("2000::/3")
_SPECIAL_6 = tuple(
    map(
        ipaddress.IPv6Network,
        (
            "2001::/23",  # IETF protocol assignments: Teredo, benchmarking, ORCHID and others
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4: embeds an IPv4 address, and a gateway may forward it anywhere
            "2620:4f:8000::/48",  # AS112: answers queries for private names
            "3fff::/20",  # documentation
        ),
    )
)
# IPv4 is assigned in pieces below 224.0.0.0; these are in IANA's registry of special purposes.
_UNICAST_4_END = ipaddress.IPv4Address("224.0.0.0")
_SPECIAL_4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private use
            "100.64.0.0/10",  # shared by customers of a provider
            "127.0.0.0/8",  # loopback
            "169.254.0.0/16",  # link-local: metadata services of clouds
            "172.16.0.0/12",  # private use
            "192.0.0.0/24",  # IETF protocol assignments
            "192.0.2.0/24",  # documentation
            "192.31.196.0/24",  # AS112
            "192.52.193.0/24",  # multicast tunnels
            "192.88.99.0/24",  # 6to4 relays
            "192.168.0.0/16",  # private use
            "192.175.48.0/24",  # AS112
            "198.18.0.0/15",  # benchmarking
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
        ),
    )
)


def check_url(value: object) -> httpx.URL:
    """A URL that messages can be sent to. Its address is checked later, when it is resolved."""
    text = check_text("url", value, max_characters=URL_MAX_CHARACTERS)
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise InvalidInputError(f"url cannot be used: {error}.") from None
    if url.scheme not in PORTS or not url.host or "%" in url.host:
        raise InvalidInputError("url must begin with https:// or http:// and name a host.")
    if url.port is not None and not 0 < url.port <= PORT_MAX:
        raise InvalidInputError(f"url: the port must be 1 to {PORT_MAX}.")
    if url.userinfo:
        raise InvalidInputError("url must not contain a user or a password: messages are signed instead.")
    return url


async def addresses_of(url: httpx.URL) -> Sequence[IPAddress]:
    """All addresses of a URL's host; DeliveryError if it has none."""
    port = url.port or PORTS[url.scheme]
    # The name in ASCII, as httpx sends it, so that no second conversion can differ.
    host = url.raw_host.decode("ascii")
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise DeliveryError(f"the host {url.host!r} is unknown") from None
    # A link-local address has its interface after a percent sign.
    return [ipaddress.ip_address(str(place[4][0]).partition("%")[0]) for place in found]


def refusal(url: httpx.URL, addresses: Sequence[IPAddress], *, allow_private: bool) -> str | None:
    """Why nothing may be sent to these addresses, or None. One private address refuses them all."""
    if allow_private or all(map(is_public, addresses)):
        return None
    return f"the host {url.host!r} has a private address, which webhook_private_addresses does not allow"


def is_public(address: IPAddress) -> bool:
    """Whether an address is global unicast; an IPv4-mapped one counts as the IPv4 address that is used."""
    if isinstance(address, ipaddress.IPv4Address):
        return address < _UNICAST_4_END and not any(address in network for network in _SPECIAL_4)
    if address.ipv4_mapped is not None:
        return is_public(address.ipv4_mapped)
    return address in _GLOBAL_UNICAST_6 and not any(address in network for network in _SPECIAL_6)
