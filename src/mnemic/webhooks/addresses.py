"""Which addresses messages may be sent to: public ones, unless the operator allows private ones.

Otherwise a caller that may create webhooks could make this machine call what only this machine can reach: its
own services, its neighbours', a cloud's metadata service. The check is on the address that a name resolves
to, whatever the name looks like (``localhost``, ``2130706433``, ``0x7f.1``, a public DNS name for 127.0.0.1).
The sender connects to exactly the addresses checked here, because a second lookup could return others.
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

# IPv6 ranges that embed an IPv4 address in their last bits; a gateway may forward it anywhere.
_TRANSLATED = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))


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
    """Whether an address, or the IPv4 address embedded in it, is on the public internet."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address.sixtofour is not None or address.teredo is not None:
            return False
        if any(address in network for network in _TRANSLATED):
            return False
    return address.is_global and not address.is_multicast
