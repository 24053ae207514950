"""A server with the dashboard over one tenant, and the ways in: a client over HTTP, or a browser."""

from dataclasses import dataclass
from typing import Any

import httpx

from mnemic.sdk.memory import AsyncMemory
from mnemic.types.key import Role
from tests.server.running import TLS, RunningServer

TIMEOUT_S = 60.0
# What a browser sends with a form of the same site; the dashboard refuses forms of others.
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


@dataclass(frozen=True)
class Dashboard:
    """The dashboard of one tenant. `memory` reads the database directly, its calls go through `run`."""

    server: RunningServer
    tenant: str
    owner: str

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def memory(self) -> AsyncMemory:
        return self.server.memory(self.tenant)

    def run(self, work: Any) -> Any:
        """Run a call of `memory` in the server's loop: `dashboard.run(dashboard.memory.jobs.dead())`."""
        return self.server.run(work)

    def key(self, role: Role = "admin", owner: str | None = None) -> str:
        """A new API key."""
        return self.server.create_key(self.tenant, role, owner=owner).key

    def client(self, role: Role = "admin", owner: str | None = None) -> httpx.Client:
        """A client that is signed in, like a browser without JavaScript; redirects are not followed.

        Use it as a context manager, or close it.
        """
        answer = httpx.post(
            f"{self.url}/ui/sign-in",
            data={"key": self.key(role, owner)},
            headers=SAME_ORIGIN,
            timeout=TIMEOUT_S,
            verify=TLS,
        )
        assert answer.status_code == 303, answer.text
        return httpx.Client(
            base_url=self.url,
            headers=SAME_ORIGIN,
            cookies=dict(answer.cookies),
            timeout=TIMEOUT_S,
            verify=TLS,
        )
