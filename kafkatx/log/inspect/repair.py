"""The repair of a partition: a plan with steps, and its execution. Changes files.

The log is cut before its first fault, as recovery does after a crash; the data after it is cut off, too,
because offsets in a log have no gaps. Only files that can be rebuilt are deleted; all other data is kept
under the names in :mod:`kafkatx.log.recovery.cut_files`.

An interrupted repair can be repeated because of its order: first the clean-shutdown marker is removed, then
segments from the last one backwards, then the log is cut; indexes, epochs and checkpoints follow.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import attrs

from kafkatx.log.checkpoint import CLEAN_SHUTDOWN, LEADER_EPOCHS, encode_epochs, encode_offsets
from kafkatx.log.files import Files
from kafkatx.log.inspect.faults import Amount, Cut, Fault, Remedy
from kafkatx.log.inspect.logdir import Check
from kafkatx.log.inspect.partition import PartitionCheck
from kafkatx.log.inspect.paths import (
    OFFSET_CHECKPOINTS,
    base_offset_of,
    base_offsets,
    partition_of,
    segment_path,
)
from kafkatx.log.inspect.segment import Advance
from kafkatx.log.inspect.transactions import rebuild
from kafkatx.log.leader_epochs import EpochEvidence, LeaderEpochCache
from kafkatx.log.recovery.cut_files import free_name, keep_rest, keep_whole
from kafkatx.log.segment.scan import Shallow, walk
from kafkatx.records.header import LEADER_EPOCH_AT, MAGIC
from kafkatx.types import NO_LEADER_EPOCH, SharedFile, TopicPartition


class Step(NamedTuple):
    """A step of a repair: its description and its function."""

    what: str
    run: Callable[[], None]


@attrs.define
class Plan:
    """The steps for a partition, or for the checkpoints of a log dir.

    :ivar end_offset: the log end offset after the repair, if the log is cut.
    :ivar lost: the complete batches that are cut off; its bytes are all bytes that are cut off.
    """

    directory: str
    faults: int = 0
    steps: list[Step] = attrs.Factory(list)
    end_offset: int | None = None
    lost: Amount | None = None


def plans(files: Files, check: Check, advance: Advance) -> Iterator[Plan]:
    """Run *check* and yield a plan for each part with faults."""
    own = [found for found in map(check.checkpoint_fault, OFFSET_CHECKPOINTS) if found]
    if own:
        plan = Plan(check.log_dir, len(own))
        plan.steps += [_put_aside(files, fault.path) for fault in own]
        yield plan
    for directory in check.directories():
        plan = _Planner(files, check, directory, advance).plan()
        if plan.faults:
            yield plan


def execute(plan: Plan) -> None:
    """Execute the steps of a plan.

    :raises OSError: a step has failed; those before it are done.
    """
    for step in plan.steps:
        step.run()


class _Planner:
    """Makes the plan for one partition."""

    def __init__(self, files: Files, check: Check, directory: str, advance: Advance) -> None:
        self._files = files
        self._check = check
        self._directory = directory
        self._partition = check.partition(directory, advance)
        self._plan = Plan(directory)
        self._indexes: set[int] = set()
        self._aside: list[str] = []
        self._epochs_damaged = False
        self._transactions_damaged = False

    def plan(self) -> Plan:
        for fault in self._partition.faults():
            self._note(fault)
        end_offset = self._partition.end_offset
        offsets_beyond = list(self._check.beyond(self._partition))
        self._plan.faults += len(offsets_beyond)
        cut = self._partition.tally.cut
        if cut is not None:
            end_offset = cut.end_offset
            self._cut(cut, self._partition)
        for path in self._aside:
            self._plan.steps.append(_put_aside(self._files, path))
        for base_offset in sorted(self._indexes):
            name = f"{base_offset:020d}"
            run = partial(reindex, self._files, self._directory, base_offset)
            self._plan.steps.append(Step(f"build the indexes of {name}.log anew", run))
        if self._transactions_damaged:
            what = "build the indexes of aborted transactions anew"
            self._plan.steps.append(Step(what, partial(rebuild, self._files, self._directory)))
        self._epochs(end_offset, cut is not None)
        if cut is not None or offsets_beyond:
            self._checkpoints(end_offset)
        return self._plan

    def _note(self, fault: Fault) -> None:
        self._plan.faults += 1
        if fault.remedy is Remedy.REINDEX:
            self._indexes.add(base_offset_of(fault.path))
        elif fault.remedy is Remedy.REMOVE:
            self._aside.append(fault.path)
        elif fault.remedy is Remedy.EPOCHS:
            self._epochs_damaged = True
        elif fault.remedy is Remedy.TRANSACTIONS:
            self._transactions_damaged = True

    def _cut(self, cut: Cut, found: PartitionCheck) -> None:
        plan, files = self._plan, self._files
        self._transactions_damaged = bool(base_offsets(self._directory, "txnindex"))
        plan.end_offset, plan.lost = cut.end_offset, found.tally.lost
        marker = os.path.join(self._check.log_dir, CLEAN_SHUTDOWN)
        if files.exists(marker):
            remove = partial(_remove_marker, files, marker)
            plan.steps.append(
                Step("remove the clean-shutdown marker: the next start checks the logs", remove)
            )
        # A segment whose base offset is not the new end offset must be removed, even if it would be empty.
        whole = cut.position == 0 and cut.base_offset != cut.end_offset
        going = [
            base for base in found.bases if base > cut.base_offset or (whole and base == cut.base_offset)
        ]
        for base_offset in reversed(going):
            paths = [segment_path(self._directory, base_offset, suffix) for suffix in ("index", "timeindex")]
            plan.steps.append(
                Step(f"remove the indexes of {base_offset:020d}.log", partial(_unlink, files, paths))
            )
            for suffix in ("log", "txnindex"):
                path = segment_path(self._directory, base_offset, suffix)
                if files.exists(path):
                    plan.steps.append(_put_aside(files, path))
        self._indexes -= set(going)
        if not whole:
            path = segment_path(self._directory, cut.base_offset, "log")
            plan.steps.append(_cut_off(files, path, cut.position))
            self._indexes.add(cut.base_offset)
        for offset in base_offsets(self._directory, "snapshot"):
            path = segment_path(self._directory, offset, "snapshot")
            if offset > cut.end_offset and path not in self._aside:
                self._aside.append(path)

    def _epochs(self, end_offset: int, cut: bool) -> None:
        path = os.path.join(self._directory, LEADER_EPOCHS)
        known = self._partition.read_epochs()
        if isinstance(known, Fault):
            self._plan.steps.append(_put_aside(self._files, path))
            known = None
        elif not self._epochs_damaged and (known is None or not (cut and _reach(known, end_offset))):
            return
        run = partial(
            _write_epochs,
            self._files,
            self._directory,
            known or LeaderEpochCache(),
            end_offset,
            may_be_old=not self._check.clean,
        )
        what = f"write {LEADER_EPOCHS} anew, as far as offset {end_offset}, and what a batch says otherwise"
        self._plan.steps.append(Step(what, run))

    def _checkpoints(self, end_offset: int) -> None:
        whose = partition_of(os.path.realpath(self._directory))
        for name in OFFSET_CHECKPOINTS:
            offsets = self._check.offsets(name)
            if whose is not None and offsets.get(whose, 0) > end_offset:
                offsets[whose] = end_offset
                path = os.path.join(self._check.log_dir, name)
                # Encoded when it runs: the plan of another partition may lower its own offset before.
                run = partial(_write_offsets, self._files, path, offsets)
                self._plan.steps.append(Step(f"write {end_offset} for {whose} into {name}", run))


# --- the steps


def _put_aside(files: Files, path: str) -> Step:
    """Return the step that renames a file."""
    kept, size = free_name(files, path, 0), files.size(path)
    what = f"put {os.path.basename(path)}, {size:,} bytes, aside as {os.path.basename(kept)}"
    return Step(what, partial(keep_whole, files, path, kept))


def _cut_off(files: Files, path: str, position: int) -> Step:
    """Return the step that copies the data after a position and cuts it off."""
    kept = free_name(files, path, position)

    def run() -> None:
        keep_rest(files, path, position, kept)
        file = files.open(path)
        files.truncate(file, position)
        files.sync(file)

    name, rest = os.path.basename(path), files.size(path) - position
    return Step(f"cut {name} at byte {position}; keep the {rest:,} bytes as {os.path.basename(kept)}", run)


def _reach(epochs: LeaderEpochCache, end_offset: int) -> bool:
    """Return True if there are epochs after the new end of the log."""
    return bool(epochs.entries) and epochs.entries[-1][1] >= end_offset


def _remove_marker(files: Files, path: str) -> None:
    files.unlink(path)
    files.sync_dir(os.path.dirname(path))


def _unlink(files: Files, paths: list[str]) -> None:
    for path in paths:
        files.unlink(path)


def _write_offsets(files: Files, path: str, offsets: dict[TopicPartition, int]) -> None:
    files.replace(path, encode_offsets(offsets))


def _write_epochs(
    files: Files, directory: str, known: LeaderEpochCache, end_offset: int, may_be_old: bool
) -> None:
    """Write the epochs on which batches and checkpoint agree, into it and into batches with another one.

    See :class:`~kafkatx.log.leader_epochs.EpochEvidence`. No checksum covers a batch's leader
    epoch.

    :param may_be_old: the broker has crashed, so that the checkpoint may be older than batches.
    """
    evidence = EpochEvidence()
    for _, batch in _batches(files, directory):
        evidence.note(batch.leader_epoch, batch.base_offset)
    epochs = LeaderEpochCache(evidence.entries(known, may_be_old=may_be_old))
    epochs.cut_end(end_offset)
    for file, batch in _batches(files, directory):
        epoch = epochs.at(batch.base_offset)
        known_both = NO_LEADER_EPOCH not in (epoch, batch.leader_epoch)
        if batch.magic == MAGIC and known_both and batch.leader_epoch != epoch:
            files.writev(file, [epoch.to_bytes(4, "big")], batch.position + LEADER_EPOCH_AT, 4)
            files.sync(file)
    for known_epoch, start_offset in known.entries:
        if start_offset == end_offset:
            epochs.assign(known_epoch, start_offset)  # it has no batch yet; recovery keeps it, too
    files.replace(os.path.join(directory, LEADER_EPOCHS), encode_epochs(epochs.entries))


def _batches(files: Files, directory: str) -> Iterator[tuple[SharedFile, Shallow]]:
    for base_offset in base_offsets(directory, "log"):
        path = segment_path(directory, base_offset, "log")
        file = files.open(path)
        for batch in walk(files, file, 0, files.size(path)):
            yield file, batch


def reindex(files: Files, directory: str, base_offset: int) -> None:
    """Rebuild both indexes of a segment and sync them to the disk."""
    from kafkatx.log.segment.segment import LogSegment

    size = files.size(segment_path(directory, base_offset, "log"))
    segment = LogSegment(files, directory, base_offset, size, 0)
    segment.reindex()
    for file in segment.to_sync():
        files.sync_any(file)
    files.sync_dir(directory)
