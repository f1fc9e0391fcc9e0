"""A partition as on a broker, as far as producers need it: order, duplicates, gaps."""

from __future__ import annotations

import attrs

from kafkatx.errors import ErrorCode
from kafkatx.log.producer_state import ProducerBatch, ProducerStateManager
from kafkatx.records.batch import check, iter_records, parse_header


@attrs.define
class Partition:
    """Accepts batches by :mod:`kafkatx.log.producer_state`, the broker's own check.

    :ivar old: as before Kafka 2.5 a producer that it does not know has to begin with sequence 0.
    """

    values: list[bytes | None] = attrs.Factory(list)
    max_bytes: int = 1 << 30
    producers: ProducerStateManager = attrs.Factory(ProducerStateManager)
    batches: list[bytes] = attrs.Factory(list)
    old: bool = False

    def forget(self) -> None:
        """Forget all producers, as after retention has deleted all batches."""
        self.producers = ProducerStateManager()

    def append(self, data: bytes) -> tuple[ErrorCode, int]:
        """Append a batch; return error code and base offset."""
        header = parse_header(data)
        check(memoryview(data), 0, header, produced=True)
        if len(data) > self.max_bytes:
            return ErrorCode.MESSAGE_TOO_LARGE, -1
        base = len(self.values)
        if header.producer_id >= 0:
            id_and_epoch = (header.producer_id, header.producer_epoch, header.base_sequence)
            if self.old and header.base_sequence and header.producer_id not in self.producers.states:
                return ErrorCode.UNKNOWN_PRODUCER_ID, -1
            judged = self.producers.check(*id_and_epoch, header.count)
            if isinstance(judged, ErrorCode):
                return judged, -1
            if isinstance(judged, ProducerBatch):
                return ErrorCode.NONE, judged.base_offset
            self.producers.record(*id_and_epoch, base, base + header.count - 1, 0)
        self.values += [record.value for record in iter_records(memoryview(data))]
        self.batches.append(data)
        return ErrorCode.NONE, base
