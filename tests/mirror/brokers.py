"""Two real brokers for tests of a mirror, and what is done with them."""

from __future__ import annotations

import atexit
from collections.abc import Awaitable, Callable, Iterable
from functools import lru_cache
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

from kafkatx.client import Admin, Producer
from kafkatx.mirror.copy.target_log import TargetLog
from kafkatx.mirror.service import MirrorService
from kafkatx.mirror.settings import MirrorSettings
from kafkatx.records.batch import Record
from kafkatx.records.conversion import iter_any
from kafkatx.testing import EmbeddedBroker
from kafkatx.types import TopicPartition

reactor: Any = installed_reactor
LOOK_S = 0.02
FAST = {
    "refresh.interval.ms": "100",
    "progress.interval.ms": "50",
    "checkpoints.interval.ms": "50",
    "heartbeats.interval.ms": "50",
    "report.interval.ms": "0",
}


@lru_cache(maxsize=1)
def shared_brokers() -> tuple[EmbeddedBroker, EmbeddedBroker]:
    """Start the brokers; they are stopped when the tests end."""
    brokers = (EmbeddedBroker(run_in="process"), EmbeddedBroker(run_in="process"))
    for broker in brokers:
        broker.start()
        atexit.register(broker.close)
    return brokers


class BrokersCase(TestCase):
    """A source and a target that all tests of this kind share: each has topics of its own."""

    timeout = 30

    async def setUp(self) -> None:  # type: ignore[override]
        """Connect to both."""
        self.brokers = self.source, self.target = shared_brokers()
        self.admins = []
        for broker in self.brokers:
            admin = Admin(bootstrap_servers=broker.bootstrap, reactor=reactor)
            self.addCleanup(admin.close)
            self.admins.append(await admin.start())
        self.log = TargetLog(self.admins[1].cluster)

    def settings(self, topics: str, **more: str) -> MirrorSettings:
        """Return settings of a mirror of some topics."""
        values = {
            "sources": "dc1",
            "topics": topics,
            "target.bootstrap.servers": self.target.bootstrap,
            **FAST,
            **{name.replace("_", "."): value for name, value in more.items()},
        }
        address = f"source.{values['sources']}.bootstrap.servers"
        return MirrorSettings.load({address: self.source.bootstrap, **values})

    async def mirror(self, topics: str, **more: str) -> MirrorService:
        """Start a mirror; it is stopped at the end of the test."""
        service = MirrorService(self.settings(topics, **more), reactor)
        self.addCleanup(self.stop, service)
        service.startService()
        await service.started
        return service

    def stop(self, service: MirrorService) -> Deferred[None]:
        """Stop a mirror."""
        return service.stopService()

    async def topic(self, name: str, partitions: int = 1, at: int = 0, **configs: str) -> str:
        """Create a topic."""
        named = {key.replace("_", "."): value for key, value in configs.items()}
        await self.admins[at].create_topic(name, partitions, configs=named)
        return name

    async def produce(self, topic: str, values: Iterable[bytes], partition: int = 0, at: int = 0) -> None:
        """Produce values with a key, a header and a time each."""
        producer = Producer(bootstrap_servers=self.brokers[at].bootstrap, reactor=reactor)
        await producer.start()
        for number, value in enumerate(values):
            producer.produce(topic, value, b"k%d" % number, partition, [("h", value)], 1000 + number)
        await producer.close()

    async def records(self, topic: str, partition: int = 0) -> list[Record]:
        """Return all records of a partition of the target."""
        place = TopicPartition(topic, partition)
        at, end = await self.log.ends(place)
        found: list[Record] = []
        while at < end:
            for record in iter_any(await self.log.read(place, at)):
                if record.offset >= at:
                    found.append(record)
            at = found[-1].offset + 1
        return found

    async def values(self, topic: str, partition: int = 0) -> list[bytes | None]:
        """Return the values of all records of a partition of the target."""
        return [record.value for record in await self.records(topic, partition)]

    async def until(self, holds: Callable[[], Awaitable[object]]) -> None:
        """Wait until something holds; the test's time-out is the limit."""
        while not await holds():
            await deferLater(reactor, LOOK_S)
