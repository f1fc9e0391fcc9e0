"""Our clients and three brokers in processes, whose leaders change and die."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster, Reader, Writer
from kafkatx.client.threads import Consumer, Producer
from kafkatx.testing import EmbeddedCluster
from tests.until import until

BROKERS, PARTITIONS = 3, 12
SETTINGS = {"min.insync.replicas": 2, "zookeeper.session.timeout.ms": 3000}
NEVER_MS = 300_000
WAIT_S = 60


class LeaderChangesTests(SynchronousTestCase):
    """A topic with three replicas; its partitions suffice for fetch sessions, of clients and of followers."""

    def setUp(self) -> None:
        """Start the cluster, and make the topic."""
        self.cluster = EmbeddedCluster(BROKERS, SETTINGS, run_in="process")
        for broker_id, broker in self.cluster.brokers.items():
            broker.settings |= {
                "broker.rack": f"rack {broker_id}",
                "replica.selector.class": "RackAwareReplicaSelector",
            }
        self.addCleanup(self.cluster.close)
        self.cluster.start()
        self.topic = self.cluster.topic("moving", partitions=PARTITIONS, replication=BROKERS)
        for broker_id in self.cluster.brokers:
            until(lambda: len(self.known(broker_id).isr) == BROKERS, "all replicas are in sync")  # noqa: B023

    def known(self, broker_id: int) -> Any:
        """Return partition 0 as a broker knows it."""
        with Cluster(self.cluster.brokers[broker_id].bootstrap) as cluster:
            return cluster.metadata([self.topic]).topics[self.topic].partitions[0]

    def client(self, kind: Any, **settings: Any) -> Any:
        """Return a client that has started."""
        started = kind(bootstrap_servers=self.cluster.bootstrap, **settings).start()
        self.addCleanup(started.close)
        return started

    def consumer(self, **settings: Any) -> Any:
        """Return a consumer of the whole topic, from its start."""
        consumer = self.client(Consumer, auto_offset_reset="earliest", **settings)
        consumer.assign([(self.topic, number) for number in range(PARTITIONS)])
        return consumer

    def read(self, consumer: Any, count: int) -> list[bytes]:
        """Return the next values; fewer if they do not come in time."""
        found: list[bytes] = []
        for _ in range(WAIT_S):
            if len(found) >= count:
                break
            for records in consumer.getmany(timeout_ms=1000).values():
                found += [record.value for record in records]
        return found

    def move(self) -> None:
        """Give partition 0 to another leader, and wait until all brokers know that."""
        old = self.known(1).leader
        new = old % BROKERS + 1
        self.cluster.move_leader(self.topic, 0, new)
        for broker_id in self.cluster.brokers:
            until(lambda: self.known(broker_id).leader == new, "all brokers know the leader")  # noqa: B023

    def test_named_leaders(self) -> None:
        """Producers that would pause for minutes go on at once, as refusals name the new leader.

        Consumers hear of a new leader before it knows that it leads, so they may have to pause.
        """
        patient = {"retry_backoff_ms": NEVER_MS, "retry_backoff_max_ms": NEVER_MS}
        producer, consumer = self.client(Producer, **patient), self.consumer()
        readers = Cluster(self.cluster.bootstrap)
        self.addCleanup(readers.close)
        with Cluster(self.cluster.bootstrap, retry_backoff_ms=NEVER_MS) as writers:
            with Writer(writers, self.topic) as writer:
                writer.send(b"a", partition=0)
                writer.flush()
                values = [b"a"]
                reader = Reader(readers, self.topic, 0, start_offset=0)
                self.addCleanup(reader.close)
                records = iter(reader)
                read = [next(records).value]
                consumed = self.read(consumer, 1)
                for each in range(3):
                    producer.send(self.topic, b"p%d" % each, partition=0).result(WAIT_S)
                    values.append(b"p%d" % each)
                    self.move()
                    writer.send(b"w%d" % each, partition=0)
                    writer.flush()
                    values.append(b"w%d" % each)
            self.assertEqual(consumed + self.read(consumer, len(values) - 1), values)
            self.assertEqual(read + [next(records).value for _ in values[1:]], values)

    def test_rack(self) -> None:
        """A consumer reads from the follower in its rack, and from the leader when that has died."""
        leader = self.known(1).leader
        follower = leader % BROKERS + 1
        consumer = self.consumer(client_rack=f"rack {follower}")
        (state,) = (one for one in consumer.client._subscriptions if one.topic_partition.partition == 0)
        self.produce(b"one", 3)
        self.assertEqual(self.read(consumer, 3), [b"one"] * 3)
        self.assertEqual(state.preferred_read_replica, follower)
        self.produce(b"two", 3)
        self.assertEqual(self.read(consumer, 3), [b"two"] * 3)
        self.cluster.brokers[follower].kill()
        self.produce(b"three", 3)
        self.assertEqual(self.read(consumer, 3), [b"three"] * 3)

    def test_truncation(self) -> None:
        """After an unclean election a consumer goes back to where the logs part, and reads on from there."""
        configs: dict[str, str | int] = {"unclean.leader.election.enable": "true", "min.insync.replicas": 1}
        self.topic = self.cluster.topic("unclean", replication=BROKERS, configs=configs)
        consumer = self.client(Consumer, auto_offset_reset="earliest")
        consumer.assign([(self.topic, 0)])
        self.produce(b"kept", 5)
        self.assertEqual(self.read(consumer, 5), [b"kept"] * 5)
        leader = self.known(1).leader
        follower, other = (each for each in self.cluster.brokers if each != leader)
        self.cluster.brokers[other].kill()
        self.cluster.brokers[follower].kill()
        until(lambda: self.known(leader).isr == (leader,), "the leader is alone")
        self.produce(b"lost", 5)
        self.assertEqual(self.read(consumer, 5), [b"lost"] * 5)
        self.cluster.brokers[leader].kill()
        self.cluster.start_broker(follower)
        until(lambda: self.known(follower).leader == follower, "the other leads, without some records")
        self.produce(b"new", 3)
        self.assertEqual(self.read(consumer, 3), [b"new"] * 3)
        self.assertEqual(consumer.position((self.topic, 0)), 8)

    def produce(self, value: bytes, count: int) -> None:
        """Produce to partition 0, one record after the other."""
        with Cluster(self.bootstrap()) as cluster, Writer(cluster, self.topic) as writer:
            for _ in range(count):
                writer.send(value, partition=0)
                writer.flush()

    def bootstrap(self) -> str:
        """Return the address of a broker that runs."""
        return next(broker.bootstrap for broker in self.cluster.brokers.values() if broker.running)

    def test_death(self) -> None:
        """Records that were acknowledged before, during and after a leader's death are read, each once."""
        producer, consumer = self.client(Producer), self.consumer()
        receipts = []
        for each in range(300):
            receipts.append(producer.send(self.topic, b"%d" % each, partition=each % PARTITIONS))
            if each == 100:
                producer.flush(WAIT_S)
                self.assertEqual(len(self.read(consumer, 101)), 101)
                self.cluster.brokers[self.known(1).leader].kill()
        producer.flush(WAIT_S)
        for receipt in receipts:
            receipt.result(WAIT_S)
        expected = sorted(b"%d" % each for each in range(101, 300))
        self.assertEqual(sorted(self.read(consumer, len(expected))), expected)
