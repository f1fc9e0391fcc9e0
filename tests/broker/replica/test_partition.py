"""A partition: its high watermark, its timers, and its offline state."""

from __future__ import annotations

from kafkatx.broker.replica.logs.offline_log import OfflineLog
from kafkatx.broker.replica.partition import EXPOSE_AFTER_MS, Partition
from kafkatx.config.log_config import LogConfig
from kafkatx.records.builder import build_values
from kafkatx.types import PartitionState
from tests.broker.running import NOW_MS, BrokerTestCase


class FakeFetch:
    """A delayed fetch that counts how often it is woken."""

    def __init__(self) -> None:
        self.woken = 0

    def wake(self) -> None:
        """Count the call."""
        self.woken += 1


class PartitionTests(BrokerTestCase):
    def append(self, partition: Partition, *values: bytes) -> None:
        """Append records to the log, and write them."""
        partition.log.append(build_values(values, NOW_MS), 0, NOW_MS, True)
        partition.log.write()

    def test_high_watermark(self) -> None:
        """The high watermark of a single replica is the log end offset, once it is advanced."""
        (partition,) = self.make_topic()
        self.append(partition, b"a", b"b")
        self.assertEqual(partition.high_watermark, 0)
        partition.advance()
        self.assertEqual((partition.high_watermark, partition.last_stable_offset), (2, 2))

    def test_flushed_only(self) -> None:
        """The high watermark is the flushed offset with log.expose=flushed, and a flush wakes fetches."""
        (partition,) = self.make_topic(kafkatx_expose="flushed")
        self.patch(type(partition.log), "flushed_offset", 0)
        fetch = FakeFetch()
        partition.delayed_fetches.add(fetch)
        self.append(partition, b"a")
        partition.advance()
        self.assertEqual(partition.high_watermark, 0)
        self.patch(type(partition.log), "flushed_offset", 1)
        assert partition.log.on_flushed is not None
        partition.log.on_flushed()
        self.assertEqual((partition.high_watermark, fetch.woken), (1, 1))

    def test_never_back(self) -> None:
        """The high watermark does not move back when only flushed records are exposed from now on."""
        (partition,) = self.make_topic()
        self.append(partition, b"a")
        partition.advance()
        self.patch(type(partition.log), "flushed_offset", 0)
        partition.reconfigure(LogConfig(expose="flushed"))
        self.assertEqual(partition.high_watermark, 1)

    def test_flush_settings(self) -> None:
        """The setting flush.ms is kept in seconds; exposing only flushed records has a default of its own."""
        (partition,) = self.make_topic()
        self.assertIsNone(partition.flush_s)
        for config, flush_s in (
            (LogConfig(flush_ms=2500), 2.5),
            (LogConfig(flush_ms=2500, expose="flushed"), 2.5),
            (LogConfig(expose="flushed"), EXPOSE_AFTER_MS / 1000),
            (LogConfig(), None),
        ):
            partition.reconfigure(config)
            self.assertEqual((partition.flush_s, partition.log.config), (flush_s, config))

    def test_must_flush(self) -> None:
        """A produce request waits for the disk once flush.messages records are unflushed."""
        (partition,) = self.make_topic(flush_messages="2")
        self.patch(type(partition.log), "flushed_offset", 0)
        self.append(partition, b"a")
        self.assertFalse(partition.must_flush)
        self.append(partition, b"b")
        self.assertTrue(partition.must_flush)

    def test_wake(self) -> None:
        """All delayed fetches are woken, even if one of them is removed meanwhile."""
        (partition,) = self.make_topic()
        fetches = [FakeFetch() for _ in range(3)]
        partition.delayed_fetches.update(fetches)
        self.patch(fetches[0], "wake", lambda: partition.delayed_fetches.clear())
        partition.wake()
        self.assertEqual([fetch.woken for fetch in fetches[1:]], [1, 1])

    def test_state(self) -> None:
        """Leader, epoch and replicas are those of the cluster's state."""
        (partition,) = self.make_topic()
        partition.apply(PartitionState(1, 7, (1, 0), (1,)), True)
        self.assertEqual(
            (partition.leader, partition.leader_epoch, partition.replicas, partition.isr),
            (1, 7, (1, 0), (1,)),
        )

    def test_offline(self) -> None:
        """An offline partition keeps its name and settings, and has neither records nor a timer."""
        (partition,) = self.make_topic(flush_ms="1000")
        name, config = partition.topic_partition, partition.log.config
        self.fill(b"v")
        self.assertIsNotNone(partition.flush_timer)
        timers = len(self.clock.getDelayedCalls())
        partition.go_offline()
        self.assertIsInstance(partition.log, OfflineLog)
        self.assertEqual((partition.topic_partition, partition.log.config), (name, config))
        self.assertEqual((partition.offline, partition.writable, partition.high_watermark), (True, False, -1))
        self.assertEqual((partition.flush_timer, len(self.clock.getDelayedCalls())), (None, timers - 1))

    def test_writable(self) -> None:
        """Clients may write to normal topics, but not to internal ones."""
        (partition,) = self.make_topic()
        self.assertEqual((partition.internal, partition.writable), (False, True))
        own = self.make_topic("__consumer_offsets", partitions=1)[0]
        self.assertEqual((own.internal, own.writable), (True, False))
