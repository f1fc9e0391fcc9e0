"""DescribeSamples (key 10104), version 0: what a broker has sampled of itself, for charts of its cluster.

It is kafkatx's own, and ApiVersions does not list it: no other client meets a key that it does not know.
"""

from __future__ import annotations

from kafkatx.wire.schema import (
    BYTES,
    FLOAT64,
    INT16,
    INT32,
    INT64,
    STRING,
    Message,
    Struct,
    array,
    field,
    nullable,
)


class DescribeSamplesRequest(Message, key=10104, versions=(0, 0), flexible=0):
    """Request the newest samples, and some series over time.

    There are ``count`` intervals of ``step_ms``; the first begins at ``first * step_ms``, in ms since 1970.
    """

    series: list[str] = field(array(STRING))
    step_ms: int = field(INT64)
    first: int = field(INT64)
    count: int = field(INT32)


class LatestSample(Struct):
    """The newest value of a series."""

    name: str = field(STRING)
    value: float = field(FLOAT64)


class SampledSeries(Struct):
    """A series: ``values`` has a float32, big endian, for each interval; NaN where nothing is known."""

    name: str = field(STRING)
    values: bytes = field(BYTES)


class DescribeSamplesResponse(Message, key=10104, versions=(0, 0), flexible=0):
    """The samples; ``latest`` is empty if the broker takes none, for it has no console."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    latest: list[LatestSample] = field(array(LatestSample))
    series: list[SampledSeries] = field(array(SampledSeries))
