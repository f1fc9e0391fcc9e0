"""The in-sync replicas of partitions after the last fault: all replicas, within a minute. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from tests.cluster.checker.findings import Findings, Kind

MOST_S = 60.0


@attrs.frozen
class Placement:
    """A partition as a broker describes it."""

    partition: str
    leader: int
    replicas: frozenset[int]
    in_sync: frozenset[int]

    @property
    def whole(self) -> bool:
        """True if it has a leader and all of its replicas are in sync."""
        return self.leader >= 0 and self.in_sync == self.replicas


@attrs.frozen
class Sample:
    """Placements at a time; none if no broker has answered."""

    time_s: float
    placements: Sequence[Placement]


def check_whole(healed_s: float, samples: Iterable[Sample], findings: Findings) -> float | None:
    """Find the first time at which every partition is whole; return how long that took, None if it is never.

    :param healed_s: the time at which the last fault ended.
    """
    last: Sample | None = None
    for sample in samples:
        took_s = sample.time_s - healed_s
        if took_s >= 0 and sample.placements:
            if took_s <= MOST_S and all(placement.whole for placement in sample.placements):
                return took_s
            last = sample
    if last is None:
        findings.add(Kind.NOT_WHOLE, "no broker has answered")
        return None
    for placement in last.placements:
        if not placement.whole:
            findings.add(
                Kind.NOT_WHOLE,
                f"{placement.partition}: leader {placement.leader}, in sync {sorted(placement.in_sync)} of "
                f"{sorted(placement.replicas)} {last.time_s - healed_s:.0f} s after the last fault",
            )
    if all(placement.whole for placement in last.placements):
        findings.add(Kind.NOT_WHOLE, f"every partition only after {last.time_s - healed_s:.0f} s")
    return None
