"""The source cluster of the simulation: two brokers in the network, and all that they have ever had.

It touches memory only. Each broker of the source is one process that never fails, but may stop listening.
"""

from __future__ import annotations

from typing import Any

from twisted.internet.task import Clock

from kafkatx.net.server import KafkaServerFactory, Limits
from tests.broker.mirror.source import PORT, FakeSource
from tests.broker.mirror.source_log import SourceLog
from tests.simulation.replication.network import Network
from tests.simulation.replication.storage import Stored, records_of

LIMITS = Limits(1 << 27, -1, -1)
TOPIC = "t0"


class SourceLife:
    """One broker of the source, as a process in the network."""

    alive = True

    def __init__(self, host: str, arrivals: Clock) -> None:
        self.machine = host
        self.arrivals = arrivals


class SourceCluster:
    """The source: topic t0 with one partition.

    It stands where the other simulation has clients: it has their clocks, and nothing that must end.

    :ivar had: the value of each record that the source has ever committed, by offset and leader epoch.
    :ivar losses: how often it has lost records.
    :ivar down: brokers that do not listen.
    """

    machine = "source1"

    def __init__(self, network: Network) -> None:
        self.clock = Clock()
        self.arrivals = Clock()
        self.running: dict[str, None] = {}
        self.last: list[object] = []
        self.ending = False
        self.had: dict[tuple[int, int], bytes | None] = {}
        self.losses = 0
        self.down: set[int] = set()
        self._network = network
        self._count = 0
        clock: Any = self.clock
        self.fake = FakeSource(clock)
        self.log: SourceLog = self.fake.add_topic(TOPIC).logs[0]
        self.lives = {one: SourceLife(self.fake.host(one), self.arrivals) for one in self.fake.node_ids}
        for node_id in self.lives:
            self.listen(node_id)

    def listen(self, node_id: int) -> None:
        """Make a broker listen, from the beginning or again."""
        self.down.discard(node_id)
        factory = KafkaServerFactory(self.fake.broker(node_id), LIMITS, self.fake.clock)
        self._network.listen(self.lives[node_id], PORT, factory)

    def end(self, node_id: int) -> None:
        """End all connections to a broker, which does not listen any more."""
        self.down.add(node_id)
        self._network.end_life(self.lives[node_id], silent=False)

    # --- what happens there

    def add(self, count: int, commit: bool) -> None:
        """Append a batch of records, each with a value of its own."""
        values = []
        for _ in range(count):
            self._count += 1
            values.append(b"s%d" % self._count)
        self.log.add(*values, commit=commit)
        self._note()

    def commit(self) -> None:
        """Commit all."""
        self.log.commit()
        self._note()

    def lose(self, offset: int, leader: int) -> None:
        """Elect a leader that lacks records."""
        self.losses += offset < self.log.high_watermark
        self.log.lose(offset, leader)

    def _note(self) -> None:
        """Take note of what consumers can read now."""
        for base, last, epoch, data in reversed(self.log.batches):
            if last >= self.log.high_watermark:
                continue
            if (base, epoch) in self.had:
                break
            for offset, record in records_of(data):
                self.had[offset, epoch] = record.value

    @property
    def committed(self) -> dict[int, Stored]:
        """The records that consumers can read, by offset."""
        return {
            offset: record
            for _, last, _, data in self.log.batches
            if last < self.log.high_watermark
            for offset, record in records_of(data)
        }
