"""Fixtures for tests of the proxy: a stand-in of the providers."""

from collections.abc import AsyncIterator

import pytest

from tests.proxy.upstream.script import script, step
from tests.proxy.upstream.server import Upstream, running_upstream


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    """A strict stand-in of all three APIs; a test sets its script."""
    async with running_upstream(script([step("Done.")])) as running:
        yield running
