"""The model of a promotion, and of what comes after it: leaders abort what is open, and producers write."""

from __future__ import annotations

from kafkatx.broker.mirror import promotion_markers
from kafkatx.config.mirror_record import MirrorState
from kafkatx.types import ActiveProducer
from tests.broker.mirror.control.promotion_model import Batch, Broken, Broker, World

SOURCE, OWN = 1, 2
"""The ids of the producers that have the transactions of the source and those of the target."""

MARKERS = {SOURCE: -1, OWN: -2}
"""The producer ids of batches that are markers of these, and abort; no other producer has them."""

OWN_BATCH = -3


def active(log: list[Batch], end: int) -> list[ActiveProducer]:
    """Return both producers as a log knows them; the source has written what is below *end*."""
    begun = dict.fromkeys(MARKERS, -1)
    for offset, batch in enumerate(log):
        of = SOURCE if offset < end or batch.producer_id == MARKERS[SOURCE] else OWN
        if batch.producer_id in MARKERS.values() or not batch.open_transaction:
            begun[of] = -1
        elif begun[of] < 0:
            begun[of] = offset
    return [ActiveProducer(one, 0, 0, 0, -1, offset) for one, offset in begun.items()]


def transaction_at(log: list[Batch], end: int) -> int:
    """Return the first offset of the source's transaction that is open at *end*; -1: none is."""
    return active(log[:end], end)[0].txn_start_offset


class PromotedWorld(World):
    """The world with leaders that look at what is open whenever they learn something."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.quiet.append(self.write)
        self.weights[self.write] = self.random.choice((1, 3))

    def learn(self) -> None:
        """Tell brokers of some changes; leaders act at once."""
        super().learn()
        for broker in self.brokers.values():
            self.abort(broker)

    def knows(self, broker: Broker, number: int) -> bool:
        """Return True if a broker leads a partition, and knows that it is promoted."""
        return self.leads(broker, number) and self.changes[broker.records].record.writable

    def abort(self, broker: Broker) -> None:
        """Write the markers that are missing in the partitions that a broker leads."""
        ends = self.changes[broker.records].record.ends
        for number, log in enumerate(broker.logs):
            if ends is not None and self.knows(broker, number):
                for one in promotion_markers.left_open(active(log, ends[number]), ends[number]):
                    log.append(Batch(MARKERS[one.producer_id], False))

    def write(self) -> None:
        """Write for a producer of the target, perhaps with a transaction."""
        broker, number = self.any_broker(), self.any_partition()
        if self.knows(broker, number):
            broker.logs[number].append(Batch(OWN_BATCH, self.random.random() < 0.5))

    def is_settled(self) -> bool:
        """Return True if no leader's log has an open transaction of the source."""
        assert self.ends is not None
        logs = [self.brokers[one.leader].logs[number] for number, one in enumerate(self.state.leaders)]
        return all(active(log, end)[0].txn_start_offset < 0 for log, end in zip(logs, self.ends, strict=True))

    def check_end(self, number: int, end: int, log: list[Batch]) -> None:
        """Check that there is one marker for what was open, before all else, and no other."""
        rest = [batch.producer_id for batch in log[end:]]
        if len(log) < end or (rest and self.state.record.state is not MirrorState.PROMOTED):
            raise Broken(f"partition {number} should end at {end} and ends at {len(log)}")
        expected = [MARKERS[SOURCE]] if rest and transaction_at(log, end) >= 0 else []
        if rest[: len(expected)] != expected or rest.count(MARKERS[SOURCE]) != len(expected):
            raise Broken(f"partition {number} has {rest} after its end")
        if MARKERS[OWN] in rest:
            raise Broken(f"a transaction of the target in partition {number} was aborted")
