"""Whole brokers that copy each other's partitions: what one has written, the others get."""

from __future__ import annotations

from typing import Any

from kafkatx.broker.replica.roles import Following
from kafkatx.records.builder import build_values
from tests.broker.brokers import ClusterOfBrokersCase
from tests.broker.replica.fetcher.case import stored
from tests.broker.running import produce_request


class CopiesCase(ClusterOfBrokersCase):
    """Three brokers; topic t has a partition with three replicas."""

    def setUp(self) -> None:
        """Make the topic."""
        super().setUp()
        self.create("t", 1, replicas=3)
        self.advance(1.0)

    @property
    def leader(self) -> int:
        """The leader of the partition."""
        return self.leaders("t")[0]

    def partition(self, broker_id: int) -> Any:
        """Return a broker's partition."""
        found = self.brokers[broker_id].broker.topics.find("t", 0)
        assert found is not None, broker_id
        return found

    def add(self, *payloads: bytes, acks: int = 1, broker_id: int | None = None) -> list[int]:
        """Produce values to the leader, a batch for each; return the errors."""
        codes = []
        for payload in payloads:
            records = build_values([payload], self.stores.now_ms())
            response = self.ask(broker_id or self.leader, 0, 9, produce_request(records, acks))
            codes.append(response.responses[0].partition_responses[0].error_code)
        return codes

    def check_equal(self) -> None:
        """Check that all live brokers have the same log, and know that it is committed."""
        found = {broker_id: self.partition(broker_id) for broker_id in self.brokers}
        ends = {
            one: (partition.log.log_end_offset, partition.high_watermark) for one, partition in found.items()
        }
        self.assertEqual(len(set(ends.values())), 1, ends)
        self.assertEqual(len({stored(one.log) for one in found.values()}), 1)


class CopyTests(CopiesCase):
    def test_copied(self) -> None:
        """Followers have the records within a moment, and their high watermark one fetch later."""
        self.assertEqual(self.add(b"a", b"b"), [0, 0])
        self.advance(0.1)
        for one in self.brokers:
            self.assertEqual(self.partition(one).log.log_end_offset, 2)
        self.advance(0.6)
        self.check_equal()
        self.assertEqual(self.partition(self.leader).high_watermark, 2)

    def test_acks_all(self) -> None:
        """A write with acks=all is answered when the followers have it, not at the end of a wait."""
        before_s = self.stores.clock.seconds()
        self.assertEqual(self.add(b"a", acks=-1), [0])
        self.assertLess(self.stores.clock.seconds() - before_s, 0.2)
        self.assertEqual({self.partition(one).log.log_end_offset for one in self.brokers}, {1})

    def test_new_topics(self) -> None:
        """A new topic is copied at once, although other fetches of the same brokers wait for records."""
        for number in range(4):
            self.create(f"new{number}", 1, replicas=3)
            before_s = self.stores.clock.seconds()
            self.assertEqual(self.produce(f"new{number}", 0, b"v", patience_s=2), 0)
            self.assertLess(self.stores.clock.seconds() - before_s, 0.3)

    def test_leader_is_killed(self) -> None:
        """Another broker leads, the third follows it, and the first one catches up when it is back."""
        self.add(b"a", b"b", acks=-1)
        first = self.leader
        self.kill(first)
        self.advance(10.0)
        second = self.leader
        self.assertNotEqual(second, first)
        self.assertEqual(self.add(b"c", acks=-1), [0])
        (third,) = self.brokers.keys() - {second}
        self.assertEqual(self.partition(third).role, Following(second, self.epochs("t")[0]))
        self.start(first)
        self.add(b"d", acks=-1)
        self.advance(2.0)
        self.check_equal()
        self.assertEqual(self.partition(first).log.log_end_offset, 4)

    def test_old_leader_has_more(self) -> None:
        """Records that only a killed leader had are cut when it is back."""
        self.add(b"a", acks=-1)
        first = self.leader
        for other in self.brokers.keys() - {first}:
            self.network.cut |= {(other, first), (first, other)}
        self.add(b"lost", b"lost too")
        self.kill(first)
        self.advance(10.0)
        self.assertNotEqual(self.leader, first)
        self.add(b"b", acks=-1)
        self.network.cut.clear()
        self.start(first)
        self.advance(3.0)
        self.check_equal()
        self.assertEqual(self.values("t", 0), [b"a", b"b"])

    def test_stopped(self) -> None:
        """A broker that stops in order copies on when it is back."""
        self.add(b"a", acks=-1)
        (one, *_) = self.brokers.keys() - {self.leader}
        self.stop(one)
        self.add(b"b")
        self.start(one)
        self.advance(3.0)
        self.check_equal()

    def test_deleted(self) -> None:
        """A topic that is deleted and made again under its name is copied from its beginning."""
        self.add(b"a", b"b", acks=-1)
        self.run_to_end(self.brokers[1].metadata.delete_topic("t"))
        self.create("t", 1, replicas=3)
        self.advance(1.0)
        self.add(b"c", acks=-1)
        self.advance(1.0)
        self.check_equal()
        self.assertEqual(self.values("t", 0), [b"c"])

    def test_cut_at_every_byte(self) -> None:
        """A connection that breaks anywhere in a reply leaves no trace: all of it is asked for again."""
        leader = self.leader
        (other, *_) = self.brokers.keys() - {leader}
        for count in range(180):
            self.network.breaks[leader, other] = count
            self.add(b"%d" % count)
            for _ in range(20):
                self.advance(0.1)
                if self.partition(other).log.log_end_offset == count + 1:
                    break
            self.assertEqual(self.partition(other).log.log_end_offset, count + 1, count)
        self.assertGreater(self.network.broken, 140)
        self.advance(1.0)
        self.check_equal()

    def test_many_partitions(self) -> None:
        """Each broker leads some and copies the others."""
        self.create("many", 12, replicas=2)
        self.advance(1.0)
        for number in range(12):
            self.assertEqual(self.produce("many", number, b"%d" % number, patience_s=5), 0)
        self.advance(1.0)
        for number in range(12):
            ends = [
                found.log.log_end_offset
                for one in self.brokers.values()
                if (found := one.broker.topics.find("many", number)) is not None
            ]
            self.assertEqual(ends, [1, 1])
