"""The node ``/latest_producer_id_block``: the block of producer ids that a broker reserved last. Pure.

``{"version":1,"broker":1,"block_start":"0","block_end":"999"}``: the end is inclusive, numbers are texts
(``kafka.zk.ProducerIdBlockZNode``). It is set with its version, so that no two brokers reserve the same
block.
"""

from __future__ import annotations

import attrs

from kafkatx.metadata.layout.fields import INT64_MAX, encode, parse
from kafkatx.metadata.layout.paths import PRODUCER_IDS

VERSION = 1
BLOCK_SIZE = 1000
"""Number of ids in a block of Apache Kafka."""
IDS_PER_S = 1 << 20


@attrs.frozen
class ProducerIdBlock:
    """The block that was reserved last.

    :ivar broker_id: the broker that reserved it.
    :ivar ids: the producer ids.
    """

    broker_id: int
    ids: range

    def encode(self) -> bytes:
        """Return the content of the node."""
        return encode(
            {
                "version": VERSION,
                "broker": self.broker_id,
                "block_start": str(self.ids.start),
                "block_end": str(self.ids.stop - 1),
            }
        )


def decode(data: bytes) -> ProducerIdBlock | None:
    """Read the content of the node; None if no block was reserved yet: Apache Kafka makes it empty at first.

    :raises UnreadableNode: it is not one of version 1, or its end is before its start.
    """
    if not data:
        return None
    fields = parse(PRODUCER_IDS, data)
    fields.version(VERSION, VERSION)
    start, end = fields.number_text("block_start"), fields.number_text("block_end")
    if end < start:
        raise fields.wrong("block_end", "a number as text that is at least block_start")
    return ProducerIdBlock(fields.integer("broker"), range(start, end + 1))


def first_producer_id(now_s: float) -> int:
    """Return a producer id above all that were allocated before, at less than a million a second.

    So an older copy of the state gives none of them out again.
    """
    return int(now_s) * IDS_PER_S


def following(
    current: ProducerIdBlock | None, broker_id: int, count: int = BLOCK_SIZE, lowest: int = 0
) -> ProducerIdBlock:
    """Return the block to reserve after *current*.

    :param lowest: it begins there at the earliest.
    :raises OverflowError: no *count* producer ids are left.
    """
    start = max(lowest, current.ids.stop if current else 0)
    if start + count - 1 > INT64_MAX:
        raise OverflowError(f"all {INT64_MAX + 1} producer ids are in use")
    return ProducerIdBlock(broker_id, range(start, start + count))
