"""The partitions of a broker: opened, and following the cluster's state."""

from __future__ import annotations

import uuid
from types import MappingProxyType
from typing import Any

import attrs
from twisted.internet.defer import Deferred, fail, succeed
from twisted.logger import LogLevel, capturedLogs

from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.roles import NO_ROLE, Following, Leading, Role
from kafkatx.broker.replica.topics import Topics
from kafkatx.errors import ErrorCode
from kafkatx.interfaces.log_dirs import DirectoryChanges
from kafkatx.net.requests import Staged
from kafkatx.records.builder import build_values
from kafkatx.types import NO_LEADER, Placement, TopicPartition
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.broker.cluster import ClusterTestCase, FakeMetadataStore
from tests.broker.replicated import ReplicatedTestCase
from tests.broker.running import NOW_MS, BrokerTestCase, produce_request


class OpenTests(BrokerTestCase):
    def test_find(self) -> None:
        """Missing topics, missing partitions and negative numbers are not found."""
        self.make_topic("t", 2)
        found = [self.broker.topics.find(*name) for name in (("t", -1), ("t", 2), ("u", 0))]
        self.assertEqual(found, [None, None, None])
        self.assertIs(self.broker.topics.find("t", 1), self.broker.topics.of("t")[1])

    def test_missing_logs_are_made(self) -> None:
        """A recorded topic whose logs a crash left unmade is served after open()."""
        self.successResultOf(self.broker.topics.settled())  # it follows the state no more
        self.successResultOf(self.broker.metadata.create_topic("t", [(0,), (0,)], {}))
        self.assertIsNone(self.broker.topics.find("t", 1))
        broker = self.broker
        again = Topics(broker.config, broker.metadata, broker.store, broker.flushes, self.clock)
        self.successResultOf(Deferred.fromCoroutine(again.open()))
        self.assertIsNotNone(again.find("t", 1))

    def test_logs_of_no_topic(self) -> None:
        """Logs of no topic, or beyond its partitions, are left alone and logged."""
        self.make_topic("t", 1)
        config = self.broker.topics.of("t")[0].log.config
        for name in (TopicPartition("t", 1), TopicPartition("stray", 0)):
            self.broker.store.create(name, uuid.uuid4(), config)
        with capturedLogs() as events:
            self.successResultOf(Deferred.fromCoroutine(self.broker.topics.open()))
        warned = {str(e["partition"]) for e in events if e["log_level"] == LogLevel.warn}
        self.assertEqual(warned, {"t-1", "stray-0"})
        self.assertEqual(len(self.broker.store.logs), 3)


class FollowTests(ClusterTestCase):
    """The broker is number 1 of three."""

    def errors(self, topic: str = "t") -> list[ErrorCode | None]:
        """Return the error of each partition of a topic; None for one that is not here."""
        found = self.broker.topics.partitions.get(topic, [])
        return [None if partition is None else partition.error for partition in found]

    def show(self, *replicas: int, name: str = "t") -> None:
        """Show a topic with a partition on each of these brokers."""
        self.metadata.put(self.metadata.make_topic(name, [[one] for one in replicas]))

    def staged(self) -> Staged:
        """Stage a record."""
        frame = self.frame(0, 9, produce_request(build_values([b"v"], NOW_MS)))
        answer = self.dispatch.answer(frame, self.peer)
        assert isinstance(answer, Staged)
        return answer

    def finished(self, answer: Staged) -> int:
        """Write what is staged, and return the error that the client gets."""
        reply = answer.finish(self.broker.write_staged())
        assert not isinstance(reply, Deferred)
        error: int = self.response(0, 9, reply).responses[0].partition_responses[0].error_code
        return error

    def test_own_partitions(self) -> None:
        """A broker has the logs of its own partitions, and says of the others that another leads them."""
        self.show(2, 1, 3, 1)
        self.assertEqual(sorted(self.broker.store.logs), [("t", 1), ("t", 3)])
        topics = self.broker.topics
        self.assertEqual([topics.find("t", n) is None for n in range(5)], [True, False, True, False, True])
        absent = [topics.absent("t", n) for n in (-1, 0, 3, 4)]
        unknown, elsewhere = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER
        self.assertEqual(absent, [unknown, elsewhere, elsewhere, unknown])
        self.assertEqual(topics.absent("u", 0), unknown)
        self.show(2, 3, name="u")
        self.assertEqual((self.errors("u"), topics.absent("u", 1)), ([], elsewhere))

    def test_leaders_change(self) -> None:
        """A partition is led in each epoch that the state gives to this broker, and in no other."""
        self.show(1)
        (partition,) = self.broker.topics.of("t")
        told: list[tuple[bool, int]] = []
        self.broker.topics.role_listeners.append(lambda p, leads: told.append((leads, p.leader_epoch)))
        for leader, error in ((NO_LEADER, 6), (1, 0), (2, 6), (1, 0), (1, 0)):
            self.metadata.lead("t", 0, leader)
            self.assertEqual((partition.error, partition.writable), (error, not error))
        self.assertIs(self.broker.topics.find("t", 0), partition)
        self.assertEqual(told, [(False, 1), (True, 2), (False, 3), (True, 4), (True, 5)])

    def test_epoch(self) -> None:
        """Records carry the epoch in which they were written."""
        self.show(1)
        self.fill(b"a")
        self.metadata.lead("t", 0, 1, 7)
        self.fill(b"b")
        (partition,) = self.broker.topics.of("t")
        self.assertEqual([partition.log.epoch_at(offset) for offset in (0, 1)], [0, 7])

    def test_fenced(self) -> None:
        """A fenced broker leads nothing, and leads again when it is not fenced any more."""
        self.show(1, 1)
        self.show(2, 1, name="u")
        self.metadata.fence()
        self.assertEqual((self.errors(), self.errors("u")), ([6, 6], [None, 6]))
        self.metadata.fence(False)
        self.assertEqual((self.errors(), self.errors("u")), ([0, 0], [None, 0]))

    def test_registered_again(self) -> None:
        """A broker that has registered again leads only what was given to it since."""
        self.show(1, 1)
        self.metadata.join(1)
        self.assertEqual(self.errors(), [6, 6])
        self.metadata.lead("t", 1, 1)
        self.assertEqual(self.errors(), [6, 0])

    def test_later_epoch_in_the_log(self) -> None:
        """A broker does not lead a partition whose log is ahead of the state, and says so."""
        self.show(1)
        self.metadata.lead("t", 0, 1, 5)
        self.fill(b"v")
        with capturedLogs() as events:
            self.metadata.lead("t", 0, 1, 4)
        self.assertEqual(self.errors(), [6])
        (event,) = [event for event in events if event["log_level"] == LogLevel.error]
        self.assertEqual((str(event["partition"]), event["latest"], event["epoch"]), ("t-0", 5, 4))
        self.metadata.lead("t", 0, 1, 5)
        self.assertEqual(self.errors(), [0])

    def test_from_before_a_restoration(self) -> None:
        """A broker neither leads nor follows by a state from before an older copy was put back."""
        self.metadata.put(self.metadata.make_topic("t", [(1, 2), (2, 1)]))
        self.assertEqual(self.errors(), [0, 6])
        roles = [one.role for one in self.broker.topics.of("t")]
        self.metadata.change(restored_at=self.metadata.count())
        self.assertEqual([one.role for one in self.broker.topics.of("t")], [NO_ROLE] * len(roles))
        self.metadata.lead("t", 0, 1, 6)
        self.assertEqual(self.errors()[0], 0)
        self.metadata.change(restored_at=-1)
        self.assertEqual([one.role for one in self.broker.topics.of("t")][1:], roles[1:])

    def test_staged_records(self) -> None:
        """Records that are staged when the leader changes are written before, and acknowledged."""
        self.show(1)
        answer = self.staged()
        self.metadata.lead("t", 0, 2)
        (partition,) = self.broker.topics.of("t")
        self.assertEqual(partition.log.log_end_offset, 1)
        self.assertEqual(self.finished(answer), 0)

    def test_staged_records_fail(self) -> None:
        """A failure of that early write is told to the client, too."""
        self.show(1)
        answer = self.staged()
        self.metadata.remaining_s = 0
        self.metadata.lead("t", 0, 2)
        self.assertEqual(self.finished(answer), 6)
        self.assertEqual(self.broker.write_staged(), {})

    def test_deleted(self) -> None:
        """The logs of a deleted topic are removed; one of the same name and another id begins empty."""
        self.show(1, 2)
        self.fill(b"old")
        (old,) = self.broker.topics.of("t")
        self.show(1, 2)
        (new,) = self.broker.topics.of("t")
        self.assertEqual((old.error, new.error, new.log.log_end_offset), (6, 0, 0))
        self.metadata.remove("t")
        self.assertEqual((dict(self.broker.store.logs), self.broker.topics.partitions), ({}, {}))

    def test_vanished(self) -> None:
        """The logs of a topic that is gone without a deletion stay, and no request is served from them."""
        self.show(1)
        self.fill(b"v")
        (partition,) = self.broker.topics.of("t")
        with capturedLogs() as events:
            self.metadata.show(attrs.evolve(self.metadata.state, topics=MappingProxyType({})), deleted=False)
        self.assertEqual((partition.error, self.broker.topics.partitions), (6, {}))
        self.assertEqual(self.broker.store.logs[TopicPartition("t", 0)].log_end_offset, 1)
        self.assertEqual([event["name"] for event in events if event["log_level"] == LogLevel.warn], ["t"])

    def test_more_partitions(self) -> None:
        """Partitions that are added to a topic appear on their brokers."""
        self.show(2)
        topic = self.metadata.state.topics["t"]
        self.metadata.add_partitions("t", 1, [[1], [2], [1]])
        self.assertEqual(self.errors(), [None, 0, None, 0])
        for number in (1, 3):
            self.assertEqual(self.broker.store.topic_id(TopicPartition("t", number)), topic.topic_id)

    def test_configs(self) -> None:
        """Configs that another broker has changed apply at once; those that cannot be used are left out."""
        self.show(1)
        (partition,) = self.broker.topics.of("t")
        self.metadata.alter_topic_configs("t", lambda _: {"retention.ms": "5", "min.insync.replicas": "2"})
        self.assertEqual((partition.log.config.retention_ms, partition.min_insync_replicas), (5, 2))
        with capturedLogs() as events:
            for _ in range(2):
                self.metadata.alter_topic_configs("t", lambda _: {"retention.ms": "6", "segment.bytes": "x"})
        self.assertEqual(partition.log.config.retention_ms, 6)
        self.assertEqual([event["topic"] for event in events if event["log_level"] == LogLevel.warn], ["t"])

    def test_waiting_fetches(self) -> None:
        """A fetch that waits is answered when this broker does not lead the partition any more."""
        self.show(1)
        request = FetchRequest(
            max_wait_ms=1000, min_bytes=1, topics=[FetchTopic("t", partitions=[FetchPartition(0)])]
        )
        answer = self.answer(1, 12, request)
        self.assertNoResult(answer)
        self.metadata.lead("t", 0, 2)
        response = self.response(1, 12, self.successResultOf(answer))
        self.assertEqual(response.responses[0].partitions[0].error_code, ErrorCode.NOT_LEADER_OR_FOLLOWER)


class StartTests(ClusterTestCase):
    def prepare(self, metadata: FakeMetadataStore) -> None:
        """Show a topic from before: partitions of this broker, and of another."""
        metadata.prepare(metadata.make_topic("t", [[1], [2], [1]]))

    def test_start(self) -> None:
        """A broker opens the logs that are its own, and leads when it is registered."""
        self.assertEqual(sorted(self.broker.store.logs), [("t", 0), ("t", 2)])
        self.assertEqual([one.error for one in self.broker.topics.of("t")], [0, 0])


class ReplicaTests(ReplicatedTestCase):
    """Partitions with several replicas: followed, led, moved away."""

    def setUp(self) -> None:
        """Remember what listeners are told."""
        super().setUp()
        self.told: list[tuple[str, Role]] = []
        self.broker.topics.replica_listeners.append(
            lambda partition: self.told.append((str(partition.topic_partition), partition.role))
        )

    def taken(self) -> list[tuple[str, Role]]:
        """Return what listeners were told since the last time."""
        told, self.told = self.told, []
        return told

    def test_listeners(self) -> None:
        """Listeners hear of each change of role, leader and epoch, of a new log, and of its end."""
        self.make_replicated("t", [(1, 2), (2, 1), (2, 3)])
        self.assertEqual(self.taken(), [("t-0", Leading(0)), ("t-1", Following(2, 0))])
        for leader, role in ((2, Following(2, 1)), (NO_LEADER, NO_ROLE), (1, Leading(3))):
            self.metadata.replicate("t", 0, leader=leader)
            self.assertEqual(self.taken(), [("t-0", role)])
        self.metadata.replicate("t", 0, isr=(1,))
        self.assertEqual(self.taken(), [])
        self.metadata.replicate("t", 1, leader_epoch=4)
        self.assertEqual(self.taken(), [("t-1", Following(2, 4))])
        self.metadata.fence()
        self.assertEqual(self.taken(), [("t-0", NO_ROLE)])
        self.metadata.fence(False)
        self.assertEqual(self.taken(), [("t-0", Leading(3))])
        self.metadata.remove("t")
        self.assertEqual(self.taken(), [("t-0", NO_ROLE), ("t-1", NO_ROLE)])

    def test_unchanged(self) -> None:
        """A change of one partition leaves the others of its topic alone."""
        self.make_replicated("t", [(1, 2)] * 3)
        touched: list[int] = []
        real = Partition.apply

        def apply(partition: Partition, *args: Any) -> bool:
            touched.append(partition.topic_partition.partition)
            return real(partition, *args)

        self.patch(Partition, "apply", apply)
        self.metadata.replicate("t", 1, isr=(1,))
        self.assertEqual(touched, [1])

    def test_writers_are_told(self) -> None:
        """Writers that wait for a commit hear that this broker leads in another epoch, or no more."""
        (partition,) = self.make_replicated()
        codes: list[ErrorCode] = []
        for leader in (1, 2):
            partition.commit_waiters.add(5, partition.leader_epoch, 1e9, codes.append)
            self.metadata.replicate("t", leader=leader, leader_epoch=partition.leader_epoch + 1)
            self.assertEqual(codes, [ErrorCode.NOT_LEADER_OR_FOLLOWER])
            codes.clear()
        self.metadata.lead("t", 0, 1)
        partition.commit_waiters.add(5, partition.leader_epoch, 1e9, codes.append)
        self.metadata.remove("t")
        self.assertEqual(codes, [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])

    def test_follower_that_is_ahead(self) -> None:
        """A broker does not follow either, if its log is ahead of the state: it would cut records off."""
        (partition,) = self.make_replicated()
        self.metadata.replicate("t", leader_epoch=5)
        with capturedLogs() as events:
            self.metadata.replicate("t", leader=2, leader_epoch=4)
        self.assertEqual(partition.role, NO_ROLE)
        self.assertEqual(len([event for event in events if event["log_level"] == LogLevel.error]), 1)
        self.metadata.replicate("t", leader_epoch=6)
        self.assertEqual(partition.role, Following(2, 6))

    def test_moved(self) -> None:
        """The log of a replica that a reassignment has moved away is removed, and made anew if it returns."""
        (partition,) = self.make_replicated()
        self.fill_alone(partition)
        self.metadata.replicate("t", leader=2, replicas=(2, 3, 1), removing=(1,))
        self.assertIs(self.broker.topics.find("t", 0), partition)
        self.taken()
        with capturedLogs() as events:
            self.metadata.replicate("t", replicas=(2, 3), isr=(2, 3), removing=())
        self.assertEqual(self.taken(), [("t-0", NO_ROLE)])
        self.assertEqual((self.broker.topics.find("t", 0), dict(self.broker.store.logs)), (None, {}))
        self.assertEqual(self.broker.topics.absent("t", 0), ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.assertEqual([str(e["partition"]) for e in events if "moved" in e["log_format"]], ["t-0"])
        self.metadata.replicate("t", replicas=(2, 3, 1), adding=(1,))
        again = self.broker.topics.find("t", 0)
        assert again is not None
        self.assertEqual((again.log.log_end_offset, again.role), (0, Following(2, 1)))

    def test_moved_from_a_failing_disk(self) -> None:
        """A log that cannot be removed is one line of the broker's log, without a traceback."""
        (partition,) = self.make_replicated()
        self.fill_alone(partition)
        self.metadata.replicate("t", leader=2, replicas=(2, 3, 1), removing=(1,))
        self.patch(self.broker.store, "delete", lambda name: fail(OSError("the disk is read-only")))
        with capturedLogs() as events:
            self.metadata.replicate("t", replicas=(2, 3), isr=(2, 3), removing=())
        told = [event for event in events if event["log_level"] == LogLevel.error]
        self.assertEqual([str(event["error"]) for event in told], ["the disk is read-only"])
        self.assertEqual([event for event in events if "log_failure" in event], [])

    def test_gone_for_another_reason(self) -> None:
        """The log of a replica that is missing in the state stays, if no reassignment has removed it."""
        (partition,) = self.make_replicated()
        self.fill_alone(partition)
        self.metadata.replicate("t", leader=2, replicas=(2, 3), isr=(2, 3))
        self.assertEqual((partition.role, partition.log.log_end_offset), (NO_ROLE, 1))
        self.assertIn(("t", 0), self.broker.store.logs)
        self.metadata.replicate("t", replicas=(2, 3, 1))
        self.assertEqual((partition.role, partition.log.log_end_offset), (Following(2, 1), 1))

    def fill_alone(self, partition: Partition) -> None:
        """Write a record."""
        partition.log.append(build_values([b"v"], NOW_MS), 0, NOW_MS, True)
        partition.log.write()

    def test_start(self) -> None:
        """The high watermark of a partition with several replicas is that of the checkpoint."""
        partition, alone = self.make_replicated("t", [(1, 2), (1,)])
        for one in (partition, alone):
            self.fill_alone(one)
        self.replicate(partition, 1, 2)
        self.assertEqual(partition.high_watermark, 1)
        self.fill_alone(partition)
        self.successResultOf(self.broker.replicas.checkpoint_high_watermarks())
        broker = self.broker
        again = Topics(broker.config, broker.metadata, broker.store, broker.flushes, self.clock)
        self.successResultOf(Deferred.fromCoroutine(again.open()))
        self.addCleanup(again.isr.stop)
        self.assertEqual([one.high_watermark for one in again.of("t")], [1, 1])
        self.assertEqual([one.log.log_end_offset for one in again.of("t")], [2, 1])

    def test_distrust(self) -> None:
        """After a power cut no high watermark is trusted but that of a sole replica."""
        partition, alone = self.make_replicated("t", [(1, 2), (1,)])
        for one in (partition, alone):
            self.fill_alone(one)
        self.replicate(partition, 1, 2)
        alone.advance()
        self.broker.topics.distrust()
        self.assertEqual([one.high_watermark for one in (partition, alone)], [0, 1])
        self.assertEqual(partition.log.deletable_end, 0)
        self.replicate(partition, 1, 2)
        self.assertEqual(partition.high_watermark, 1)

    def test_moved_is_recorded(self) -> None:
        """It is on record that a moved replica is not here; its topic is not taken for deleted."""
        self.make_replicated()
        topic_id = self.metadata.state.topics["t"].topic_id
        changes = DirectoryChanges((), (topic_id,))
        self.patch(self.broker.store, "sync_directories", lambda: succeed(changes))
        self.metadata.replicate("t", leader=2, replicas=(2, 3, 1), removing=(1,))
        self.metadata.replicate("t", replicas=(2, 3), isr=(2, 3), removing=())

        def recorded() -> tuple[Any, ...]:
            self.successResultOf(Deferred.fromCoroutine(self.broker.topics.placements.record()))
            return self.metadata.commands[-1].args

        self.assertEqual(recorded(), (None, (Placement(topic_id, 0, None),), ()))
        self.metadata.remove("t")
        self.assertEqual(recorded(), (None, (), (topic_id,)))
