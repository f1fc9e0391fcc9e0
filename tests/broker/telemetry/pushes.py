"""Pushes of metrics, encoded by OpenTelemetry's own messages."""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1 import metrics_pb2 as m


def pairs(labels: Mapping[str, object]) -> list[KeyValue]:
    """Return labels as OpenTelemetry's attributes."""
    return [KeyValue(key=key, value=any_value(value)) for key, value in labels.items()]


def any_value(value: object) -> AnyValue:
    """Return a value of any type."""
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    return AnyValue(string_value=str(value))


def gauge(name: str, value: float, **labels: object) -> m.Metric:
    """Return a gauge with one point."""
    point = m.NumberDataPoint(as_double=value, attributes=pairs(labels))
    return m.Metric(name=name, gauge=m.Gauge(data_points=[point]))


def total(name: str, value: int, delta: bool = True, **labels: object) -> m.Metric:
    """Return a sum with one point."""
    point = m.NumberDataPoint(as_int=value, attributes=pairs(labels), time_unix_nano=1 << 60)
    temporality = m.AGGREGATION_TEMPORALITY_DELTA if delta else m.AGGREGATION_TEMPORALITY_CUMULATIVE
    return m.Metric(
        name=name,
        description="a sum",
        unit="1",
        sum=m.Sum(data_points=[point], aggregation_temporality=temporality, is_monotonic=True),
    )


def metrics_data(*metrics: m.Metric, **about: object) -> bytes:
    """Return a push of one client."""
    resource_metrics = m.ResourceMetrics(
        scope_metrics=[m.ScopeMetrics(metrics=metrics)], schema_url="https://example.org"
    )
    resource_metrics.resource.attributes.extend(pairs(about))
    data: bytes = m.MetricsData(resource_metrics=[resource_metrics]).SerializeToString()
    return data
