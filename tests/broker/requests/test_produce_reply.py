"""The copied reply to a produce request for one partition, which equals the encoder's bytes."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.requests.produce_reply import ProduceReply
from kafkatx.records.builder import build_values
from kafkatx.wire import codec
from kafkatx.wire.frames import frame
from kafkatx.wire.headers import encode_response_header
from kafkatx.wire.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from tests.broker.running import NOW_MS, BrokerTestCase, produce_request

OFFSETS = (0, 1, 0x0102030405060708, 2**63 - 1)


def encoded(version: int, topic: str, index: int, log_start: int, correlation_id: int, offset: int) -> bytes:
    """Return the whole reply as the encoder makes it."""
    result = PartitionProduceResponse(index, 0, offset, -1, log_start)
    body = codec.encoder(ProduceResponse, version)(ProduceResponse([TopicProduceResponse(topic, [result])]))
    return b"".join(frame([encode_response_header(0, version, correlation_id), *body]))  # type: ignore[arg-type]


class ProduceReplyTests(SynchronousTestCase):
    def test_as_encoded(self) -> None:
        """The bytes equal the encoder's for every version, with short and long names and numbers."""
        for version in ProduceResponse.VERSIONS:
            for topic, index, log_start in (("t", 0, 0), ("t" * 249, 0x01020304, 0x0102030405060708)):
                reply = ProduceReply(0, version, topic, index, log_start)
                for correlation_id in (0, -1, 2**31 - 1):
                    for offset in OFFSETS:
                        self.assertEqual(
                            reply.frame(correlation_id, offset),
                            encoded(version, topic, index, log_start, correlation_id, offset),
                            (version, topic, correlation_id, offset),
                        )


class ProducedTests(BrokerTestCase):
    def test_each_partition_and_version(self) -> None:
        """Each partition and version has a reply of its own."""
        for name in ("t", "u"):
            self.make_topic(name, 2)
        for version in (3, 9, 3, 8):
            for topic in ("t", "u"):
                for partition in (1, 0):
                    self.produce(build_values([b"v"], NOW_MS), version, 1, topic, partition)

    def test_offsets(self) -> None:
        """Each reply has its own request's offset."""
        self.make_topic("t")
        offsets = [self.produce(build_values([b"v"] * 2, NOW_MS)).base_offset for _ in range(3)]
        self.assertEqual(offsets, [0, 2, 4])

    def test_log_start_moves(self) -> None:
        """The reply after a deletion of records has the new log start offset."""
        (partition,) = self.make_topic("t")
        self.produce(build_values([b"v"] * 3, NOW_MS))
        partition.log.advance_log_start(2)
        self.assertEqual(self.produce(build_values([b"v"], NOW_MS)).log_start_offset, 2)

    def test_same_name_again(self) -> None:
        """A topic created again with the same name has a new reply."""
        (partition,) = self.make_topic("t")
        self.produce(build_values([b"v"] * 3, NOW_MS))
        partition.log.advance_log_start(2)
        self.produce(build_values([b"v"], NOW_MS))
        self.successResultOf(self.broker.topic_commands.delete("t"))
        self.make_topic("t")
        result = self.produce(build_values([b"v"], NOW_MS))
        self.assertEqual((result.base_offset, result.log_start_offset), (0, 0))

    def test_no_reply_without_acks(self) -> None:
        """A request with acks=0 gets no reply, and its records are written."""
        self.make_topic("t")
        self.assertIsNone(self.ask(0, 9, produce_request(build_values([b"v"], NOW_MS), 0)))
        self.assertEqual(self.stored(), [b"v"])
