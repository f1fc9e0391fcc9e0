"""Reading the log of the registry."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.registry import registry_log
from kafkatx.broker.registry.registry_log import RegistryLog, decode_records
from kafkatx.records.keyed import build_keyed
from kafkatx.registry.records import config_record
from tests.broker.registry.case import RegistryCase
from tests.broker.running import at_once


class RegistryLogTests(RegistryCase):
    def setUp(self) -> None:
        """Make the topic, and a log of its own for the test."""
        super().setUp()
        self.make_topic("_schemas", cleanup_policy="compact")
        self.log = RegistryLog(self.partition, at_once("w"), self.clock)

    def configure(self, *subjects: str) -> None:
        """Write a configuration for each subject, in one batch."""
        self.write(*[config_record(subject, {"alias": subject}) for subject in subjects])

    def test_slices(self) -> None:
        """Many records are applied in slices, between which the reactor does other work."""
        self.patch(registry_log, "AT_ONCE", 2)
        self.configure("a", "b", "c")
        reading = Deferred.fromCoroutine(self.log.catch_up())
        self.assertEqual(len(self.log.state.configs), 2)
        self.assertFalse(self.log.current)
        self.clock.advance(0)
        self.successResultOf(reading)
        self.assertEqual(len(self.log.state.configs), 3)
        self.assertTrue(self.log.current)

    def test_once(self) -> None:
        """Two readers at the same time apply each record once."""
        self.configure("a")
        for reading in [Deferred.fromCoroutine(self.log.catch_up()) for _ in range(2)]:
            self.successResultOf(reading)
        self.assertEqual(self.log.state.changes, 1)

    def test_deleted_records(self) -> None:
        """The state is read anew from what is left after a client has deleted records."""
        self.configure("a")
        self.configure("b")
        self.successResultOf(Deferred.fromCoroutine(self.log.catch_up()))
        self.configure("c")
        self.log.applied = 0
        self.partition.log.advance_log_start(1)
        self.successResultOf(Deferred.fromCoroutine(self.log.catch_up()))
        self.assertEqual(sorted(self.log.state.configs), ["b", "c"])

    def test_not_committed(self) -> None:
        """Records above the high watermark are not applied."""
        self.configure("a")
        self.partition.high_watermark = 0
        self.successResultOf(Deferred.fromCoroutine(self.log.catch_up()))
        self.assertEqual(self.log.state.configs, {})

    def test_damaged(self) -> None:
        """A batch whose bytes are damaged is counted, and the next one read."""
        good = build_keyed([config_record("a", {"alias": "a"})], 0)
        bad = bytearray(good)
        bad[-3] ^= 1
        decoded = decode_records(memoryview(bytes(bad) + good))
        self.assertEqual((len(decoded.records), decoded.faults), (1, 1))
        self.assertIn("the batch at offset 0", decoded.first_fault)
