"""The contract of implementations of :class:`~kafkatx.interfaces.ILogStore`."""

from __future__ import annotations

import uuid

from zope.interface.verify import verifyObject

from kafkatx.config import BrokerConfig
from kafkatx.config.log_config import LogConfig
from kafkatx.errors import SettingError
from kafkatx.interfaces import ILogDir, ILogStore
from kafkatx.testing.contracts.store_case import NOW_MS, TP, StoreCase, batch
from kafkatx.types import TopicPartition


class LogStoreContract(StoreCase):
    """The contract of a store."""

    def test_interface(self) -> None:
        """Check that the store provides ILogStore."""
        self.assertTrue(verifyObject(ILogStore, self.make_store()))

    def test_create(self) -> None:
        """Check that a log is made once for a topic id, and that another id gets a new one without the old
        records.
        """
        store = self.opened()
        self.assertEqual(dict(store.unavailable), {})
        first_id, second_id = uuid.uuid4(), uuid.uuid4()
        log = self.result(store.create(TP, first_id, LogConfig()))
        self.put(log, batch([b"a"]))
        self.assertIs(self.result(store.create(TP, first_id, LogConfig())), log)
        self.assertEqual(store.topic_id(TP), first_id)
        self.assertEqual(dict(store.logs), {TP: log})
        other = self.result(store.create(TP, second_id, LogConfig()))
        self.assertEqual((other.log_end_offset, store.topic_id(TP)), (0, second_id))

    def test_delete(self) -> None:
        """Check that a deleted log is gone at once and does not come back; deleting nothing does nothing."""
        store = self.opened()
        topic_id = uuid.uuid4()
        self.put(self.result(store.create(TP, topic_id, LogConfig())), batch([b"a"]))
        self.result(store.delete(TP))
        self.assertEqual(dict(store.logs), {})
        self.result(store.delete(TP))
        self.clock.advance(120)
        self.assertEqual(self.result(store.create(TP, topic_id, LogConfig())).log_end_offset, 0)

    def test_partitions_are_apart(self) -> None:
        """Check that a change of one partition does not change another."""
        store = self.opened()
        logs = [
            self.result(store.create(TopicPartition("t", number), uuid.uuid4(), LogConfig()))
            for number in range(3)
        ]
        self.put(logs[1], batch([b"a"]))
        self.result(store.delete(TopicPartition("t", 0)))
        self.assertEqual([log.log_end_offset for log in logs[1:]], [1, 0])

    def test_checkpoint(self) -> None:
        """Check that a checkpoint can be made at any time."""
        store = self.opened()
        self.result(store.checkpoint())
        log = self.result(store.create(TP, uuid.uuid4(), LogConfig()))
        self.put(log, batch([b"a"]))
        self.result(store.checkpoint())
        log.advance_log_start(1)
        self.result(store.checkpoint_log_start(TP))

    def test_high_watermarks(self) -> None:
        """Check that a high watermark is unknown until one is given, and never above the log's end."""
        store = self.opened()
        self.assertEqual(store.high_watermark(TP), -1)
        log = self.result(store.create(TP, uuid.uuid4(), LogConfig()))
        self.put(log, batch([b"a"]), batch([b"b"]), batch([b"c"]))
        self.assertEqual(store.high_watermark(TP), -1)
        self.result(store.checkpoint_high_watermarks({TP: 2, TopicPartition("unknown", 0): 7}))
        self.assertEqual(store.high_watermark(TP), 2)
        self.result(store.checkpoint_high_watermarks({}))
        self.result(store.checkpoint())
        self.assertEqual(
            (store.high_watermark(TP), store.high_watermark(TopicPartition("unknown", 0))), (2, -1)
        )
        log.truncate_to(1)
        self.assertEqual(store.high_watermark(TP), 1)
        self.result(store.create(TP, uuid.uuid4(), LogConfig()))
        self.assertEqual(store.high_watermark(TP), -1)

    def test_closed_cleanly(self) -> None:
        """Check that a store that was never closed makes no claim that nothing was lost."""
        self.assertFalse(self.make_store().closed_cleanly)
        self.assertFalse(self.opened().closed_cleanly)

    def test_check(self) -> None:
        """Check that a config with a known retention policy passes, and that another one is refused in
        advance.
        """
        store = self.make_store()
        store.check(LogConfig(retention_policy="all-but-one"))
        self.assertRaises(SettingError, store.check, LogConfig(retention_policy="none"))

    def test_configure(self) -> None:
        """Other settings of the broker are taken over at any time; the logs go on."""
        store = self.make_store()
        store.reconfigure(BrokerConfig.load())
        store = self.opened()
        log = self.result(store.create(TP, uuid.uuid4(), LogConfig()))
        store.reconfigure(BrokerConfig.load(None, {"log.cleaner.dedupe.buffer.size": "1000"}))
        self.put(log, batch([b"a"]))
        self.result(store.clean(NOW_MS))
        store.reconfigure(BrokerConfig.load())

    def test_settle(self) -> None:
        """Check that what was created since the last call is returned once."""
        store = self.opened()
        topic_id = uuid.uuid4()
        self.result(store.create(TP, topic_id, LogConfig()))
        told = self.result(store.sync_directories()).placed
        self.assertLessEqual({(one.topic_id, one.partition) for one in told}, {(topic_id, TP.partition)})
        self.assertFalse(self.result(store.sync_directories()))

    def test_dirs(self) -> None:
        """Check that in a store with directories each log is in one of them, and none is offline."""
        store = self.opened()
        self.result(store.create(TP, uuid.uuid4(), LogConfig()))
        for log_dir in store.dirs:
            self.assertTrue(verifyObject(ILogDir, log_dir))
            self.assertIsNone(log_dir.error)
        self.assertIn([name for log_dir in store.dirs for name in log_dir.logs], ([TP], []))

    def test_reopen(self) -> None:
        """Check that a durable store restores everything: records, ids, log starts, epochs and producers."""
        store = self.opened()
        topic_id = uuid.uuid4()
        log = self.result(store.create(TP, topic_id, LogConfig(segment_bytes=200)))
        for number in range(10):
            self.put(log, batch([b"%d" % number], producer=(1, 0, number)), leader_epoch=number // 5)
        log.advance_log_start(4)
        self.result(store.checkpoint_high_watermarks({TP: 7}))
        self.result(store.close())
        if not self.durable:
            return
        store = self.opened()
        log = store.logs[TP]
        self.assertEqual((store.topic_id(TP), store.high_watermark(TP)), (topic_id, 7))
        self.assertEqual(self.content(log), [(number, b"%d" % number) for number in range(4, 10)])
        self.assertEqual((log.flushed_offset, log.epoch_at(4), log.epoch_at(9)), (10, 0, 1))
        (again,) = self.put(log, batch([b"9"], producer=(1, 0, 9)))
        self.assertEqual(again.base_offset, 9)
        self.put(log, batch([b"10"], producer=(1, 0, 10)))
        self.assertEqual(log.log_end_offset, 11)
