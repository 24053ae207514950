"""A database that does not answer: the original bytes pass, and the reason is counted."""

import json
from pathlib import Path

from tests.proxy.raw_upstream import raw_upstream
from tests.proxy.running import running_proxy

TOOL = {"name": "read", "input_schema": {"type": "object", "properties": {}}}


def test_the_original_bytes_pass_while_the_database_is_down(proxy_folder: Path) -> None:
    messages = [{"role": "user", "content": "Is anybody there?"}]
    body = json.dumps(
        {"model": "m", "max_tokens": 9, "tools": [TOOL], "messages": messages}, indent=3
    ).encode()
    with (
        raw_upstream() as upstream,
        running_proxy(proxy_folder, anthropic=upstream.url, openai=upstream.url) as proxy,
        proxy.client() as client,
    ):
        counts = proxy.tenants.call_metrics.proxy
        client.post("/v1/messages", content=body)
        assert upstream.received[-1].body != body, "with a database, the memory tools are offered"
        proxy.run(proxy.tenants.database.aclose())
        client.post("/v1/messages", content=body)
        assert upstream.received[-1].body == body
        reasons = [reason for _, reason in counts.passed]
        assert reasons == ["database down"], reasons
