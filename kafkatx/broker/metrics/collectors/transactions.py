"""The collector of transactions, of this coordinator and those that are open in logs. It reads logs."""

from __future__ import annotations

from collections import Counter

from kafkatx.broker.broker import Broker
from kafkatx.broker.metrics.collectors.batch_times import BatchTimes
from kafkatx.broker.metrics.samples import Samples, label
from kafkatx.broker.metrics.sources import Steps
from kafkatx.broker.metrics.table import own as o

STEP = 20

GRACE_MS = 60_000
"""A transaction hangs this long after it should have been aborted at the latest."""


class TransactionCollector:
    """Transactions."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._times = BatchTimes()

    def collect(self, samples: Samples) -> Steps:
        """See :class:`Collector`."""
        yield from self._coordinated(samples)
        yield from self._open(samples)

    def _coordinated(self, samples: Samples) -> Steps:
        states: Counter[str] = Counter()
        now_ms = oldest_ms = self._broker.now_ms()
        for shard in list(self._broker.transactions.shards.values()):
            for number, transaction in enumerate(list(shard.transactions.values())):
                metadata = transaction.metadata
                states[metadata.state.value] += 1
                if metadata.state.value == "Ongoing" and metadata.start_ms >= 0:
                    oldest_ms = min(oldest_ms, metadata.start_ms)
                if number % STEP == 0:
                    yield None
        for state, count in sorted(states.items()):
            samples.add(o.TRANSACTIONS, count, label("state", state))
        samples.add(o.TRANSACTION_OLDEST, (now_ms - oldest_ms) / 1000)

    def _open(self, samples: Samples) -> Steps:
        """Look at the batch at the last stable offset, which begins the oldest open transaction of a log."""
        broker, held_back, hanging, number = self._broker, 0, 0, 0
        self._times.begin()
        too_old_ms = broker.now_ms() - broker.transactions.max_timeout_ms - GRACE_MS
        for name in list(broker.topics.partitions):
            for partition in broker.topics.of(name):
                number += 1
                if number % STEP == 0:
                    yield None
                if not partition.leads or partition.offline:
                    continue
                offset = partition.last_stable_offset
                if offset >= partition.high_watermark:
                    continue
                held_back += 1
                yield from self._times.load(partition, offset)
                first_ms = self._times.first_ms(partition, offset)
                hanging += first_ms is not None and first_ms < too_old_ms
        samples.add(o.HELD_BACK, held_back)
        samples.add(o.HANGING, hanging)
