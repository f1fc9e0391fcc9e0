"""The metrics of a push: OpenTelemetry's ``MetricsData``, as far as clients of Kafka send it (KIP-714). Pure.

Field numbers are those of ``opentelemetry/proto/metrics/v1/metrics.proto`` and ``common.proto``::

    MetricsData      1 ResourceMetrics*
    ResourceMetrics  1 Resource(1 KeyValue*), 2 ScopeMetrics*
    ScopeMetrics     2 Metric*
    Metric           1 name, 5 Gauge(1 NumberDataPoint*), 7 Sum(1 NumberDataPoint*, 2 temporality)
    NumberDataPoint  4 double, 6 sfixed64, 7 KeyValue*
    KeyValue         1 key, 2 AnyValue(1 string, 2 bool, 3 int64, 4 double)

Histograms and summaries, which no client sends, are passed over. A payload is bounded by its size, and the
points that are kept by :class:`Bounds`.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from typing import TypeAlias

import attrs

from kafkatx.broker.telemetry.protobuf import BYTES, Malformed, double, fields, int64, signed

Labels: TypeAlias = "tuple[tuple[str, str], ...]"
"""Names and values, in the order of the names."""

_DELTA = 1


class Kind(enum.Enum):
    """The kind of a metric."""

    GAUGE = "gauge"
    DELTA = "delta"
    """A sum of what came since the push before."""
    CUMULATIVE = "cumulative"


@attrs.frozen
class Point:
    """A value of a metric."""

    name: str
    kind: Kind
    value: float
    labels: Labels = ()


@attrs.frozen
class Push:
    """The content of a push.

    :ivar labels: about the client: ``group_id``, ``transactional_id``, ``client_rack``, ...
    :ivar dropped: the metrics that are above the bounds, at least in part; they are not read.
    """

    labels: Labels
    points: tuple[Point, ...]
    dropped: int = 0


@attrs.frozen
class Bounds:
    """The bounds of what is kept of a push."""

    points: int = 2000
    labels: int = 16
    characters: int = 200
    """Longer names and values are cut."""


def read(data: bytes | memoryview, bounds: Bounds | None = None) -> Push:
    """Read the points of a push.

    :raises Malformed: it is no ``MetricsData``.
    """
    bounds = bounds or Bounds()
    about: dict[str, str] = {}
    points: list[Point] = []
    dropped = 0
    for resource_metrics in _messages(memoryview(data), 1):
        for resource in _messages(resource_metrics, 1):
            about.update(_labels(resource, 1, bounds))
        for scope_metrics in _messages(resource_metrics, 2):
            for metric in _messages(scope_metrics, 2):
                if len(points) >= bounds.points:
                    dropped += 1
                    continue
                for point in _points(metric, bounds):
                    if len(points) >= bounds.points:
                        dropped += 1
                        break
                    points.append(point)
    return Push(tuple(sorted(about.items())[: bounds.labels]), tuple(points), dropped)


def _messages(data: memoryview, wanted: int) -> Iterator[memoryview]:
    """Yield the bytes of each field with a number."""
    for number, kind, value in fields(data):
        if number == wanted:
            if kind != BYTES or isinstance(value, int):
                raise Malformed(f"field {number} is not a message")
            yield value


def _points(metric: memoryview, bounds: Bounds) -> Iterator[Point]:
    name = ""
    found: list[tuple[bool, memoryview]] = []
    for number, _, value in fields(metric):
        if isinstance(value, memoryview):
            if number == 1:
                name = _text(value, bounds)
            elif number in (5, 7):
                found.append((number == 7, value))
    for is_sum, data in found:
        kind = _sum_kind(data) if is_sum else Kind.GAUGE
        for point in _messages(data, 1):
            number_value, labels = _number_point(point, bounds)
            if number_value is not None and name:
                yield Point(name, kind, number_value, labels)


def _sum_kind(data: memoryview) -> Kind:
    kind = Kind.CUMULATIVE
    for number, _, value in fields(data):
        if number == 2 and value == _DELTA:
            kind = Kind.DELTA
    return kind


def _number_point(data: memoryview, bounds: Bounds) -> tuple[float | None, Labels]:
    """Return the value of a point, None if it has none that is a number, and its labels."""
    result: float | None = None
    for number, _, value in fields(data):
        if isinstance(value, memoryview):
            if number == 4:
                result = double(value)
            elif number == 6:
                result = float(int64(value))
    if result is not None and not math.isfinite(result):
        result = None
    return result, tuple(sorted(_labels(data, 7, bounds).items()))


def _labels(data: memoryview, number: int, bounds: Bounds) -> dict[str, str]:
    """Return names and values of the ``KeyValue`` fields with a number."""
    found: dict[str, str] = {}
    for pair in _messages(data, number):
        key, text = "", ""
        for part, _, value in fields(pair):
            if isinstance(value, memoryview):
                if part == 1:
                    key = _text(value, bounds)
                elif part == 2:
                    text = _any_value(value, bounds)
        if key:
            found[key] = text
        if len(found) >= bounds.labels:
            break
    return found


def _any_value(data: memoryview, bounds: Bounds) -> str:
    """Return a value as text; lists and maps are empty."""
    text = ""
    for number, _, value in fields(data):
        if isinstance(value, int):
            if number == 2:
                text = "true" if value else "false"
            elif number == 3:
                text = str(signed(value))
        elif number == 1:
            text = _text(value, bounds)
        elif number == 4:
            text = repr(double(value))
    return text


def _text(data: memoryview, bounds: Bounds) -> str:
    """Return text, cut to its bound.

    :raises Malformed: it is not UTF-8.
    """
    try:
        return str(data, "utf-8")[: bounds.characters]
    except UnicodeDecodeError:
        raise Malformed("a text is not UTF-8") from None
