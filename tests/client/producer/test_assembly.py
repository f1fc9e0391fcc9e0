"""Tests of kafkatx.client.producer.assembly: settings that reach a producer's parts."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.hooks import EventHandler, ProducerCallbacks
from kafkatx.client.producer.assembly import ProducerParts
from kafkatx.clientcore.errors import BufferExhausted
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.errors import SettingError
from tests.client.producer.fake_cluster import FakeCluster


class ProducerPartsTests(SynchronousTestCase):
    def make(self, **settings: Any) -> ProducerParts:
        """Return the parts for some settings."""
        cluster: Any = FakeCluster()
        loaded = ClientSettings.load("producer", settings)
        return ProducerParts(loaded, cluster, lambda *_: Deferred())

    def test_defaults(self) -> None:
        """The default producer is idempotent, without callbacks, handler or audit."""
        parts = self.make()
        self.assertTrue(parts.idempotent)
        self.assertEqual((parts.callbacks, parts.handler, parts.announcer), (None, None, None))
        self.assertTrue(parts.intake.plain)

    def test_hooks(self) -> None:
        """Callbacks, handler and serializer may be objects."""
        callbacks, handler = ProducerCallbacks(), EventHandler()
        parts = self.make(callback_handler=callbacks, event_handler=handler)
        self.assertIs(parts.callbacks, callbacks)
        self.assertIs(parts.handler, handler)
        self.assertFalse(parts.intake.plain)
        self.assertFalse(self.make(value_serializer=str.encode).intake.plain)

    def test_audit(self) -> None:
        """With audit.interval.ms there is an announcer; with a server header values are not plain."""
        self.assertIsNotNone(self.make(audit_interval_ms=1000).announcer)
        self.assertFalse(self.make(audit_server_header="server").intake.plain)

    def test_buffer_memory(self) -> None:
        """max.block.ms=0 rejects callers while buffer.memory is used up; settled batches admit them."""
        parts = self.make(max_block_ms=0, buffer_memory=1000)
        parts.accumulator.used_bytes = 1000
        self.assertRaises(BufferExhausted, parts.pool.reserve, 1, None, print, (), None)
        parts = self.make(buffer_memory=1000)
        parts.accumulator.used_bytes = 1000
        waiting = parts.pool.wait()
        self.assertEqual(parts.sender.hurry, 1)
        parts.accumulator.used_bytes = 0
        parts.sender.settled()
        self.successResultOf(waiting)
        self.assertEqual(parts.sender.hurry, 0)

    def test_contradiction(self) -> None:
        """Settings that exclude each other are refused, and so is a plugin that is not installed."""
        self.assertRaises(SettingError, self.make, enable_idempotence=True, acks="1")
        self.assertRaises(SettingError, self.make, partitioner_class="none-such")
