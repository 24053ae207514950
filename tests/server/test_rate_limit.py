"""The rate limit of recall per API key."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from mnemic.errors import TooManyRequestsError
from mnemic.server.rate_limit import BUCKETS_MAX, RateLimiter
from tests.server.running import RunningServer, running_server
from tests.server.test_authentication import is_problem

PER_MINUTE = 30
BURST = 5


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def test_a_full_bucket_is_used_up_and_fills_steadily() -> None:
    clock, key_id = Clock(), uuid4()
    rates = RateLimiter(PER_MINUTE, clock=clock)
    left = [rates.take(key_id)["RateLimit-Remaining"] for _ in range(BURST)]
    assert left == ["4", "3", "2", "1", "0"]
    with pytest.raises(TooManyRequestsError, match="30 times a minute") as refused:
        rates.take(key_id)
    assert refused.value.retry_after_s == pytest.approx(2.0)
    clock.now_s += 1.9
    with pytest.raises(TooManyRequestsError):
        rates.take(key_id)
    clock.now_s += 0.2
    rates.take(key_id)
    clock.now_s += 3600
    assert rates.take(key_id) == {
        "RateLimit-Limit": "5",
        "RateLimit-Remaining": "4",
        "RateLimit-Reset": "2",
    }


def test_each_key_has_a_bucket_of_its_own_and_there_are_not_too_many() -> None:
    rates = RateLimiter(PER_MINUTE, clock=Clock())
    first = uuid4()
    for _ in range(BURST):
        rates.take(first)
    for _ in range(BUCKETS_MAX):
        rates.take(uuid4())
    assert len(rates._buckets) == BUCKETS_MAX
    assert rates.take(first)["RateLimit-Remaining"] == "4"


def test_a_rate_of_0_means_no_limit() -> None:
    rates, key_id = RateLimiter(0, clock=Clock()), uuid4()
    assert [rates.take(key_id) for _ in range(100)] == [{}] * 100


@pytest.fixture(scope="module")
def slow_server(server_folder: Path) -> Iterator[RunningServer]:
    with running_server(server_folder, recall_rate_per_minute=1) as server:
        yield server


def test_a_recall_above_the_limit_gets_429_with_retry_after(slow_server: RunningServer, tenant: str) -> None:
    one, other = (slow_server.create_key(tenant, "read", owner="alice").key for _ in range(2))
    with slow_server.client(one) as client:
        first = client.post("/v1/recall", json={"query": "tea"})
        assert (first.status_code, first.headers["ratelimit-remaining"]) == (200, "0")
        refused = client.post("/v1/recall", json={"query": "tea"})
        assert is_problem(refused, 429, "TooManyRequestsError")
        assert 0 < int(refused.headers["retry-after"]) <= 60
        assert client.get("/v1/memories").status_code == 200, "only recall is limited"
        again = client.post("/v1/%72ecall", json={"query": "tea"})
        assert again.status_code == 429, "another spelling is no way around"
    with slow_server.client(other) as client:
        assert client.post("/v1/recall", json={"query": "tea"}).status_code == 200
