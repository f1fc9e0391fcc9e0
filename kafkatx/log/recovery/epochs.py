"""Recovery of a log's leader epochs: its checkpoint compared with its batches.

The checkpoint is used if no batch that was read contradicts it. If it is missing, empty, damaged or
contradicted, the epochs are rebuilt from the headers of all batches
(:class:`kafkatx.log.leader_epochs.EpochEvidence` has the rules). After a crash it may be older than the
batches that were scanned: their epochs count, but for those that do not fit between their neighbours.

An epoch that begins at the log's end has no batch: a broker became leader in it and wrote nothing. Only the
checkpoint has it, and it is kept. One that begins beyond the end is forgotten: the log has lost records.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from twisted.logger import Logger

from kafkatx.errors import CorruptRecords
from kafkatx.log.checkpoint import LEADER_EPOCHS, CheckpointDamaged, decode_epochs, encode_epochs
from kafkatx.log.files import Files
from kafkatx.log.leader_epochs import EpochEvidence, LeaderEpochCache
from kafkatx.log.segment.scan import Shallow
from kafkatx.log.segment.segment import LogSegment
from kafkatx.types import NO_LEADER_EPOCH


class EpochRecovery:
    """Recovers the leader epochs of one log.

    :param evidence: the epochs of the batches that were scanned.
    :param scanned_from: the offset of the first one; None if none was.
    """

    _log = Logger()

    def __init__(
        self,
        files: Files,
        directory: str,
        segments: Sequence[LogSegment],
        evidence: EpochEvidence,
        scanned_from: int | None,
    ) -> None:
        self._files = files
        self._path = os.path.join(directory, LEADER_EPOCHS)
        self._segments = segments
        self._evidence = evidence
        self._scanned_from = scanned_from

    def epochs(self, lasts: Iterable[Shallow], log_start_offset: int, end_offset: int) -> LeaderEpochCache:
        """Return the epochs; write the checkpoint if it has others.

        :param lasts: batches that were read outside of the scan.
        :raises OSError: a file cannot be read or written.
        """
        checkpoint = self._read()
        entries = checkpoint.entries
        crashed = self._scanned_from is not None
        if (
            not entries
            or self._begins_late(entries[0][1], log_start_offset)
            or self._contradicted(checkpoint, lasts)
        ):
            if entries:
                self._log.warn("{path} contradicts the batches; it is rebuilt from them", path=self._path)
            epochs = LeaderEpochCache(self._all_evidence().entries(checkpoint, may_be_old=crashed))
            epochs.cut_start(log_start_offset)
        elif self._scanned_from is None:
            epochs = LeaderEpochCache(entries)
        else:
            below = LeaderEpochCache(entry for entry in entries if entry[1] < self._scanned_from)
            scanned = self._evidence.entries(checkpoint, below.latest, may_be_old=True)
            epochs = LeaderEpochCache([*below.entries, *scanned])
            epochs.cut_start(log_start_offset)
        epochs.cut_end(end_offset)
        for epoch, start_offset in entries:
            if start_offset == end_offset:
                epochs.assign(epoch, start_offset)  # its leader has written nothing, or that is lost
        if epochs.entries != entries:
            self._files.replace(self._path, encode_epochs(epochs.entries))
        epochs.version = 0
        return epochs

    def _read(self) -> LeaderEpochCache:
        """Return the epochs of the checkpoint; none if it cannot be read. Apache Kafka makes it empty."""
        data = self._files.read(self._path)
        if not data:
            return LeaderEpochCache()
        try:
            return LeaderEpochCache(decode_epochs(data))
        except CheckpointDamaged as error:
            self._log.warn(
                "{path} cannot be read: {error}; it is rebuilt from the batches", path=self._path, error=error
            )
            return LeaderEpochCache()

    def _begins_late(self, first_known: int, log_start_offset: int) -> bool:
        """Return True if the first batches have epochs that the checkpoint lacks."""
        if first_known <= log_start_offset:
            return False
        try:
            first = next(self._segments[0].walk(), None)
        except CorruptRecords:
            return False
        return first is not None and first.leader_epoch != NO_LEADER_EPOCH

    def _contradicted(self, checkpoint: LeaderEpochCache, lasts: Iterable[Shallow]) -> bool:
        # Epochs below the log start offset are not kept.
        first_known = checkpoint.entries[0][1]
        return self._evidence.contradicts(checkpoint) or any(
            batch.base_offset >= first_known and checkpoint.at(batch.base_offset) != batch.leader_epoch
            for batch in lasts
            if batch.magic == 2
        )

    def _all_evidence(self) -> EpochEvidence:
        """Read the headers of all batches; a log in an old format has no epochs up to its last old record."""
        evidence = EpochEvidence()
        for segment in self._segments:
            try:
                for batch in segment.walk():
                    if batch.magic < 2:
                        evidence = EpochEvidence()
                        break
                    evidence.note(batch.leader_epoch, batch.base_offset)
            except CorruptRecords:
                continue  # readers of the segment get CORRUPT_MESSAGE
        return evidence
