"""The time that a group is behind: since the first batch that it has not read. It reads logs."""

from __future__ import annotations

from collections.abc import Mapping

from kafkatx.broker.broker import Broker
from kafkatx.broker.metrics.collectors.batch_times import BatchTimes


class LagTimes:
    """Finds the times, for one request: a number of cold reads is made for it at most."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._times = BatchTimes()

    async def lag_ms(self, topic: str, number: int, offset: int) -> int | None:
        """Return for how long a group is behind in a partition; None if that is not known."""
        partition = self._broker.topics.find(topic, number)
        if partition is None or partition.offline:
            return None
        offset = max(offset, partition.log.log_start_offset)
        if offset >= partition.high_watermark:
            return 0
        for waiting in self._times.load(partition, offset):
            await waiting
        first_ms = self._times.first_ms(partition, offset)
        return None if first_ms is None else max(0, self._broker.now_ms() - first_ms)

    async def longest_ms(self, offsets: Mapping[str, Mapping[int, int]]) -> int | None:
        """Return the longest of the times in several partitions; None if none is known."""
        found = [
            await self.lag_ms(topic, number, offset)
            for topic, partitions in offsets.items()
            for number, offset in partitions.items()
        ]
        return max((each for each in found if each is not None), default=None)
