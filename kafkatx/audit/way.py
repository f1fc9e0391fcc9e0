"""The way of a topic through the tiers, and what is wrong on it, window by window. Pure.

Each tier is compared with its feeders, the tiers that its records come from::

    producer ──▶ broker:dc1 ──▶ mirror:dc1-dc2 ──▶ broker:dc2 ──▶ consumer:billing
                                                              └─▶ ingest:orders

A tier without announcements is left out, and the next one is compared with what is before it. Where the
mirror keeps offsets (it is a part of the target's brokers) it has no tier of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import attrs

from kafkatx.audit.tallies import Tally
from kafkatx.clientcore.audit.counts import SETTLE_MS
from kafkatx.clientcore.audit.tiers import BROKER, CONSUMER, INGEST, MIRROR, PRODUCER, Tier

TOPIC = "topic"
"""The kind of what is counted now, beside the tiers that announce: the records in a topic."""


@attrs.frozen
class Step:
    """A tier on the way, and the tiers that it should have the sum of; none: it is not compared."""

    tier: Tier
    feeders: tuple[Tier, ...] = ()


def way(tiers: Collection[Tier]) -> list[Step]:
    """Return the way of a topic that these tiers have counted, from the producers to the last readers."""
    by_kind: dict[tuple[str, int], list[Tier]] = {}
    for tier in sorted(tiers, key=lambda tier: tier.place):
        by_kind.setdefault((tier.kind, tier.cluster), []).append(tier)
    steps: list[Step] = []
    ends: dict[int, tuple[Tier, ...]] = {}
    before: tuple[Tier, ...] = ()
    clusters = sorted({tier.cluster for tier in tiers})
    for cluster in clusters:
        producers, mirrors = by_kind.get((PRODUCER, cluster), []), by_kind.get((MIRROR, cluster), [])
        steps += [Step(tier) for tier in producers]
        steps += [Step(tier, before) for tier in mirrors]
        written = (*producers, *mirrors) or before
        brokers = by_kind.get((BROKER, cluster), [])
        steps += [Step(tier, written) for tier in brokers]
        before = ends[cluster] = tuple(brokers) or written
    for kind in (CONSUMER, INGEST):
        for cluster in clusters:
            steps += [Step(tier, ends[cluster]) for tier in by_kind.get((kind, cluster), [])]
    return steps


@attrs.frozen
class Fault:
    """A tier whose number is not that of its feeders.

    :ivar expected: the sum of the feeders.
    :ivar count: the tier's number.
    """

    tier: Tier
    expected: int
    count: int

    @property
    def missing(self) -> int:
        """The number of records that the tier lacks."""
        return max(self.expected - self.count, 0)

    @property
    def more(self) -> int:
        """The number of records that the tier has beyond those of its feeders."""
        return max(self.count - self.expected, 0)


@attrs.frozen
class WayWindow:
    """One topic's window; times are in ms since the epoch.

    :ivar counts: the number of each tier on the way; 0 if it has announced none.
    :ivar open: records or announcements may still arrive, so the window is not judged.
    :ivar faults: the tiers that differ from their feeders, also while the window is open.
    """

    topic: str
    start_ms: int
    window_ms: int
    counts: Mapping[Tier, int]
    open: bool
    faults: tuple[Fault, ...]

    @property
    def end_ms(self) -> int:
        """The end, exclusive."""
        return self.start_ms + self.window_ms

    @property
    def wrong(self) -> bool:
        """True if a record is missing somewhere, or doubled behind the brokers."""
        return not self.open and any(fault.missing or fault.tier.kind != BROKER for fault in self.faults)


def judge(
    topic: str,
    steps: Sequence[Step],
    counts: Mapping[Tier, Mapping[int, Tally]],
    window_ms: int,
    now_ms: int,
    settle_ms: int = SETTLE_MS,
) -> Iterator[WayWindow]:
    """Yield each window that a tier on the way has counted, in order.

    A window is open until *settle_ms* after the last possible announcement, which is a window's length after
    its end, and until *settle_ms* after the last one that has arrived.
    """
    tiers = [step.tier for step in steps]
    starts = {start_ms for tier in tiers for start_ms in counts.get(tier, {})}
    nothing = Tally()
    for start_ms in sorted(starts):
        tallies = {tier: counts.get(tier, {}).get(start_ms, nothing) for tier in tiers}
        last_ms = max(start_ms + 2 * window_ms, *(tally.last_ms for tally in tallies.values()))
        faults = []
        for step in steps:
            expected = sum(tallies[feeder].count for feeder in step.feeders)
            if step.feeders and tallies[step.tier].count != expected:
                faults.append(Fault(step.tier, expected, tallies[step.tier].count))
        numbers = {tier: tally.count for tier, tally in tallies.items()}
        is_open = now_ms < last_ms + settle_ms
        yield WayWindow(topic, start_ms, window_ms, numbers, is_open, tuple(faults))
