"""Send one message to a webhook, with a time limit, to the address that was checked.

A redirect is a failure: it leads to an unchecked address, and turns a POST into a GET. Proxies of the
environment are not used, since a proxy would resolve the name again. The body of the response is not read.
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
"""Maximum addresses of one host that are tried."""
USER_AGENT = "mnemic-webhooks"
ERROR_MAX_CHARACTERS = 500


@dataclass(frozen=True)
class DeliveryResult:
    """The result of one attempt; `error` is None if the receiver accepted the message."""

    status_code: int | None
    error: str | None
    duration_ms: float


async def send(url: str, headers: dict[str, str], body: bytes, *, allow_private: bool) -> DeliveryResult:
    """POST a message; failures are part of the result."""
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
    return DeliveryResult(status_code, error[:ERROR_MAX_CHARACTERS] if error else None, duration_ms)


async def _post(url: httpx.URL, headers: dict[str, str], body: bytes, *, allow_private: bool) -> int:
    """The status of the response, from the first of the host's addresses that can be reached."""
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
                continue  # Try the next address; only the last one's error is reported.
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
    # The connection goes to the address, but the certificate must match the name.
    extensions = {"sni_hostname": url.raw_host.decode("ascii")} if url.scheme == "https" else {}
    target = url.copy_with(host=str(address), fragment=None)
    async with client.stream("POST", target, headers=sent, content=body, extensions=extensions) as response:
        return response.status_code


@cache
def _tls() -> SSLContext:
    """Created once, because reading all certificates is slow."""
    return httpx.create_ssl_context(trust_env=False)
