"""Tenants and sessions with the same words never share what the proxy knows of them."""

from contextlib import aclosing

from tests.proxy.running import RunningProxy
from tests.proxy.sessions.sdk_clients import AnthropicSession
from tests.proxy.upstream.script import Call, Use, script, step
from tests.proxy.upstream.server import Upstream

SECRET = "The launch code of the first tenant is heliotrope."
PROMPT = "Begin as every tenant does."


async def ask(proxy: RunningProxy, tenant: str, session: str) -> None:
    headers = {"x-mnemic-key": proxy.create_key(tenant).key, "x-session-id": session}
    async with aclosing(AnthropicSession(proxy.url, default_headers=headers)) as client:
        await client.ask(PROMPT)


async def test_tenants_with_the_same_session_share_nothing(
    proxied: Upstream, paging_proxy: RunningProxy
) -> None:
    retain, recall = Call("retain", {"text": SECRET}), Call("recall", {"query": "launch code"})
    proxied.script = script([step(retain, Use("read", "a.py")), step(recall), step("Done.")])
    await ask(paging_proxy, "first", "one")
    assert SECRET in str(proxied.turns()[-1].body), "the tenant recalls its own memory"
    proxied.forget()
    proxied.script = script([step(recall, Use("read", "a.py")), step(recall), step("Done.")])
    await ask(paging_proxy, "second", "one")
    assert len(proxied.turns()) == 3
    assert "heliotrope" not in str([one.body for one in proxied.received])
    assert proxied.problems == []
    assert list(map(str, proxied.rewrites)) == []
