"""Sending one message to a webhook: bounded in time and size, to the address that was checked, no further.

A redirect is a failure: it would lead to an address that nobody checked, and turn a POST into a GET. A proxy
of the environment is not used, since it would look the name up again. The answer's body is not read.
"""

import asyncio
import time
from dataclasses import dataclass
from functools import cache
from ssl import SSLContext

import httpx

from mnemic.errors import DeliveryError
from mnemic.webhooks.addresses import IPAddress, addresses_of, refusal

SEND_TIMEOUT_S = 15.0
CONNECT_TIMEOUT_S = 5.0
ADDRESSES_MAX = 4
"""Addresses of one host that are tried."""
USER_AGENT = "mnemic-webhooks"
ERROR_MAX_CHARACTERS = 500


@dataclass(frozen=True)
class Outcome:
    """What came of one attempt; `error` is None if the receiver took the message."""

    status_code: int | None
    error: str | None
    duration_ms: float


async def send(url: str, headers: dict[str, str], body: bytes, *, allow_private: bool) -> Outcome:
    """POST a message; whatever goes wrong is part of the outcome."""
    began_s = time.perf_counter()
    status_code, error = None, None
    try:
        async with asyncio.timeout(SEND_TIMEOUT_S):
            status_code = await _post(httpx.URL(url), headers, body, allow_private=allow_private)
        if not 200 <= status_code < 300:
            error = f"the receiver answered with status {status_code}"
    except TimeoutError:
        error = f"the receiver took longer than {SEND_TIMEOUT_S:.0f} s"
    except DeliveryError as refused:
        error = str(refused)
    except (httpx.HTTPError, OSError) as failure:
        error = f"the receiver could not be reached: {str(failure) or type(failure).__name__}"
    duration_ms = (time.perf_counter() - began_s) * 1000
    return Outcome(status_code, error[:ERROR_MAX_CHARACTERS] if error else None, duration_ms)


async def _post(url: httpx.URL, headers: dict[str, str], body: bytes, *, allow_private: bool) -> int:
    """The status of the answer, from the first of the host's addresses that can be reached."""
    addresses = await addresses_of(url)
    if refused := refusal(url, addresses, allow_private=allow_private):
        raise DeliveryError(refused)
    *others, last = addresses[:ADDRESSES_MAX]
    async with httpx.AsyncClient(
        verify=_tls(),
        trust_env=False,
        follow_redirects=False,
        timeout=httpx.Timeout(SEND_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
    ) as client:
        for address in others:
            try:
                return await _post_to(client, address, url, headers, body)
            except httpx.ConnectError:
                continue  # The next one may do; the last one's error is told.
        return await _post_to(client, last, url, headers, body)


async def _post_to(
    client: httpx.AsyncClient, address: IPAddress, url: httpx.URL, headers: dict[str, str], body: bytes
) -> int:
    sent = {
        **headers,
        "host": url.netloc.decode("ascii"),
        "content-type": "application/json",
        "user-agent": USER_AGENT,
    }
    # The certificate must be the name's, although the connection goes to the address.
    extensions = {"sni_hostname": url.raw_host.decode("ascii")} if url.scheme == "https" else {}
    target = url.copy_with(host=str(address), fragment=None)
    async with client.stream("POST", target, headers=sent, content=body, extensions=extensions) as response:
        return response.status_code


@cache
def _tls() -> SSLContext:
    """Made once: reading all certificates takes a while, and nothing in it ever changes."""
    return httpx.create_ssl_context(trust_env=False)
