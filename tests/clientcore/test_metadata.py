"""Tests of kafkatx.clientcore.metadata and kafkatx.clientcore.metadata_request."""

from __future__ import annotations

import uuid

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.errors import UnknownTopic
from kafkatx.clientcore.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata, from_response
from kafkatx.clientcore.metadata_request import metadata_request, require_topic
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import BrokerNode
from kafkatx.wire.codec import decode, encode
from kafkatx.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

ID = uuid.UUID(int=1)


def topic(*epochs: int, topic_id: uuid.UUID = ID, leader: int = 1) -> TopicMetadata:
    """Return a topic with a partition for each epoch."""
    partitions = {n: PartitionMetadata(n, leader, epoch) for n, epoch in enumerate(epochs)}
    return TopicMetadata("t", partitions, topic_id)


def cluster(*topics: TopicMetadata) -> ClusterMetadata:
    """Return a cluster that has these topics."""
    return ClusterMetadata({1: BrokerNode(1, "a", 1)}, 1, "c", {each.name: each for each in topics})


class ResponseTests(SynchronousTestCase):
    def response(self) -> MetadataResponse:
        """Return a response with two partitions, the second first, and an unknown topic."""
        partitions = [
            MetadataResponsePartition(
                partition_index=1, leader_id=-1, error_code=5, replica_nodes=[2, 1], isr_nodes=[2]
            ),
            MetadataResponsePartition(
                partition_index=0, leader_id=1, leader_epoch=3, replica_nodes=[1], isr_nodes=[1]
            ),
        ]
        return MetadataResponse(
            brokers=[MetadataResponseBroker(1, "a", 1, "rack")],
            cluster_id="c",
            controller_id=1,
            topics=[
                MetadataResponseTopic(name="t", topic_id=ID, is_internal=True, partitions=partitions),
                MetadataResponseTopic(error_code=3, name="gone", partitions=[]),
            ],
        )

    def test_values(self) -> None:
        """A response becomes values with sorted partitions."""
        found = from_response(self.response())
        self.assertEqual(found.brokers, {1: BrokerNode(1, "a", 1, "rack")})
        self.assertEqual((found.controller_id, found.cluster_id), (1, "c"))
        self.assertEqual(
            list(found.topics["t"].partitions.values()),
            [
                PartitionMetadata(0, 1, 3, (1,), (1,)),
                PartitionMetadata(1, -1, -1, (2, 1), (2,), ErrorCode.LEADER_NOT_AVAILABLE),
            ],
        )
        self.assertTrue(found.topics["t"].internal and found.topics["t"].usable)
        self.assertFalse(found.topics["gone"].usable)

    def test_oldest(self) -> None:
        """Fields that version 0 lacks are unknown."""
        response = decode(MetadataResponse, 0, encode(self.response(), 0))
        found = from_response(response)
        self.assertEqual((found.controller_id, found.cluster_id), (-1, None))
        self.assertEqual(found.topics["t"].partitions[0].leader_epoch, -1)
        self.assertEqual(found.topics["t"].topic_id, uuid.UUID(int=0))


class FollowingTests(SynchronousTestCase):
    def test_no_way_back(self) -> None:
        """A response from a broker that is behind does not bring an old leader back (KIP-320)."""
        new = cluster(topic(4, 7, leader=2)).following(cluster(topic(5, 6, leader=1)), {})
        partitions = new.topics["t"].partitions
        self.assertEqual([(p.leader, p.leader_epoch) for p in partitions.values()], [(1, 5), (2, 7)])

    def test_same_epoch(self) -> None:
        """The later of two responses with the same epoch counts, since the ISR may have changed."""
        new = cluster(topic(5, leader=-1)).following(cluster(topic(5)), {})
        self.assertEqual(new.topics["t"].partitions[0].leader, -1)

    def test_created_again(self) -> None:
        """A topic of the same name with another id replaces the old one; so does one without epochs."""
        other = uuid.UUID(int=2)
        for fresh in (topic(0, topic_id=other, leader=2), topic(-1, leader=2)):
            new = cluster(fresh).following(cluster(topic(5)), {})
            self.assertEqual(new.topics["t"].partitions[0].leader, 2)

    def test_partitions_that_went(self) -> None:
        """A partition that the response lacks is not kept."""
        new = cluster(topic(1)).following(cluster(topic(1, 1)), {})
        self.assertEqual(list(new.topics["t"].partitions), [0])

    def test_kept(self) -> None:
        """Kept topics stay unless the response has them."""
        old = {"t": topic(1), "u": TopicMetadata("u")}
        new = cluster(topic(2)).following(cluster(*old.values()), old)
        self.assertEqual(sorted(new.topics), ["t", "u"])
        self.assertEqual(new.topics["t"].partitions[0].leader_epoch, 2)


class RequestTests(SynchronousTestCase):
    def test_topics(self) -> None:
        """Topics are requested by name; None means all, which is an empty list in version 0."""
        named = metadata_request(["a", "b"], 12, True)
        self.assertEqual([asked.name for asked in named.topics or ()], ["a", "b"])
        self.assertTrue(named.allow_auto_topic_creation)
        self.assertFalse(metadata_request(["a"], 12, False).allow_auto_topic_creation)
        self.assertIsNone(metadata_request(None, 1, False).topics)
        self.assertEqual(metadata_request(None, 0, False).topics, [])
        for version in MetadataRequest.VERSIONS:
            encode(metadata_request(None, version, False), version)

    def test_found(self) -> None:
        """A usable topic is returned; another raises an error with the reason."""
        self.assertEqual(require_topic("t", cluster(topic(1))), topic(1))
        self.assertRaises(UnknownTopic, require_topic, "u", cluster(topic(1)))
        for code, expected in (
            (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            (ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.INVALID_TOPIC_EXCEPTION),
            (ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE),
        ):
            answer = cluster(TopicMetadata("t", error=code))
            self.assertIs(self.assertRaises(RequestError, require_topic, "t", answer).code, expected)
