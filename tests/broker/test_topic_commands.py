"""Changes of topics: creation, deletion, growth, configs; concurrent ones, and clients that disconnect."""

from __future__ import annotations

import errno
import uuid
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, fail

from kafkatx.broker.broker import Broker
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.requests.assignments import MOST_PARTITIONS
from kafkatx.config import LogConfig
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.records.builder import build_values
from kafkatx.testing.contracts.partition_log import batch
from kafkatx.types import Topic, TopicPartition
from tests.broker.running import NOW_MS, BrokerTestCase, Held


class TopicsTestCase(BrokerTestCase):
    def create(self, name: str = "t", partitions: int = 1) -> Deferred[Topic]:
        """Begin to create a topic."""
        commands = self.broker.topic_commands
        return Deferred.fromCoroutine(commands.create(name, commands.plan(partitions, 1)))

    def ensure(self, name: str = "t") -> Deferred[None]:
        """Begin to create a topic unless it exists."""
        return Deferred.fromCoroutine(self.broker.topic_commands.ensure(name))

    def delete(self, name: str = "t") -> Deferred[None]:
        """Begin to delete a topic."""
        return Deferred.fromCoroutine(self.broker.topic_commands.delete(name))

    def refused(self, doing: Deferred[Any]) -> ErrorCode:
        """Return the code of the RequestError with which a change failed."""
        error = self.failureResultOf(doing, RequestError).value
        assert isinstance(error, RequestError)
        return error.code


class TopicsTests(TopicsTestCase):
    def test_create(self) -> None:
        """A new topic has all its partitions, each with an empty log of its topic id, in leader epoch 0."""
        topic = self.successResultOf(self.create("t", 3))
        partitions = self.broker.topics.of("t")
        self.assertEqual([str(p.topic_partition) for p in partitions], ["t-0", "t-1", "t-2"])
        self.assertEqual(
            {self.broker.store.topic_id(p.topic_partition) for p in partitions}, {topic.topic_id}
        )
        states = {(p.leader, p.leader_epoch, p.replicas, p.isr, p.high_watermark) for p in partitions}
        self.assertEqual(states, {(0, 0, (0,), (0,), 0)})

    def test_roles(self) -> None:
        """Listeners learn which partitions this broker begins to lead, and which it leads no more."""
        told: list[tuple[str, bool]] = []

        def listen(partition: Partition, leading: bool) -> None:
            found = self.broker.topics.find(*partition.topic_partition)
            self.assertIs(found, partition if leading else None)
            told.append((str(partition.topic_partition), leading))

        self.broker.topics.role_listeners.append(listen)
        self.successResultOf(self.create("t", 1))
        adding = self.broker.topic_commands.add_partitions("t", 1, [(0,)])
        self.successResultOf(Deferred.fromCoroutine(adding))
        self.successResultOf(self.delete())
        self.assertEqual(told, [("t-0", True), ("t-1", True), ("t-0", False), ("t-1", False)])

    def test_exists(self) -> None:
        """A name is taken until its topic is deleted."""
        self.make_topic()
        self.assertEqual(self.refused(self.create()), ErrorCode.TOPIC_ALREADY_EXISTS)

    def test_names(self) -> None:
        """Names that could be paths or are too long are refused, and no topic is made of them."""
        for name in ("../x", "a/b", "", ".", "..", "x" * 250, "a b", "\u00fc", "a\0"):
            self.assertEqual(self.refused(self.create(name)), ErrorCode.INVALID_TOPIC_EXCEPTION, name)
            self.assertEqual(self.refused(self.ensure(name)), ErrorCode.INVALID_TOPIC_EXCEPTION, name)
        self.assertEqual((dict(self.broker.store.logs), self.broker.topics.partitions), ({}, {}))
        self.assertEqual(dict(self.broker.metadata.state.topics), {})

    def test_collision(self) -> None:
        """A name that differs from another in dots and underscores alone is refused."""
        self.make_topic("x.y")
        for call in (self.create, self.ensure):
            self.assertEqual(self.refused(call("x_y")), ErrorCode.INVALID_TOPIC_EXCEPTION)
        self.broker.topic_commands._creating["a_b"] = []
        self.assertEqual(self.refused(self.create("a.b")), ErrorCode.INVALID_TOPIC_EXCEPTION)
        self.make_topic("x-y")
        self.assertEqual(list(self.broker.metadata.state.topics), ["x.y", "x-y"])

    def test_plan(self) -> None:
        """The numbers of partitions and replicas are bounded; -1 is the broker's default."""
        plan = self.broker.topic_commands.plan
        self.assertEqual(plan(-1, -1), [(0,)])
        self.assertEqual(plan(3, 1), [(0,)] * 3)
        for partitions, replicas, code in (
            (0, 1, ErrorCode.INVALID_PARTITIONS),
            (-2, 1, ErrorCode.INVALID_PARTITIONS),
            (MOST_PARTITIONS + 1, 1, ErrorCode.POLICY_VIOLATION),
            (2**31 - 1, 1, ErrorCode.POLICY_VIOLATION),
            (1, 0, ErrorCode.INVALID_REPLICATION_FACTOR),
            (1, 2, ErrorCode.INVALID_REPLICATION_FACTOR),
        ):
            with self.assertRaises(RequestError) as caught:
                plan(partitions, replicas)
            self.assertEqual(caught.exception.code, code, (partitions, replicas))

    def test_delete(self) -> None:
        """A deleted topic is removed with its logs."""
        self.make_topic("t", 2)
        self.successResultOf(self.delete())
        self.assertEqual((dict(self.broker.store.logs), self.broker.topics.partitions), ({}, {}))
        self.assertEqual(self.refused(self.delete()), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def test_created_again(self) -> None:
        """A topic that is created again has a new id and no records of the old one."""
        old = self.successResultOf(self.create())
        self.fill(b"old")
        self.successResultOf(self.delete())
        new = self.successResultOf(self.create())
        self.assertNotEqual(old.topic_id, new.topic_id)
        self.assertEqual(self.stored(), [])

    def test_storage_error(self) -> None:
        """A topic is not created at all if one log fails, and can be created later."""
        create = self.broker.store.create

        def failing(name: TopicPartition, topic_id: uuid.UUID, config: LogConfig) -> Any:
            if name.partition == 1:
                return fail(OSError(errno.EMFILE, "Too many open files"))
            return create(name, topic_id, config)

        patched = self.patch(self.broker.store, "create", failing)
        self.assertEqual(self.refused(self.create("t", 3)), ErrorCode.KAFKA_STORAGE_ERROR)
        self.assertEqual((dict(self.broker.store.logs), self.broker.topics.partitions), ({}, {}))
        self.assertEqual(dict(self.broker.metadata.state.topics), {})
        patched.restore()
        self.successResultOf(self.create("t", 3))


class GrowthTests(TopicsTestCase):
    def add(self, count: int = 1, more: int = 2, name: str = "t") -> Deferred[None]:
        """Begin to add partitions to a topic that has *count*."""
        return Deferred.fromCoroutine(self.broker.topic_commands.add_partitions(name, count, [(0,)] * more))

    def test_add(self) -> None:
        """New partitions have logs of the topic's id and configs; the old ones keep their records."""
        self.make_topic("t", 1, segment_bytes="1000")
        self.fill(b"old")
        self.successResultOf(self.add())
        partitions = self.broker.topics.of("t")
        self.assertEqual([str(p.topic_partition) for p in partitions], ["t-0", "t-1", "t-2"])
        self.assertEqual([p.log.config.segment_bytes for p in partitions], [1000] * 3)
        topic_id = self.broker.metadata.state.topics["t"].topic_id
        self.assertEqual(self.broker.store.topic_id(TopicPartition("t", 2)), topic_id)
        self.fill(b"new", partition=2)
        self.assertEqual((self.stored(), self.stored("t", 2)), ([b"old"], [b"new"]))

    def test_refused(self) -> None:
        """A missing topic or a wrong current count is refused, and no partition is made."""
        self.make_topic("t", 2)
        self.assertEqual(self.refused(self.add(name="u")), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        for count in (1, 3):
            self.assertEqual(self.refused(self.add(count)), ErrorCode.INVALID_PARTITIONS)
        self.assertEqual(len(self.broker.store.logs), 2)
        self.assertEqual(len(self.broker.topics.of("t")), 2)

    def test_storage_error(self) -> None:
        """A topic stays as it was if one new log fails, and can grow later."""
        self.make_topic("t", 1)
        create = self.broker.store.create

        def failing(name: TopicPartition, topic_id: uuid.UUID, config: LogConfig) -> Any:
            if name.partition == 2:
                return fail(OSError(errno.EMFILE, "Too many open files"))
            return create(name, topic_id, config)

        patched = self.patch(self.broker.store, "create", failing)
        self.assertEqual(self.refused(self.add()), ErrorCode.KAFKA_STORAGE_ERROR)
        self.assertEqual(list(self.broker.store.logs), [TopicPartition("t", 0)])
        self.assertEqual(len(self.broker.metadata.state.topics["t"].partitions), 1)
        patched.restore()
        self.successResultOf(self.add())

    def test_metadata_refuses(self) -> None:
        """New logs are removed again if the metadata store cannot record them."""
        self.make_topic("t", 1)
        full = RequestError(ErrorCode.KAFKA_STORAGE_ERROR, "disk full")
        self.patch(self.broker.metadata, "add_partitions", lambda *_: fail(full))
        self.assertEqual(self.refused(self.add()), ErrorCode.KAFKA_STORAGE_ERROR)
        self.assertEqual(list(self.broker.store.logs), [TopicPartition("t", 0)])

    def test_crash_before_it_is_written_down(self) -> None:
        """Logs that a crash left before they were recorded do not change the topic and do no harm."""
        topic = self.successResultOf(self.create("t", 1))
        config = self.broker.topics.of("t")[0].log.config
        self.successResultOf(self.broker.store.create(TopicPartition("t", 1), topic.topic_id, config))
        self.successResultOf(Deferred.fromCoroutine(self.broker.topics.open()))
        self.assertEqual(len(self.broker.topics.of("t")), 1)
        self.successResultOf(self.add())
        self.fill(b"new", partition=1)
        self.assertEqual(self.stored("t", 1), [b"new"])

    def test_crash_after_it_is_written_down(self) -> None:
        """Partitions that the metadata have exist after open(), whatever became of their logs."""
        self.make_topic("t", 1)
        self.successResultOf(self.broker.metadata.add_partitions("t", 1, [(0,), (0,)]))
        self.successResultOf(Deferred.fromCoroutine(self.broker.topics.open()))
        self.fill(b"new", partition=2)


class AlterTests(TopicsTestCase):
    def alter(self, name: str = "t", **configs: str) -> Deferred[None]:
        """Begin to set a topic's configs; ``_`` in names stands for ``.``."""
        new = {config.replace("_", "."): value for config, value in configs.items()}
        return Deferred.fromCoroutine(self.broker.topic_commands.alter_configs(name, lambda old: new))

    def test_alter(self) -> None:
        """Changed configs apply at once to all open logs of the topic, and to no other topic's."""
        partitions = self.make_topic("t", 2, retention_ms="5")
        (other,) = self.make_topic("u")
        self.successResultOf(self.alter(cleanup_policy="compact", max_message_bytes="100"))
        for partition in partitions:
            config = partition.log.config
            self.assertEqual((config.compacted, config.max_message_bytes), (True, 100))
            self.assertEqual(config.retention_ms, 7 * 24 * 3600 * 1000)
        self.assertFalse(other.log.config.compacted)
        self.assertEqual(self.produce(build_values([b"no key"], NOW_MS)).error_code, ErrorCode.INVALID_RECORD)
        large = batch([b"x" * 200], key=b"k")
        self.assertEqual(self.produce(large).error_code, ErrorCode.MESSAGE_TOO_LARGE)

    def test_min_insync_replicas(self) -> None:
        """The config min.insync.replicas, which no log has, also applies at once."""
        (partition,) = self.make_topic()
        self.successResultOf(self.alter(min_insync_replicas="2"))
        self.assertEqual(partition.min_insync_replicas, 2)
        self.successResultOf(self.alter())
        self.assertEqual(partition.min_insync_replicas, 1)

    def test_unknown(self) -> None:
        """The configs of a missing topic cannot be changed."""
        self.assertEqual(self.refused(self.alter("u")), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def test_offline(self) -> None:
        """A partition whose log dir has failed is configured like the others."""
        bad, good = self.make_topic("t", 2)
        bad.go_offline()
        self.successResultOf(self.alter(retention_ms="5"))
        self.assertEqual([p.log.config.retention_ms for p in (bad, good)], [5, 5])
        self.assertEqual((bad.offline, bad.high_watermark), (True, -1))

    def test_broker_settings(self) -> None:
        """Changed broker settings are the defaults of topics without their own, including new topics."""
        (plain,) = self.make_topic("plain")
        (special,) = self.make_topic("special", retention_ms="5")
        self.broker.topics.use(self.broker.config.with_dynamic({}, {"log.retention.ms": "6"}))
        (new,) = self.make_topic("new")
        self.assertEqual([p.log.config.retention_ms for p in (plain, special, new)], [6, 5, 6])

    def test_nothing_new(self) -> None:
        """Logs that a change does not concern are left alone."""
        (partition,) = self.make_topic("t", retention_ms="5")
        config = partition.log.config
        self.broker.topics.use(self.broker.config.with_dynamic({}, {"log.retention.ms": "6"}))
        self.assertIs(partition.log.config, config)


class ConcurrencyTests(TopicsTestCase):
    """Concurrent changes while the metadata store is slow."""

    def make_broker(self, workers: Any = None, **settings: str) -> Broker:
        """Return a broker whose metadata store works when the test says so."""
        self.held = Held()
        return super().make_broker(self.held, **settings)

    def forsake(self, doing: Deferred[Any]) -> None:
        """Cancel a change, as is done when its client disconnects."""
        doing.cancel()
        self.failureResultOf(doing, CancelledError)

    def test_ensure_at_once(self) -> None:
        """Requests that need the same topic create one, and all wait until it can be written to."""
        waiting = [self.ensure() for _ in range(3)]
        for deferred in waiting:
            self.assertNoResult(deferred)
        self.held.work()
        for deferred in waiting:
            self.successResultOf(deferred)
        self.assertIsNotNone(self.broker.topics.find("t", 0))
        self.assertEqual(len(self.broker.store.logs), 1)

    def test_create_at_once(self) -> None:
        """One of two requests that create the same topic succeeds; the other gets TOPIC_ALREADY_EXISTS."""
        first, second = self.create(), self.create()
        self.held.work()
        self.successResultOf(first)
        self.assertEqual(self.refused(second), ErrorCode.TOPIC_ALREADY_EXISTS)

    def test_cancelled_creation(self) -> None:
        """A client that disconnects during its topic's creation leaves a complete topic."""
        creating, ensuring = self.create(), self.ensure()
        self.forsake(creating)
        self.held.work()
        self.successResultOf(ensuring)
        self.assertIsNotNone(self.broker.topics.find("t", 0))

    def test_cancelled_waiting(self) -> None:
        """A client that disconnects while it waits for another's creation affects nothing."""
        creating, ensuring = self.create(), self.ensure()
        self.forsake(ensuring)
        self.held.work()
        self.successResultOf(creating)

    def test_cancelled_deletion(self) -> None:
        """A client that disconnects during its topic's deletion leaves nothing of the topic."""
        self.held.holding = False
        self.make_topic("t", 2)
        self.held.holding = True
        self.forsake(self.delete())
        self.held.work()
        self.assertEqual((dict(self.broker.store.logs), self.broker.topics.partitions), ({}, {}))

    def test_bug_after_the_client_has_gone(self) -> None:
        """A bug after the client has disconnected is logged."""
        self.patch(self.broker.store, "create", lambda *_: fail(ZeroDivisionError()))
        self.forsake(self.create())
        self.held.work()
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_settled(self) -> None:
        """A call of settled() waits for all changes under way, even those of disconnected clients."""
        self.successResultOf(self.broker.topic_commands.settled())
        self.forsake(self.create())
        settled = self.broker.topic_commands.settled()
        self.assertNoResult(settled)
        self.held.work()
        self.successResultOf(settled)

    def add(self, count: int = 1, more: int = 1) -> Deferred[None]:
        """Begin to add partitions to a topic that has *count*."""
        return Deferred.fromCoroutine(self.broker.topic_commands.add_partitions("t", count, [(0,)] * more))

    def alter(self, **configs: str) -> Deferred[None]:
        """Begin to set a topic's configs."""
        return Deferred.fromCoroutine(self.broker.topic_commands.alter_configs("t", lambda old: configs))

    def made(self) -> None:
        """Make a topic."""
        self.held.holding = False
        self.make_topic()
        self.held.holding = True

    def test_growing_at_once(self) -> None:
        """One of two requests that grow a topic succeeds; the other leaves no logs."""
        self.made()
        first, second = self.add(), self.add(more=3)
        self.held.work()
        self.successResultOf(first)
        self.assertEqual(self.refused(second), ErrorCode.INVALID_PARTITIONS)
        self.assertEqual(len(self.broker.store.logs), 2)

    def test_growing_while_it_is_made(self) -> None:
        """A request that grows a topic waits while the topic's logs are being made."""
        creating, adding = self.create(), self.add()
        self.held.work()
        self.successResultOf(creating)
        self.successResultOf(adding)
        self.assertEqual(len(self.broker.topics.of("t")), 2)

    def test_deleted_while_it_grows(self) -> None:
        """A topic that grows during its deletion is deleted completely, and is empty when created again."""
        self.made()
        adding, deleting = self.add(), self.delete()
        self.held.work()
        self.successResultOf(adding)
        self.successResultOf(deleting)
        self.assertEqual((dict(self.broker.store.logs), self.broker.topics.partitions), ({}, {}))
        self.successResultOf(self.working(self.create("t", 2)))
        self.assertEqual(len(self.broker.store.logs), 2)

    def test_deleted_while_its_new_logs_are_made(self) -> None:
        """A deletion waits for new logs being made, which might otherwise join a topic created again."""
        self.made()
        create = self.broker.store.create
        making: list[Any] = []

        def slowly(*args: Any) -> Deferred[Any]:
            done: Deferred[Any] = Deferred()
            making.append((args, done))
            return done

        self.patch(self.broker.store, "create", slowly)
        adding, deleting = self.add(), self.delete()
        self.held.work()
        self.assertNoResult(deleting)
        self.assertEqual(self.refused(self.create()), ErrorCode.TOPIC_ALREADY_EXISTS)
        while making:  # the logs are made before the change, and found after it
            args, done = making.pop()
            create(*args).chainDeferred(done)
            self.held.work()
        self.successResultOf(adding)
        self.successResultOf(deleting)
        self.assertEqual((dict(self.broker.store.logs), self.broker.topics.partitions), ({}, {}))

    def test_growing_while_it_is_deleted(self) -> None:
        """A topic that is being deleted does not grow."""
        self.made()
        deleting, adding = self.delete(), self.add()
        self.held.work()
        self.successResultOf(deleting)
        self.assertEqual(self.refused(adding), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self.assertEqual(dict(self.broker.store.logs), {})

    def working(self, doing: Deferred[Any]) -> Deferred[Any]:
        """Run the waiting work."""
        self.held.work()
        return doing

    def test_cancelled_growth(self) -> None:
        """A client that disconnects while its topic grows leaves partitions that can be written to."""
        self.made()
        self.forsake(self.add())
        self.held.work()
        self.fill(b"v", partition=1)

    def test_altered_while_logs_are_made(self) -> None:
        """Configs changed while logs are being made apply to those logs, too."""
        self.made()
        create = self.broker.store.create
        making: list[Any] = []

        def slowly(*args: Any) -> Deferred[Any]:
            done: Deferred[Any] = Deferred()
            making.append((args, done))
            return done

        self.patch(self.broker.store, "create", slowly)
        adding = self.add()
        altering = self.alter(**{"retention.ms": "5"})
        self.held.work()
        self.successResultOf(altering)
        while making:  # the logs are made before the change, and found after it
            args, done = making.pop()
            create(*args).chainDeferred(done)
            self.held.work()
        self.successResultOf(adding)
        self.assertEqual([p.log.config.retention_ms for p in self.broker.topics.of("t")], [5, 5])

    def test_altered_while_it_is_made(self) -> None:
        """Configs changed while a whole topic is being made apply to its logs."""
        create = self.broker.store.create
        making: list[Any] = []

        def slowly(*args: Any) -> Deferred[Any]:
            done: Deferred[Any] = Deferred()
            making.append((args, done))
            return done

        self.patch(self.broker.store, "create", slowly)
        creating = self.create()
        self.held.work()
        altering = self.alter(**{"retention.ms": "5"})
        self.held.work()
        self.successResultOf(altering)
        args, done = making.pop()
        create(*args).chainDeferred(done)
        self.successResultOf(creating)
        self.assertEqual(self.broker.topics.of("t")[0].log.config.retention_ms, 5)

    def test_cancelled_alteration(self) -> None:
        """Configs are changed even if the client has disconnected."""
        self.made()
        self.forsake(self.alter(**{"retention.ms": "5"}))
        self.held.work()
        self.assertEqual(self.broker.topics.of("t")[0].log.config.retention_ms, 5)

    def test_created_while_logs_are_deleted(self) -> None:
        """A topic created again while the old one's files are removed keeps all of its new logs."""
        self.held.holding = False
        self.make_topic("t", 3)
        delete = self.broker.store.delete
        going: list[Deferred[None]] = []

        def slowly(name: TopicPartition) -> Deferred[None]:
            delete(name)
            going.append(Deferred())
            return going[-1]

        self.patch(self.broker.store, "delete", slowly)
        deleting = self.delete()
        self.successResultOf(self.create("t", 3))
        while going:
            going.pop(0).callback(None)
        self.successResultOf(deleting)
        self.assertEqual(len(self.broker.store.logs), 3)
