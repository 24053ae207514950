"""The proxy below `/proxy` of `mnemic serve`: every request needs a key, and the server serves the rest."""

from contextlib import aclosing
from pathlib import Path

import httpx

from tests.proxy.proxy_process import proxy_process
from tests.proxy.running import CALL_TIMEOUT_S, RunningProxy
from tests.proxy.sessions.sdk_clients import AnthropicSession, ChatSession
from tests.proxy.upstream.script import Call, Use, script, step
from tests.proxy.upstream.server import Upstream
from tests.server.running import TLS

RECALL = Call("recall", {"query": "what was decided?"})


async def test_server_serves_the_proxy_to_keys(
    paging_proxy: RunningProxy, proxy_folder: Path, strict_upstream: Upstream, tmp_path: Path
) -> None:
    key = paging_proxy.create_key("mounted").key
    reader = paging_proxy.create_key("mounted", "read").key
    strict_upstream.script = script([step(RECALL, Use("read", "a.py")), step("Done.")])
    with proxy_process(proxy_folder, strict_upstream.url, tmp_path / "log", command="serve") as server:
        async with httpx.AsyncClient(base_url=server.url, timeout=CALL_TIMEOUT_S, verify=TLS) as client:
            for sent, status in (
                ({}, 401),
                ({"x-mnemic-key": "mn_wrong"}, 401),
                ({"x-mnemic-key": reader}, 403),
            ):
                response = await client.post("/proxy/v1/messages", json={}, headers=sent)
                assert response.status_code == status
                assert response.json()["type"] == "error"
            assert strict_upstream.received == []
            assert (await client.get("/healthz")).status_code == 200
            assert (await client.post("/v1/messages", json={})).status_code in (401, 404)
        headers = {"x-mnemic-key": key}
        url = f"{server.url}/proxy"
        async with aclosing(AnthropicSession(url, default_headers=headers)) as one:
            assert await one.ask("Begin below a path.") == "Done."
        async with aclosing(ChatSession(f"{url}/key/{key}")) as other:
            assert await other.ask("Begin with a key in the path.") == "Done."
    assert one.seen.called == other.seen.called == ["read"]
    assert strict_upstream.problems == []
    assert key not in str([received.request for received in strict_upstream.received])
