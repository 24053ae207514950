"""One request that holds a conversation, from its body to the end of the response."""

from mnemic.proxy.callers import Caller
from mnemic.proxy.client_request import ClientRequest
from mnemic.proxy.endpoints import Endpoint
from mnemic.proxy.forwarding import Forwarder, relay_verbatim
from mnemic.proxy.headers import request_headers
from mnemic.sdk.tenants import Tenants


class Turns:
    """Runs the turns of all callers."""

    def __init__(self, tenants: Tenants, forwarder: Forwarder, *, max_bytes: int) -> None:
        self._tenants = tenants
        self._forwarder = forwarder
        self._max_bytes = max_bytes

    async def aclose(self) -> None:
        """Write what is still to be written."""

    async def run(self, request: ClientRequest, endpoint: Endpoint, caller: Caller, raw: bytes) -> None:
        """Answer a request."""
        await self._pass_through(request, endpoint, raw)

    async def _pass_through(self, request: ClientRequest, endpoint: Endpoint, raw: bytes) -> None:
        async with self._forwarder.response(
            endpoint.provider,
            request.method,
            (request.path, request.query),
            request_headers(request.headers),
            raw,
        ) as response:
            await relay_verbatim(response, request.send)
