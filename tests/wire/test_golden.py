"""Request frames of real clients, recorded on a socket, in ``golden/``.

``<client>-<key>-<API>-v<version>.hex`` is the hexadecimal text of one frame without its size, sent by
librdkafka 2.16.1 (confluent-kafka), kafka-python 3.0.12, aiokafka 0.14, kafka-configs of Apache Kafka 3.9.1
or the Java clients of Apache Kafka 4.3.1 (java).
"""

from __future__ import annotations

import os

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.wire.api import APIS
from kafkatx.wire.codec import decode, encode
from kafkatx.wire.headers import encode_request_header, split_request
from kafkatx.wire.messages.alter_client_quotas import AlterClientQuotasRequest
from kafkatx.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkatx.wire.messages.create_topics import CreateTopicsRequest
from kafkatx.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from kafkatx.wire.messages.fetch import FetchRequest
from kafkatx.wire.messages.join_group import JoinGroupRequest
from kafkatx.wire.messages.produce import ProduceRequest
from kafkatx.wire.messages.update_features import UpdateFeaturesRequest
from kafkatx.wire.schema import Message

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")


def frames() -> dict[str, bytes]:
    """Each recorded frame by its name."""
    found = {}
    for name in sorted(os.listdir(GOLDEN)):
        with open(os.path.join(GOLDEN, name), encoding="ascii") as text:
            found[name.removesuffix(".hex")] = bytes.fromhex(text.read())
    return found


def read(frame: bytes) -> Message:
    """The request in a frame."""
    key, version, _, _, at = split_request(memoryview(frame))
    return decode(APIS[key].request, version, memoryview(frame)[at:])


class GoldenTests(SynchronousTestCase):
    """Bytes that real clients have sent."""

    def test_every_frame(self) -> None:
        """Each frame is the API and version that its name says, and is the same when encoded again."""
        recorded = frames()
        self.assertGreater(len(recorded), 40)
        for name, frame in recorded.items():
            key, version, correlation_id, client_id, at = split_request(memoryview(frame))
            self.assertTrue(name.endswith(f"-{key}-{APIS[key].name}-v{version}"), name)
            request = decode(APIS[key].request, version, memoryview(frame)[at:])
            again = encode_request_header(key, version, correlation_id, client_id) + encode(request, version)
            self.assertEqual(again, frame, name)

    def test_every_api(self) -> None:
        """Every API but OffsetForLeaderEpoch, which needs a changed leader, was recorded."""
        recorded = {int(name.split("-")[-3]) for name in frames()}
        self.assertEqual(set(APIS) - recorded, {23})

    def test_what_they_mean(self) -> None:
        """Some frames are looked into: the fields hold what the client was told to send."""
        recorded = frames()
        for version in (2, 8, 9):
            produce = read(recorded[f"librdkafka-0-Produce-v{version}"])
            assert isinstance(produce, ProduceRequest)
            records = produce.topic_data[0].partition_data[0].records
            assert isinstance(records, memoryview)
            self.assertEqual((produce.acks, produce.topic_data[0].name), (-1, "golden"))
            self.assertIn(b"value", records.tobytes())
        fetch = read(recorded["librdkafka-1-Fetch-v12"])
        assert isinstance(fetch, FetchRequest)
        self.assertEqual((fetch.rack_id, fetch.max_wait_ms, fetch.replica_id), ("rack-1", 100, -1))
        join = read(recorded["librdkafka-11-JoinGroup-v5"])
        assert isinstance(join, JoinGroupRequest)
        self.assertEqual((join.group_id, join.protocol_type), ("grpdyn", "consumer"))
        self.assertEqual([protocol.name for protocol in join.protocols], ["range", "roundrobin"])
        alive = read(recorded["librdkafka-68-ConsumerGroupHeartbeat-v1"])
        assert isinstance(alive, ConsumerGroupHeartbeatRequest)
        self.assertEqual((alive.group_id, alive.member_epoch), ("grpconsumer", 1))
        assert alive.topic_partitions is not None
        self.assertEqual([owned.partitions for owned in alive.topic_partitions], [[0, 1]])
        quota = read(recorded["kafka-configs-49-AlterClientQuotas-v1"])
        assert isinstance(quota, AlterClientQuotasRequest)
        (entry,) = quota.entries
        self.assertEqual(
            [(part.entity_type, part.entity_name) for part in entry.entity], [("client-id", "app")]
        )
        self.assertEqual(
            [(op.key, op.value, op.remove) for op in entry.ops], [("producer_byte_rate", 1024.0, False)]
        )
        update = read(recorded["java-57-UpdateFeatures-v2"])
        assert isinstance(update, UpdateFeaturesRequest)
        (feature,) = update.feature_updates
        self.assertEqual((feature.feature, feature.max_version_level), ("group.version", 1))
        self.assertTrue(update.validate_only)
        page = read(recorded["java-75-DescribeTopicPartitions-v0"])
        assert isinstance(page, DescribeTopicPartitionsRequest)
        self.assertEqual(([topic.name for topic in page.topics], page.cursor), (["java-topic"], None))
        create = read(recorded["kafka-python-19-CreateTopics-v7"])
        assert isinstance(create, CreateTopicsRequest)
        self.assertEqual([(c.name, c.value) for c in create.topics[0].configs], [("retention.ms", "1000")])
