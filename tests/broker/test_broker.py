"""One round of writing: what succeeds, what fails, and who is woken."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from functools import partial

from twisted.internet.defer import Deferred
from twisted.logger import LogLevel, capturedLogs

from kafkatx.broker.broker import Broker
from kafkatx.broker.producer_ids import BLOCK, ProducerIds
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.purgatory import delay_fetch
from kafkatx.config import BrokerConfig
from kafkatx.config.table import cleanup
from kafkatx.config.table import log as log_table
from kafkatx.coordination.embedded import EmbeddedCoordinator
from kafkatx.errors import ErrorCode
from kafkatx.log.memory import MemoryLogStore
from kafkatx.log.retention import TimeAndSizeRetention
from kafkatx.records.builder import build_values
from tests.broker.running import NODE, NOW_MS, BrokerTestCase, at_once, produce_request


def _instead(new: Mapping[str, str], old: Mapping[str, str]) -> Mapping[str, str]:
    """A change to these configs, whatever there was."""
    return new


class DynamicConfigTests(BrokerTestCase):
    """Settings that change while the broker runs."""

    def alter(self, name: str, **configs: str) -> None:
        """Give a broker, or all, these settings and no others; names with _ for a dot."""
        new = {config.replace("_", "."): value for config, value in configs.items()}
        self.successResultOf(self.broker.coordinator.alter_broker_configs(name, lambda _: new))

    def test_listeners(self) -> None:
        """Who keeps values of the settings is told of every change, after which the broker has them."""
        heard: list[int | None] = []

        def listener(config: BrokerConfig) -> None:
            self.assertIs(self.broker.config, config)
            heard.append(config[log_table.LOG_ROLL_MS])

        self.broker.config_listeners.append(listener)
        self.alter("", log_roll_ms="5")
        self.alter("0", log_roll_ms="6")
        self.alter("0")
        self.alter("")
        self.assertEqual(heard, [5, 6, 5, None])

    def test_of_others(self) -> None:
        """Settings of another broker are nothing to this one; nor are other changes of the cluster."""
        config = self.broker.config
        self.make_topic()
        self.assertIs(self.broker.config, config)
        self.alter("1", log_roll_ms="5")
        self.assertIsNone(self.broker.config[log_table.LOG_ROLL_MS])

    def test_read_again(self) -> None:
        """Settings of the start that are read again hold at once; the log names those that need a restart."""
        (partition,) = self.make_topic()
        read = BrokerConfig.load(None, {"log.retention.ms": "5", "broker.rack": "b"})
        with capturedLogs() as events:
            self.broker.reload(read)
        self.assertEqual(partition.log.config.retention_ms, 5)
        said = {event["log_level"]: event for event in events}
        self.assertIn("broker.rack", said[LogLevel.warn]["names"])
        self.assertEqual(said[LogLevel.info]["changes"], "log.retention.ms changed")
        self.alter("0", log_retention_ms="6")
        self.alter("0")
        self.assertEqual(self.broker.config[cleanup.LOG_RETENTION_MS], 5)

    def test_handlers_see_them(self) -> None:
        """The limits of a topic that says nothing are the broker's at once."""
        self.make_topic()
        self.alter("0", message_max_bytes="100")
        records = build_values([b"x" * 200], NOW_MS)
        self.assertEqual(self.produce(records).error_code, ErrorCode.MESSAGE_TOO_LARGE)

    def test_restart(self) -> None:
        """They hold from the start on when the broker is started again, before any log is opened."""
        settings = {"log.dirs": self.mktemp()}
        before = EmbeddedCoordinator(BrokerConfig.load(None, settings), at_once)
        self.successResultOf(before.start(NODE))
        self.successResultOf(before.create_topic("t", [[0]], {}))
        for name, value in (("", "5"), ("0", "6")):
            changed = {"log.retention.ms": value, "of.the.future": "1"}
            self.successResultOf(before.alter_broker_configs(name, partial(_instead, changed)))
        self.successResultOf(before.stop())
        coordinator = EmbeddedCoordinator(BrokerConfig.load(None, settings), at_once)
        config = BrokerConfig.load(None, {"log.retention.ms": "4"})
        store = MemoryLogStore(config, at_once, self.clock, lambda name: TimeAndSizeRetention())
        broker = Broker(config, coordinator, store, self.clock, at_once)
        self.addCleanup(coordinator.stop)
        with capturedLogs() as events:
            self.successResultOf(coordinator.start(NODE))
        self.successResultOf(Deferred.fromCoroutine(broker.open()))
        self.assertEqual(broker.config[cleanup.LOG_RETENTION_MS], 6)
        found = broker.topics.find("t", 0)
        assert found is not None
        self.assertEqual(found.log.config.retention_ms, 6)
        warned = [e["complaint"] for e in events if e["log_level"] == LogLevel.warn]
        self.assertEqual(
            [complaint.split(";")[0] for complaint in warned], ["'of.the.future: unknown setting"] * 2
        )


class WriteStagedTests(BrokerTestCase):
    def stage(self, *partitions: Partition) -> None:
        """Stage a record in each."""
        for partition in partitions:
            name = partition.topic_partition
            request = produce_request(
                build_values([b"v"], NOW_MS), topic=name.topic, partition=name.partition
            )
            self.dispatch.answer(self.frame(0, 9, request), self.peer)

    def fail_write(self, partition: Partition) -> OSError:
        """Let the next write of a partition's log fail as a full disk makes it."""
        error = OSError(errno.ENOSPC, "No space left on device")

        def write() -> None:
            partition.log.truncate_to(partition.log.log_end_offset)  # drops what is staged
            patched.restore()
            raise error

        patched = self.patch(partition.log, "write", write)
        return error

    def test_each_once(self) -> None:
        """Every partition with staged records is written once, and the next round begins empty."""
        (partition,) = self.make_topic()
        writes = []
        write = partition.log.write

        def counted() -> None:
            writes.append(1)
            write()

        self.patch(partition.log, "write", counted)
        self.stage(partition, partition, partition)
        self.assertEqual(self.broker.write_staged(), {})
        self.assertEqual(self.broker.write_staged(), {})
        self.assertEqual((len(writes), partition.high_watermark), (1, 3))

    def test_failure_is_of_one_partition(self) -> None:
        """A log that cannot be written fails alone; its high watermark stays, and the log says which."""
        bad, good = self.make_topic("t", 2)
        error = self.fail_write(bad)
        self.stage(bad, good)
        with capturedLogs() as events:
            failed = self.broker.write_staged()
        self.assertEqual(failed, {bad: error})
        self.assertEqual((bad.high_watermark, good.high_watermark), (0, 1))
        (event,) = (e for e in events if e["log_level"] == LogLevel.error)
        self.assertEqual(str(event["partition"]), "t-0")
        self.stage(bad)
        self.assertEqual((self.broker.write_staged(), bad.high_watermark), ({}, 1))

    def test_woken_after_the_round(self) -> None:
        """Fetches are woken by wake_waiting(), not between two writes, and only where it was written."""
        written, failed, untouched = self.make_topic("t", 3)
        waits = [delay_fetch(self.clock, [p], 1000, lambda: True) for p in (written, failed, untouched)]
        self.fail_write(failed)
        self.stage(written, failed)
        self.broker.write_staged()
        self.assertNoResult(waits[0])
        self.broker.replicas.wake_waiting()
        self.successResultOf(waits[0])
        for other in waits[1:]:
            self.assertNoResult(other)


class ProducerIdTests(BrokerTestCase):
    def test_ids_across_restarts(self) -> None:
        """Ids never repeat: not within a block, not after it, not after a restart."""
        first = ProducerIds(self.broker.coordinator)
        given = [self.successResultOf(Deferred.fromCoroutine(first.next())) for _ in range(BLOCK + 1)]
        restarted = ProducerIds(self.broker.coordinator)
        given.append(self.successResultOf(Deferred.fromCoroutine(restarted.next())))
        self.assertEqual(len(set(given)), BLOCK + 2)
        self.assertTrue(all(producer_id >= 0 for producer_id in given))
