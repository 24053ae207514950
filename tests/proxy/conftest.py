"""Fixtures: one proxy in front of one provider that records bytes; each test scripts its responses."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.proxy.raw_upstream import RawUpstream, raw_upstream
from tests.proxy.running import RunningProxy, running_proxy
from tests.running_folder import running


@pytest.fixture(scope="session")
def proxy_folder(memory_dir: Path) -> Iterator[Path]:
    """A data folder whose PostgreSQL runs all the time."""
    yield from running(memory_dir / "proxied")


@pytest.fixture(scope="session")
def shared_upstream() -> Iterator[RawUpstream]:
    """The provider of the shared proxy."""
    with raw_upstream() as upstream:
        yield upstream


@pytest.fixture(scope="session")
def proxy(proxy_folder: Path, shared_upstream: RawUpstream) -> Iterator[RunningProxy]:
    """A proxy with the default limits that also serves requests without a key."""
    with running_proxy(proxy_folder, anthropic=shared_upstream.url, openai=shared_upstream.url) as running:
        yield running


@pytest.fixture
def upstream(shared_upstream: RawUpstream) -> RawUpstream:
    """The provider of the shared proxy, with nothing recorded."""
    shared_upstream.received.clear()
    shared_upstream.closed_early = 0
    shared_upstream.answer = RawUpstream("").answer
    return shared_upstream
