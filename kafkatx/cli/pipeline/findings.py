"""The sentences of ``kafkatx audit --way``: what is wrong, in which tier, and since when. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kafkatx.audit.way import TOPIC, Fault, Step, WayWindow
from kafkatx.cli.pipeline.audit_rows import time_text
from kafkatx.clientcore.audit.tiers import BROKER, CONSUMER, INGEST, MIRROR
from kafkatx.names import counted

if TYPE_CHECKING:
    from kafkatx.audit.tallies import Tallies
    from kafkatx.clientcore.audit.tiers import Tier

MOST_HOLES = 3
"""The number of ranges of offsets that a sentence names."""

_MISSING = {
    BROKER: "lost, or removed by retention or compaction before they were counted",
    MIRROR: "not copied yet, or lost",
    CONSUMER: "not read yet, lost, or read by a consumer that crashed before it announced them",
    INGEST: "not loaded yet, or lost",
    TOPIC: "lost, or removed by retention or compaction since",
}
_ABSENT = ": retention or compaction had removed it before it was counted"
_MORE = {
    BROKER: "of a producer without audit, or of one that crashed before it announced them, or doubled by a"
    " retry without idempotence",
    MIRROR: "copied twice, or not counted in the tier before",
    CONSUMER: "read again, or not counted in the tier before",
    INGEST: "loaded twice, or not counted in the tier before",
    TOPIC: "doubled, or not counted in the tier before",
}


def findings(topic: str, steps: Sequence[Step], windows: Sequence[WayWindow]) -> Iterator[str]:
    """Yield a sentence for each tier that lacks records in closed windows, and for each that has more."""
    judged = [window for window in windows if not window.open]
    found = False
    for step in steps:
        hits = [
            (number, window, fault)
            for number, window in enumerate(judged)
            for fault in window.faults
            if fault.tier == step.tier
        ]
        feeders = " and ".join(map(str, step.feeders))
        for missing in (True, False):
            chosen = [hit for hit in hits if (hit[2].missing if missing else hit[2].more)]
            if chosen:
                found = True
                yield f"{topic}: " + _sentence(step.tier, feeders, chosen, missing, len(judged))
    if judged and not found and any(step.feeders for step in steps):
        names = ", ".join(str(step.tier) for step in steps)
        closed = f"all {len(judged)} closed windows" if len(judged) > 1 else "the closed window"
        yield f"{topic}: the numbers of {names} are equal in {closed}"


def _sentence(
    tier: Tier, feeders: str, hits: Sequence[tuple[int, WayWindow, Fault]], missing: bool, judged: int
) -> str:
    number = sum(fault.missing if missing else fault.more for _, _, fault in hits)
    expected = sum(fault.expected for _, _, fault in hits)
    records = "record" if number == 1 else "records"
    causes = _MISSING if missing else _MORE
    if missing:
        text = f"{tier} lacks {number} of the {counted(expected, 'record')} of {feeders}"
    else:
        text = f"{tier} has {number} {records} more than {feeders}"
    return f"{text} {_when(hits, judged)} ({causes.get(tier.kind, 'the tier before has other numbers')})"


def _when(hits: Sequence[tuple[int, WayWindow, Fault]], judged: int) -> str:
    first, last = hits[0][1], hits[-1][1]
    if len(hits) == 1:
        return f"in the window from {time_text(first.start_ms)} to {time_text(first.end_ms)}"
    if hits[-1][0] == judged - 1:
        return (
            f"since {time_text(first.start_ms)}, in {counted(len(hits), 'window')}, the last"
            f" closed one among them"
        )
    return f"from {time_text(first.start_ms)} to {time_text(last.end_ms)}, in {counted(len(hits), 'window')}"


def remarks(topic: str, steps: Sequence[Step], tallies: Tallies) -> Iterator[str]:
    """Yield a sentence for offsets that a tier has not counted, and for a tier that is behind."""
    for step in steps:
        for one in tallies.uncounted(step.tier, topic):
            if one.holes:
                named = ", ".join(f"{start} to {end - 1}" for start, end in one.holes[:MOST_HOLES])
                more = f" and {len(one.holes) - MOST_HOLES} more" if len(one.holes) > MOST_HOLES else ""
                yield f"{topic}-{one.partition}: {step.tier} has not announced the offsets {named}{more}"
            if one.absent:
                cause = _ABSENT if step.tier.kind == BROKER else ""
                have = "offset has" if one.absent == 1 else "offsets have"
                yield f"{topic}-{one.partition}: {one.absent} {have} no record in {step.tier}{cause}"
        for feeder in step.feeders:
            lag = tallies.behind(step.tier, feeder, topic)
            if lag:
                offsets = "offset" if lag == 1 else "offsets"
                yield f"{topic}: {step.tier} is {lag} {offsets} behind {feeder}"


def clock_remarks(clocks: Mapping[str, int]) -> Iterator[str]:
    """Yield a sentence for each server whose clock is far off."""
    for server, ahead_ms in sorted(clocks.items()):
        way = "ahead of" if ahead_ms > 0 else "behind"
        yield (
            f"the clock of {server or 'an unnamed server'} was {abs(ahead_ms) / 1000:.0f} s {way} the"
            " brokers': records that it stamped are in the windows of its own time"
        )
