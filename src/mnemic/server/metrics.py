"""`/metrics`, in the text format of Prometheus."""

from collections.abc import Iterable, Sequence

from fastapi import APIRouter, Depends
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector, CollectorRegistry
from starlette.responses import PlainTextResponse, Response

from mnemic.maintenance.exposition import MetricFamily, collect
from mnemic.sdk.http.surface import Route
from mnemic.sdk.tenants import Tenants
from mnemic.server.authentication import Require
from mnemic.server.openapi import ROLE

ROUTE = Route("metrics", "GET", "/metrics", "admin", "tenant")


def metrics_routes(tenants: Tenants, require: Require | None) -> APIRouter:
    """`/metrics` for admin keys; for everybody if `require` is None."""
    guards = [Depends(require(ROUTE))] if require is not None else []
    router = APIRouter(tags=["health"], dependencies=guards)

    @router.get(
        "/metrics",
        summary="Metrics for Prometheus",
        response_class=PlainTextResponse,
        openapi_extra={ROLE: "admin"},
    )
    async def metrics() -> Response:
        """Needs an admin key, unless the setting `metrics_public` is true."""
        written = as_text(await collect(tenants.database, tenants.call_metrics))
        return Response(written, media_type=CONTENT_TYPE_PLAIN_0_0_4)

    return router


def as_text(families: Sequence[MetricFamily]) -> bytes:
    """Metrics in the text format of Prometheus."""
    registry = CollectorRegistry()
    registry.register(_Collected(families))
    return generate_latest(registry)


class _Collected(Collector):
    """Adapts collected metrics to the interface of prometheus_client."""

    def __init__(self, families: Sequence[MetricFamily]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """One metric for each family."""
        for family in self._families:
            metric = Metric(family.name, family.help, family.kind)
            for sample in family.samples:
                metric.add_sample(f"{family.name}{sample.suffix}", dict(sample.labels), sample.value)
            yield metric
