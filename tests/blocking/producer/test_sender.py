"""Tests of kafkatx.blocking.producer.sender."""

from __future__ import annotations

import random
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.producer.writer import Writer
from kafkatx.clientcore.errors import ProduceFailed
from kafkatx.errors import ErrorCode
from kafkatx.records.conversion import iter_any
from kafkatx.wire.messages.metadata import MetadataRequest
from kafkatx.wire.messages.produce import ProduceRequest
from tests.blocking.fakes import LOSE_REPLY, LOSE_REQUEST, FakeCluster, Log


class SenderTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Two brokers, each leading one partition."""
        self.fake = FakeCluster({"t": [Log(), Log(leader=2)]}, brokers=2)

    def write(self, batches: int = 5, **options: Any) -> Writer:
        """Send batches of two records to partition 0."""
        with Writer(self.fake.client(), "t", **options) as writer:
            for i in range(batches):
                writer.send_values([b"%d-0" % i, b"%d-1" % i], partition=0)
        return writer

    def assert_all_once(self, batches: int = 5) -> None:
        """The log holds what write() sent, once and in order."""
        data = b"".join(self.fake.topics["t"][0].batches)
        expected = [b"%d-%d" % (i, j) for i in range(batches) for j in range(2)]
        self.assertEqual([record.value for record in iter_any(data)], expected)

    def test_retriable_reply(self) -> None:
        """A batch that is refused for now is sent again before those after it."""
        self.fake.faults[ProduceRequest].append(ErrorCode.NOT_ENOUGH_REPLICAS)
        writer = self.write()
        self.assert_all_once()
        self.assertEqual(writer.totals.records, 10)
        self.assertEqual(self.fake.slept, [0.1])

    def test_lost_reply(self) -> None:
        """A batch whose reply is lost is in the log once: the broker knows its sequence."""
        self.fake.faults[ProduceRequest].extend([None, LOSE_REPLY])
        self.assertEqual(self.write().totals.records, 10)
        self.assert_all_once()

    def test_lost_request(self) -> None:
        """A batch that never arrived, and those behind it, are sent again."""
        self.fake.faults[ProduceRequest].extend([None, LOSE_REQUEST])
        self.write()
        self.assert_all_once()

    def test_any_faults(self) -> None:
        """With any faults on the way, all records are in the log once and in order, and counted once."""
        source = random.Random(7)
        kinds = [None, None, LOSE_REQUEST, LOSE_REPLY, ErrorCode.NOT_LEADER_OR_FOLLOWER]
        for _ in range(50):
            self.fake.topics["t"] = [Log(), Log()]
            self.fake.faults[ProduceRequest].clear()
            self.fake.faults[ProduceRequest].extend(source.choices(kinds, k=30))
            writer = self.write(12)
            self.assert_all_once(12)
            self.assertEqual(writer.totals.records, 24)

    def test_named_leader(self) -> None:
        """Batches go at once to the leader that the refusal names, each once and in order (KIP-951)."""
        self.fake.brokers = 2
        log = self.fake.topics["t"][0]
        log.epoch = 4
        original = log.append

        def move_after_two(data: bytes) -> tuple[int, int]:
            result = original(data)
            if len(log.batches) == 2:
                log.leader, log.epoch = 2, 5
            return result

        self.patch(Log, "append", lambda self, data: move_after_two(data))
        self.write()
        self.assert_all_once()
        self.assertEqual(self.fake.requests[-1][0], 2)
        self.assertEqual((self.fake.slept, len(self.fake.sent(MetadataRequest))), ([], 1))

    def test_leader_moves(self) -> None:
        """The remaining batches go to the new leader."""
        self.fake.faults[ProduceRequest].extend([None, None])
        log = self.fake.topics["t"][0]
        original = log.append

        def move_after_two(data: bytes) -> tuple[int, int]:
            result = original(data)
            if len(log.batches) == 2:
                log.leader = 2
            return result

        self.patch(Log, "append", lambda self, data: move_after_two(data))
        self.write()
        self.assert_all_once()
        self.assertEqual(self.fake.requests[-1][0], 2)

    def test_full_disk(self) -> None:
        """A broker that takes no records is reported every five seconds."""
        self.fake.faults[ProduceRequest].extend([ErrorCode.KAFKA_STORAGE_ERROR] * 20)
        told: list[str] = []
        with Writer(self.fake.client(on_wait=told.append), "t") as writer:
            writer.send(b"x", partition=0)
        self.assertGreater(len(told), 1)
        self.assertRegex(told[0], r"^t \[0\] takes no records \(.*KAFKA_STORAGE_ERROR.*\) for [56] s$")

    def test_gives_up(self) -> None:
        """A broker that stays away is given up after delivery_timeout_s, with an error that says why."""
        client = self.fake.client()
        writer = Writer(client, "t", delivery_timeout_s=5)
        writer.send(b"x", partition=0)
        client.close()
        self.fake.down = {1, 2}
        error = self.assertRaises(ProduceFailed, writer.flush)
        self.assertEqual(error.code, ErrorCode.NETWORK_EXCEPTION)
        self.assertIn("t [0]: no broker answers at broker1:9092", str(error))

    def test_real_gap(self) -> None:
        """OUT_OF_ORDER_SEQUENCE_NUMBER for the oldest batch is final: records were lost before it."""
        writer = Writer(self.fake.client(), "t")
        writer.send_values([b"a"], partition=0)
        writer.flush()
        self.fake.topics["t"][0].sequences.clear()
        writer.send(b"b", partition=0)
        error = self.assertRaises(ProduceFailed, writer.flush)
        self.assertEqual(error.code, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
