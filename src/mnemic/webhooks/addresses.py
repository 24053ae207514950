"""Where messages may be sent: to public addresses, unless the operator says otherwise.

Whoever may make webhooks could otherwise have this machine call what only this machine can reach: its own
services, its neighbours', a cloud's metadata. What counts is the address that a name resolves to, whatever
the name looks like (``localhost``, ``2130706433``, ``0x7f.1``, a name in the public DNS for 127.0.0.1).
The caller connects to the very addresses that were checked here; a second look-up might give others.
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

# Ranges of IPv6 that carry an IPv4 address in their last bits, for a gateway that may lead anywhere.
_TRANSLATED = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))


def check_url(value: object) -> httpx.URL:
    """A URL that messages can be sent to; whether its address is allowed shows when it is resolved."""
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
    # The name as it is sent, in ASCII: how others would convert it is not for us to guess.
    host = url.raw_host.decode("ascii")
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise DeliveryError(f"the host {url.host!r} is not known") from None
    # An address of a link names its interface behind a percent sign.
    return [ipaddress.ip_address(str(place[4][0]).partition("%")[0]) for place in found]


def refusal(url: httpx.URL, addresses: Sequence[IPAddress], *, allow_private: bool) -> str | None:
    """Why nothing may be sent to these addresses, or None. One that is private spoils them all."""
    if allow_private or all(map(is_public, addresses)):
        return None
    return f"the host {url.host!r} is at a private address, which webhook_private_addresses does not allow"


def is_public(address: IPAddress) -> bool:
    """Whether an address is one of the internet at large, also where it carries another one inside."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address.sixtofour is not None or address.teredo is not None:
            return False
        if any(address in network for network in _TRANSLATED):
            return False
    return address.is_global and not address.is_multicast
