"""Fixtures: a strict stand-in of the providers, alone and behind a proxy that the tests share."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.proxy.running import RunningProxy, running_proxy
from tests.proxy.upstream.rules import Rules
from tests.proxy.upstream.script import script, step
from tests.proxy.upstream.server import Upstream, running_upstream

DEFAULT_SCRIPT = script([step("Done.")])


@pytest.fixture
async def strict_upstream() -> AsyncIterator[Upstream]:
    """A strict stand-in of all three APIs; a test sets its script."""
    async with running_upstream(DEFAULT_SCRIPT) as running:
        yield running


@pytest.fixture(scope="session")
async def shared_strict_upstream() -> AsyncIterator[Upstream]:
    """The stand-in behind the shared proxy."""
    async with running_upstream(DEFAULT_SCRIPT) as running:
        yield running


@pytest.fixture(scope="session")
def paging_proxy(proxy_folder: Path, shared_strict_upstream: Upstream) -> Iterator[RunningProxy]:
    """A proxy in front of the strict stand-in. Tests share its owner, so that an opening would differ."""
    url = shared_strict_upstream.url
    with running_proxy(proxy_folder, anthropic=url, openai=url, proxy_opening_tokens=0) as running:
        yield running


@pytest.fixture
def proxied(paging_proxy: RunningProxy, shared_strict_upstream: Upstream) -> Upstream:
    """The stand-in behind the shared proxy, with nothing recorded."""
    shared_strict_upstream.forget()
    shared_strict_upstream.script = DEFAULT_SCRIPT
    shared_strict_upstream.rules = Rules()
    return shared_strict_upstream
