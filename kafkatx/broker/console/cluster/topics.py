"""Figures of all topics of the cluster: sizes, records, rates. It asks other brokers."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from kafkatx.broker.broker import Broker
from kafkatx.broker.console.cluster.log_ends import LogEnds
from kafkatx.broker.console.cluster.turns import Kept, Turns
from kafkatx.types import Topic, TopicPartition

KEPT_S = 2.0


@attrs.define
class TopicFigures:
    """The figures of a topic; None where nothing is known.

    :ivar records: by the first and last offsets.
    :ivar bytes_in: that were written to the partitions here since their logs were opened.
    :ivar rate_elsewhere: bytes by which the partitions of other brokers grow in a second.
    :ivar rate: bytes that are written in a second.
    """

    size_bytes: int | None = None
    records: int | None = None
    bytes_in: int | None = None
    rate_elsewhere: float | None = None
    rate: float | None = None


class ClusterTopics:
    """The topics of now, or of two seconds ago."""

    def __init__(self, broker: Broker, ends: LogEnds) -> None:
        self._broker = broker
        self._ends = ends
        self._before: tuple[float, Mapping[str, TopicFigures]] | None = None
        self._kept: Kept[Mapping[str, TopicFigures]] = Kept(self._find, broker.clock, KEPT_S)
        self.get = self._kept.get

    async def _find(self) -> Mapping[str, TopicFigures]:
        topics = list(self._broker.metadata.state.topics.values())
        if self._broker.metadata.lease_remaining_s is not None:  # there may be other brokers
            await self._ends.refresh(await self._elsewhere(topics))
        turns, figures = Turns(self._broker.clock), {}
        for topic in topics:
            figures[topic.name] = self._figures(topic)
            await turns.step(len(topic.partitions))
        now_s = self._broker.clock.seconds()
        if self._before is not None and now_s > self._before[0]:
            self._add_rates(figures, *self._before, now_s)
        self._before = now_s, figures
        return figures

    async def _elsewhere(self, topics: list[Topic]) -> list[TopicPartition]:
        """Return the partitions that have no log here."""
        turns, found, is_here = Turns(self._broker.clock), [], self._ends.is_here
        for topic in topics:
            name = topic.name
            found += [
                TopicPartition(name, number)
                for number in range(len(topic.partitions))
                if not is_here(name, number)
            ]
            await turns.step(len(topic.partitions))
        return found

    def _figures(self, topic: Topic) -> TopicFigures:
        figures, name = TopicFigures(), topic.name
        size_bytes = records = bytes_in = 0
        known = here = False
        for number in range(len(topic.partitions)):
            ends = self._ends.find(name, number)
            if ends is None:
                continue
            known = True
            size_bytes += ends.size_bytes
            records += max(0, ends.end - ends.start)
            partition = self._broker.topics.find(name, number)
            if partition is not None:
                here = True
                bytes_in += partition.log.written.bytes
            else:
                rate = self._ends.rate(name, number)
                if rate is not None:
                    figures.rate_elsewhere = (figures.rate_elsewhere or 0) + rate
        if known:
            figures.size_bytes, figures.records = size_bytes, records
        if here:
            figures.bytes_in = bytes_in
        return figures

    def _add_rates(
        self,
        figures: Mapping[str, TopicFigures],
        before_s: float,
        before: Mapping[str, TopicFigures],
        now_s: float,
    ) -> None:
        for name, now in figures.items():
            old = before.get(name)
            now.rate = now.rate_elsewhere
            if now.bytes_in is not None and old is not None and old.bytes_in is not None:
                here = max(0, now.bytes_in - old.bytes_in) / (now_s - before_s)
                now.rate = here + (now.rate_elsewhere or 0)
