"""Mirrors between real brokers, batch by batch: all kinds of them, restarts of either end, several replicas.

The records of topics are written by the test itself, as the controller of a link does, from within a broker.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from types import MappingProxyType
from typing import Any
from uuid import UUID

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.broker.broker import Broker
from kafkatx.clientcore.list_offsets import LATEST
from kafkatx.config.mirror_record import KAFKATX_MIRROR, MirrorRecord
from kafkatx.records.batch import Record
from kafkatx.records.builder import BatchBuilder, build_values
from kafkatx.records.compression import Codec
from kafkatx.records.legacy import message_sets
from kafkatx.testing import EmbeddedBroker, EmbeddedCluster
from kafkatx.testing.messages import create_topic
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.integration.test_mirror_verify import run
from tests.until import until

TIME_MS = 1_700_000_000_000
TOPIC = "t"
WAIT_S = 20.0


def inside(broker: EmbeddedBroker, work: Callable[[Broker], Coroutine[Any, Any, Any]]) -> Any:
    """Run a coroutine in the thread of a broker; return its result."""
    done, outcome = threading.Event(), []
    thread: Any = broker._run

    def begin() -> None:
        def ended(result: object) -> None:
            outcome.append(result)
            done.set()

        Deferred.fromCoroutine(work(thread._service.broker)).addBoth(ended)

    thread._reactor.callFromThread(begin)
    if not done.wait(WAIT_S):
        raise AssertionError("the broker does not answer")
    if isinstance(outcome[0], Failure):
        outcome[0].raiseException()
    return outcome[0]


def fill(bootstrap: str, batches: Iterable[bytes], version: int = 9, partition: int = 0) -> None:
    """Append batches, or in an old version message sets, as they are, one after the other."""
    with Cluster(bootstrap) as cluster:
        connection = cluster.leader_connection(TOPIC, partition)
        for batch in batches:
            data = [TopicProduceData(TOPIC, [PartitionProduceData(partition, batch)])]
            response = connection.request(ProduceRequest(None, -1, 10_000, data), version=version)
            code = response.responses[0].partition_responses[0].error_code
            if code:
                raise AssertionError(code)


def end_of(bootstrap: str) -> int:
    """Return the end of the topic's partition for consumers."""
    with Cluster(bootstrap) as cluster:
        return cluster.offsets(TOPIC, {0: LATEST})[0][0]


def make_mirror(
    target: EmbeddedBroker,
    source: str,
    topic_id: UUID,
    replicas: Iterable[int] | None = None,
    configs: Mapping[str, str] = MappingProxyType({}),
    partitions: int = 1,
) -> None:
    """Make the link to a source, and the mirror of its topic, at a broker of the target."""
    record = MirrorRecord("dc1", topic_id)
    settings = {"mirror.links": "dc1", "mirror.dc1.bootstrap.servers": source}

    async def make(broker: Broker) -> None:
        await broker.metadata.alter_broker_configs("", lambda old: {**old, **settings})
        assignment = [tuple(replicas or (broker.node_id,))] * partitions
        await broker.topic_commands.create(TOPIC, assignment, {**configs, KAFKATX_MIRROR: record.text()})

    inside(target, make)


def compare(case: SynchronousTestCase, bootstrap: str, source: str) -> int:
    """Compare a mirror batch by batch; return the number of batches."""
    code, out, err = run("-b", bootstrap, "--source", source, "-t", TOPIC)
    case.assertEqual(code, 0, out + err)
    case.assertIn("0 differences", err)
    (batches,) = re.findall(r"([\d,]+) batch(?:es)? compared", err)
    return int(batches.replace(",", ""))


class MirrorCase(SynchronousTestCase):
    """A source of one broker with a topic, and its mirror."""

    configs: Mapping[str, str] = MappingProxyType({})
    partitions = 1

    def setUp(self) -> None:
        """Start the source."""
        self.source = EmbeddedBroker({"log.cleaner.backoff.ms": "50"})
        self.addCleanup(self.source.close)
        self.source.start()
        self.source.settings["listeners"] = f"PLAINTEXT://{self.source.bootstrap}"
        create_topic(self.source.bootstrap, TOPIC, self.partitions, dict(self.configs))

    def mirror(self, target: EmbeddedBroker, replicas: Iterable[int] | None = None) -> None:
        """Make the link and the mirror at a broker of the target."""

        async def topic_id(broker: Broker) -> UUID:
            found: UUID = broker.metadata.state.topics[TOPIC].topic_id
            return found

        topic = inside(self.source, topic_id)
        make_mirror(target, self.source.bootstrap, topic, replicas, self.configs, self.partitions)

    def check_equal(self, bootstrap: str) -> int:
        """Wait until the mirror has all; compare it batch by batch; return the number of batches."""

        end = end_of(self.source.bootstrap)
        until(lambda: end_of(bootstrap) == end, f"the mirror ends at {end}", WAIT_S)
        return compare(self, bootstrap, self.source.bootstrap)


class OneBrokerTests(MirrorCase):
    def setUp(self) -> None:
        """Start a target of one broker."""
        super().setUp()
        self.target = EmbeddedBroker()
        self.addCleanup(self.target.close)
        self.target.start()

    def test_kinds(self) -> None:
        """Compressed batches, those of idempotent producers, and messages of old formats come as they are."""
        records = [Record(offset, TIME_MS, b"k", b"v %d" % offset, []) for offset in range(20)]
        batches = [
            build_values([b"%d" % n for n in range(200)], TIME_MS, codec=codec)
            for codec in (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)
        ]
        idempotent = [
            build_values([b"i"] * 3, TIME_MS, producer_id=77, producer_epoch=0, base_sequence=3 * number)
            for number in range(4)
        ]
        self.mirror(self.target)
        for magic, version in ((0, 1), (1, 2)):
            sets = [message_sets.build(records, magic, codec, 0) for codec in (Codec.NONE, Codec.GZIP)]
            fill(self.source.bootstrap, sets, version)
        fill(self.source.bootstrap, [*batches, *idempotent])
        self.assertEqual(self.check_equal(self.target.bootstrap), 51)

    def test_restarts(self) -> None:
        """Either end is stopped and started again while records come: nothing is lost or doubled."""
        self.mirror(self.target)
        number = 0
        for ended in (self.source, self.target, self.source, self.target):
            batches = [build_values([b"%d" % one], TIME_MS) for one in range(number, number + 200)]
            number += 200
            fill(self.source.bootstrap, batches)
            ended.stop()
            ended.start()
        self.assertEqual(self.check_equal(self.target.bootstrap), number)


class SessionTests(MirrorCase):
    partitions = 25

    def test_many_partitions(self) -> None:
        """Many partitions are copied in a fetch session, which a restart of the source ends."""
        target = EmbeddedBroker()
        self.addCleanup(target.close)
        target.start()
        self.mirror(target)

        async def ends(broker: Broker) -> list[int]:
            return [partition.log.log_end_offset for partition in broker.topics.of(TOPIC)]

        def fill_some(step: int) -> None:
            for number in range(0, self.partitions, step):
                fill(self.source.bootstrap, [build_values([b"%d" % number], TIME_MS)] * 3, 9, number)

        def copied() -> bool:
            return bool(inside(self.source, ends) == inside(target, ends))

        for step in (1, 7, 2):
            fill_some(step)
            until(copied, "all partitions are copied", WAIT_S)
        self.source.stop()
        self.source.start()
        fill_some(5)
        until(copied, "all partitions are copied after the restart", WAIT_S)
        compare(self, target.bootstrap, self.source.bootstrap)


class CompactedTests(MirrorCase):
    configs = MappingProxyType(
        {"cleanup.policy": "compact", "segment.bytes": "5000", "min.cleanable.dirty.ratio": "0.01"}
    )

    def test_gaps(self) -> None:
        """The gaps of a compacted source are in its mirror, too."""

        def batch(number: int) -> bytes:
            builder = BatchBuilder()
            for key in (b"a", b"b", b"%d" % number):
                builder.append(key, b"x" * 100, TIME_MS)
            return builder.build()

        fill(self.source.bootstrap, map(batch, range(60)))

        async def size(broker: Broker) -> int:
            found = broker.topics.find(TOPIC, 0)
            assert found is not None
            return int(found.log.size_bytes)

        before = inside(self.source, size)
        until(lambda: inside(self.source, size) < before, "the source is compacted", WAIT_S)
        target = EmbeddedBroker({"log.cleaner.enable": "false"})
        self.addCleanup(target.close)
        target.start()
        self.mirror(target)
        end = end_of(self.source.bootstrap)
        until(lambda: inside(target, _end) == end, f"the mirror ends at {end}", WAIT_S)
        until(lambda: inside(target, size) <= before, "the mirror has the gaps", WAIT_S)


async def _end(broker: Broker) -> int:
    found = broker.topics.find(TOPIC, 0)
    assert found is not None
    return int(found.log.log_end_offset)


class ThreeBrokersTests(MirrorCase):
    def wait_for_end(self, broker: EmbeddedBroker, end: int) -> None:
        """Wait until the replica of a broker ends at an offset."""
        until(lambda: inside(broker, _end) == end, f"all replicas end at {end}", WAIT_S)

    def test_leaders_change(self) -> None:
        """Leaders come and go while records come, and all three replicas have the source's batches."""
        cluster = EmbeddedCluster(3)
        self.addCleanup(cluster.close)
        cluster.start()
        self.mirror(cluster.brokers[1], (1, 2, 3))
        number = 0
        for leader in (1, 2, 3):
            fill(self.source.bootstrap, (build_values([b"%d" % n], TIME_MS) for n in range(200)))
            number += 200
            cluster.move_leader(TOPIC, 0, leader)
            fill(self.source.bootstrap, (build_values([b"%d" % n], TIME_MS) for n in range(200)))
            number += 200
            cluster.brokers[leader].stop()
            fill(self.source.bootstrap, (build_values([b"%d" % n], TIME_MS) for n in range(200)))
            number += 200
            cluster.start_broker(leader)
        self.assertEqual(self.check_equal(cluster.bootstrap), number)
        for broker in cluster.brokers.values():
            self.wait_for_end(broker, number)
        for leader in cluster.brokers:
            cluster.move_leader(TOPIC, 0, leader)
            self.assertEqual(self.check_equal(cluster.bootstrap), number)
