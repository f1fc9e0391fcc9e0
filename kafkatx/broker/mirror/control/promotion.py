"""The steps of a mirrored topic between its states, and above all of its promotion. Pure.

The controller's broker asks for the next step again and again, and performs it. Every step may be repeated,
by another controller as well: a write names the record that it replaces, and is not made if that is another
by now. A promotion takes these steps::

    record                            step
    mirroring, paused or failed       Write: promoting, the next attempt
    promoting                         Wait, until the leader of each partition has stopped in this attempt
    promoting                         Write: the ends, for good
    promoting, with ends              RaiseProducerIds, ClampGroups
    promoting, with ends              Write: promoted, for good

Why the ends hold: a leader stops when it knows the record of the attempt, and says so with its leader epoch.
A later leader knows the record, since that was written before its election; so no leader appends any more, in
this attempt. A leader counts if its epoch is that of the cluster's state as the controller knows it, which is
later than the record; and if its high watermark is its log's end, so that every in-sync replica has all of
the log. Transactions that are open at the ends are aborted by the leaders, once the record says *promoted*
(:mod:`kafkatx.broker.mirror.promotion_markers`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import attrs

from kafkatx.clientcore.admin.mirror_status import FIRST_DERIVED_PRODUCER_ID, MirrorStatus
from kafkatx.config.mirror_record import MirrorRecord, MirrorState


@attrs.frozen
class Wanted:
    """The state that the settings want for a topic."""

    paused: bool = False
    promoted: bool = False


@attrs.frozen
class View:
    """The partitions of a topic as the controller knows them.

    :ivar epochs: for each partition the leader epoch of the cluster's state; -1 without a leader.
    :ivar reports: for each partition the last report of a leader, if there is one.
    """

    epochs: Sequence[int]
    reports: Mapping[int, MirrorStatus]


@attrs.frozen
class Done:
    """The steps after the ends that this controller has made itself; another one makes them again."""

    raised: bool = False
    clamped: bool = False


@attrs.frozen
class Write:
    """Replace the record."""

    before: MirrorRecord
    after: MirrorRecord


@attrs.frozen
class Wait:
    """Nothing can be done now; *why* is for a person."""

    why: str


@attrs.frozen
class RaiseProducerIds:
    """Raise the producer ids that the cluster hands out above this one; -1: they may be any."""

    above: int


@attrs.frozen
class ClampGroups:
    """Set committed offsets that are beyond the ends to these."""

    ends: tuple[int, ...]


Step: TypeAlias = Write | Wait | RaiseProducerIds | ClampGroups


def next_step(record: MirrorRecord, wanted: Wanted, view: View, done: Done) -> Step | None:
    """Return the next step of a topic; None if it is where it should be."""
    if record.state is MirrorState.PROMOTED:
        return None
    if record.state is MirrorState.PROMOTING:
        if record.ends is not None:
            return _finish(record, record.ends, view, done)
        return _stop(record, wanted, view)
    if wanted.promoted:
        return _begin(record, view)
    return _write(record, attrs.evolve(record, state=_resting(record, wanted), reason=_kept_reason(record)))


def _resting(record: MirrorRecord, wanted: Wanted) -> MirrorState:
    """Return the state of a topic that is not promoted; a failed one is left to the look at the source."""
    if record.state is MirrorState.FAILED:
        return MirrorState.FAILED
    return MirrorState.PAUSED if wanted.paused else MirrorState.MIRRORING


def _kept_reason(record: MirrorRecord) -> str:
    return record.reason if record.state is MirrorState.FAILED else ""


def _write(before: MirrorRecord, after: MirrorRecord) -> Write | None:
    return None if before == after else Write(before, after)


def _begin(record: MirrorRecord, view: View) -> Step:
    """Begin a promotion when all leaders answer."""
    for number, epoch in enumerate(view.epochs):
        report = view.reports.get(number)
        if report is None or not is_current(report, epoch):
            return Wait(f"the leader of partition {number} does not answer, or there is none")
    return Write(
        record,
        attrs.evolve(record, state=MirrorState.PROMOTING, reason="", ends=None, attempt=record.attempt + 1),
    )


def _stop(record: MirrorRecord, wanted: Wanted, view: View) -> Step:
    """Note the ends when every leader has stopped."""
    if not wanted.promoted:
        return Write(record, attrs.evolve(record, state=_resting(record, wanted)))
    for number, epoch in enumerate(view.epochs):
        report = view.reports.get(number)
        if report is None or not is_current(report, epoch):
            return Wait(f"the leader of partition {number} does not answer, or there is none")
        if not (is_of_attempt(report, record) and has_stopped(report)):
            return Wait(f"the leader of partition {number} has not stopped yet")
        if not is_replicated(report):
            return Wait(f"replicas of partition {number} do not have all of it yet")
    ends = tuple(view.reports[number].log_end for number in range(len(view.epochs)))
    return Write(record, attrs.evolve(record, ends=ends))


def _finish(record: MirrorRecord, ends: tuple[int, ...], view: View, done: Done) -> Step:
    if not done.raised:
        for number, epoch in enumerate(view.epochs):
            report = view.reports.get(number)
            if report is None or not is_current(report, epoch):
                return Wait(f"the leader of partition {number} does not answer, or there is none")
        return RaiseProducerIds(greatest_producer_id(view.reports.values()))
    if not done.clamped:
        return ClampGroups(ends)
    return Write(record, attrs.evolve(record, state=MirrorState.PROMOTED, reason=""))


def is_current(report: MirrorStatus, epoch: int) -> bool:
    """Return True if a report is of the leader that the cluster's state has."""
    return 0 <= epoch == report.leader_epoch


def is_of_attempt(report: MirrorStatus, record: MirrorRecord) -> bool:
    """Return True if the reporting leader knows the record of this attempt."""
    return report.attempt == record.attempt


def has_stopped(report: MirrorStatus) -> bool:
    """Return True if a leader appends nothing of the link, not even what was under way."""
    return report.stopped


def is_replicated(report: MirrorStatus) -> bool:
    """Return True if every in-sync replica has the whole log, so that any of them may lead."""
    return 0 <= report.log_end == report.high_watermark


def greatest_producer_id(reports: Iterable[MirrorStatus]) -> int:
    """Return the greatest producer id that the cluster could hand out, too; -1 if there is none."""
    return max(
        (one.max_producer_id for one in reports if one.max_producer_id < FIRST_DERIVED_PRODUCER_ID),
        default=-1,
    )
