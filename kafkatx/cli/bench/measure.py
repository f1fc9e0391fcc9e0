"""The result of a ``kafkatx bench`` run: percentiles, and its forms for people and for programs. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from math import ceil
from typing import TypedDict

import attrs

from kafkatx.names import counted

PERCENTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}


class Summary(TypedDict):
    """The JSON object of a run."""

    records_per_s: float
    mb_per_s: float
    latency_ms: dict[str, float | None]
    cpu_s: float


@attrs.frozen
class Measured:
    """One run.

    :ivar bytes: size of all values.
    :ivar latencies: in seconds.
    :ivar cpu_s: CPU time of this process: the client alone.
    """

    records: int
    bytes: int
    seconds: float
    latencies: array[float]
    cpu_s: float

    def summary(self) -> Summary:
        """Return the JSON object. A megabyte is 1,000,000 bytes; a percentile of no values is None."""
        ordered = sorted(self.latencies)
        return {
            "records_per_s": round(self.records / self.seconds, 1),
            "mb_per_s": round(self.bytes / self.seconds / 1e6, 3),
            "latency_ms": {name: _ms(percentile(ordered, part)) for name, part in PERCENTILES.items()},
            "cpu_s": round(self.cpu_s, 3),
        }

    def lines(self) -> list[str]:
        """Return the lines for a person."""
        summary = self.summary()
        times = [f"{name} {_text(ms)}" for name, ms in summary["latency_ms"].items()]
        return [
            f"{counted(self.records, 'message')}, {self.bytes:,} bytes in {self.seconds:.3f} s",
            f"{summary['records_per_s']:,.0f} messages/s, {summary['mb_per_s']:,.1f} MB/s",
            f"latency {', '.join(times)}",
            f"CPU {self.cpu_s:.2f} s",
        ]


def percentile(ordered: Sequence[float], part: float) -> float | None:
    """Return the smallest value that at least *part* of all values do not exceed.

    >>> percentile([1.0, 2.0, 3.0, 4.0], 0.5)
    2.0
    """
    if not ordered:
        return None
    return ordered[max(0, ceil(part * len(ordered)) - 1)]


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 3)


def _text(ms: float | None) -> str:
    return "none" if ms is None else f"{ms:.3f} ms"
