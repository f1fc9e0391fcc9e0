"""Metadata: the brokers, the topics, and the creation of topics."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import attrs
from twisted.internet.defer import Deferred
from twisted.logger import LogLevel, capturedLogs

from kafkatx.broker.handlers import metadata
from kafkatx.errors import ErrorCode
from kafkatx.net.requests import Peer
from kafkatx.types import PartitionState
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kafkatx.wire.schema import NULL_UUID
from tests.broker.running import NODE, BrokerTestCase, joined

VERSIONS = range(14)


class MetadataTestCase(BrokerTestCase):
    def ask_for(self, *names: str, version: int = 12, create: bool = False) -> MetadataResponse:
        """Return the response for these topics; no names request none (version 0: all)."""
        topics = [MetadataRequestTopic(name=name) for name in names]
        response: MetadataResponse = self.ask(3, version, MetadataRequest(topics, create))
        return response

    def shown(self, response: MetadataResponse) -> dict[str | None, int]:
        """Return the topics' names and error codes."""
        return {topic.name: topic.error_code for topic in response.topics}


class OperationsTests(MetadataTestCase):
    """Authorized operations (KIP-430), with Apache Kafka 4.3.1's numbers without an authorizer."""

    def asked(self, version: int, cluster: bool, topics: bool) -> tuple[list[int], int]:
        """Return the operations of topics, and of the cluster."""
        names = [MetadataRequestTopic(name=name) for name in ("t", "missing")]
        response = self.ask(3, version, MetadataRequest(names, False, cluster, topics))
        return [
            t.topic_authorized_operations for t in response.topics
        ], response.cluster_authorized_operations

    def test_asked(self) -> None:
        """Operations are returned on request from version 8 on, the cluster's only until version 10."""
        self.make_topic()
        none = -(2**31)
        for version in VERSIONS[8:]:
            self.assertEqual(self.asked(version, False, False), ([none, none], none))
            self.assertEqual(self.asked(version, False, True), ([3576, 3576], none))
            cluster = 8096 if version < 11 else none
            self.assertEqual(self.asked(version, True, False), ([none, none], cluster))

    def test_created(self) -> None:
        """Operations are also returned for a topic that the request creates."""
        request = MetadataRequest([MetadataRequestTopic(name="new")], True, True, True)
        response = self.ask(3, 10, request)
        self.assertEqual([t.topic_authorized_operations for t in response.topics], [3576])
        self.assertEqual(response.cluster_authorized_operations, 8096)


class MetadataTests(MetadataTestCase):
    def test_brokers(self) -> None:
        """The broker has its advertised IPv4 address, and the controller is in the list."""
        for version in VERSIONS:
            response = self.ask_for(version=version)
            (broker,) = response.brokers
            self.assertEqual((broker.node_id, broker.host, broker.port), (NODE.id, "127.0.0.1", 9092))
            if version >= 1:
                self.assertEqual((broker.rack, response.controller_id), ("rack a", broker.node_id))
            if version >= 2:
                self.assertEqual(response.cluster_id, self.broker.metadata.state.cluster_id)
                self.assertEqual(len(response.cluster_id or ""), 22)

    def test_all_topics(self) -> None:
        """All topics are requested by an empty list in version 0, and by null from version 1 on."""
        self.make_topic("a")
        self.make_topic("b")
        self.assertEqual(self.shown(self.ask_for(version=0)), {"a": 0, "b": 0})
        for version in VERSIONS[1:]:
            self.assertEqual(self.shown(self.ask(3, version, MetadataRequest(None))), {"a": 0, "b": 0})
            self.assertEqual(self.shown(self.ask_for(version=version)), {})

    def test_topic(self) -> None:
        """A topic has its id, and each partition its leader, epoch, replicas and ISR."""
        self.make_topic("t", 2)
        for version in VERSIONS:
            (topic,) = self.ask_for("t", version=version).topics
            known = self.broker.metadata.state.topics["t"]
            self.assertEqual(topic.topic_id, known.topic_id if version >= 10 else NULL_UUID)
            self.assertEqual((topic.name, topic.error_code, topic.is_internal), ("t", 0, False))
            self.assertEqual([p.partition_index for p in topic.partitions], [0, 1])
            for partition in topic.partitions:
                self.assertEqual((partition.error_code, partition.leader_id), (0, 0))
                self.assertEqual((partition.replica_nodes, partition.isr_nodes), ([0], [0]))
                self.assertEqual(partition.leader_epoch, 0 if version >= 7 else -1)
                self.assertEqual(partition.offline_replicas, [])

    def test_version_0_is_not_tiny(self) -> None:
        """A reply of version 0 has a broker, since librdkafka takes very short replies for broken ones."""
        data = joined(self.answer(3, 0, MetadataRequest([])))
        self.assertGreaterEqual(len(data or b""), 31)

    def test_missing_leader(self) -> None:
        """A partition whose leader is not alive is an error with the offline replicas."""
        self.make_topic("t")
        state = self.broker.metadata.state
        away = attrs.evolve(state.topics["t"], partitions=(PartitionState(9, 3, (9, 0), (9,)),))
        changed = attrs.evolve(state, topics=MappingProxyType({"t": away}))
        self.patch(self.broker.metadata, "state", changed)
        (partition,) = self.ask_for("t").topics[0].partitions
        self.assertEqual((partition.error_code, partition.leader_id), (ErrorCode.LEADER_NOT_AVAILABLE, -1))
        self.assertEqual((partition.leader_epoch, partition.offline_replicas), (3, [9]))

    def test_by_id(self) -> None:
        """A topic is found by its id alone from version 12 on; an unknown id has its own code."""
        self.make_topic("t")
        known = self.broker.metadata.state.topics["t"].topic_id
        other = uuid.UUID(int=5)
        request = MetadataRequest([MetadataRequestTopic(known, None), MetadataRequestTopic(other, None)])
        found, missing = self.ask(3, 12, request).topics
        self.assertEqual((found.name, found.topic_id, found.error_code), ("t", known, 0))
        self.assertEqual(
            (missing.name, missing.topic_id, missing.error_code), (None, other, ErrorCode.UNKNOWN_TOPIC_ID)
        )

    def test_by_id_with_name(self) -> None:
        """The id decides, whatever name stands beside it: the Java client sends an empty one."""
        self.make_topic("t")
        self.make_topic("u")
        known = self.broker.metadata.state.topics["t"].topic_id
        for version in range(10, VERSIONS[-1] + 1):
            for name in ("", "u", "new"):
                request = MetadataRequest([MetadataRequestTopic(known, name)], allow_auto_topic_creation=True)
                (found,) = self.ask(3, version, request).topics
                self.assertEqual((found.name, found.topic_id, found.error_code), ("t", known, 0))
            lost = MetadataRequest(
                [MetadataRequestTopic(uuid.UUID(int=5), "")], allow_auto_topic_creation=True
            )
            (missing,) = self.ask(3, version, lost).topics
            self.assertEqual(missing.error_code, ErrorCode.UNKNOWN_TOPIC_ID)
        self.assertEqual(list(self.broker.metadata.state.topics), ["t", "u"])

    def test_by_id_too_early(self) -> None:
        """Versions 10 and 11 allow a null name in a request, but not in a reply."""
        for version in (10, 11):
            request = MetadataRequest([MetadataRequestTopic(uuid.UUID(int=5), None)])
            (topic,) = self.ask(3, version, request).topics
            self.assertEqual((topic.name, topic.error_code), ("", ErrorCode.UNKNOWN_TOPIC_ID))

    def test_new_id_when_created_again(self) -> None:
        """A topic that is created again has a new id."""
        self.make_topic("t")
        before = self.ask_for("t").topics[0].topic_id
        self.assertEqual(self.ask_for("t").topics[0].topic_id, before)
        self.successResultOf(Deferred.fromCoroutine(self.broker.topic_commands.delete("t")))
        self.make_topic("t")
        self.assertNotEqual(self.ask_for("t").topics[0].topic_id, before)

    def test_internal(self) -> None:
        """An internal topic is shown as internal."""
        self.make_topic("__consumer_offsets")
        (topic,) = self.ask_for("__consumer_offsets").topics
        self.assertTrue(topic.is_internal)


class CreationTests(MetadataTestCase):
    settings: ClassVar[Mapping[str, str]] = {"num.partitions": "3"}

    def test_old_versions_create(self) -> None:
        """A request before version 4 creates the topic with num.partitions, and shows it at once."""
        for version in range(4):
            name = f"t{version}"
            (topic,) = self.ask_for(name, version=version).topics
            self.assertEqual((topic.error_code, len(topic.partitions)), (0, 3))
            self.assertIsNotNone(self.broker.topics.find(name, 2))

    def test_flag(self) -> None:
        """The request's flag allows creation from version 4 on."""
        for version in range(4, 14):
            name = f"t{version}"
            response = self.ask_for(name, version=version, create=False)
            self.assertEqual(self.shown(response), {name: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})
            self.assertEqual(self.shown(self.ask_for(name, version=version, create=True)), {name: 0})

    def test_all_creates_nothing(self) -> None:
        """A request for all topics creates none."""
        self.ask(3, 1, MetadataRequest(None))
        self.assertEqual(self.broker.topics.partitions, {})

    def test_bad_names(self) -> None:
        """An invalid topic name is an error and creates nothing, in every version."""
        bad = ["../x", "", "x" * 250, ".", "a b"]
        for version in VERSIONS:
            for create in (False, True):
                response = self.ask_for(*bad, version=version, create=create)
                self.assertEqual(
                    self.shown(response), dict.fromkeys(bad, ErrorCode.INVALID_TOPIC_EXCEPTION), version
                )
        self.assertEqual(dict(self.broker.store.logs), {})

    def test_good_beside_bad(self) -> None:
        """An invalid name does not prevent the other topics from being created."""
        response = self.ask_for("../x", "good", create=True)
        self.assertEqual(self.shown(response), {"../x": ErrorCode.INVALID_TOPIC_EXCEPTION, "good": 0})

    def test_same_name_twice(self) -> None:
        """A topic that occurs twice is created and answered once."""
        response = self.ask_for("t", "t", create=True)
        self.assertEqual([topic.error_code for topic in response.topics], [0])

    def test_many_names(self) -> None:
        """One request creates a limited number of topics; the others get a retriable error."""
        self.patch(metadata, "MOST_CREATED", 2)
        response = self.ask_for("a", "b", "c", "d", create=True)
        later = ErrorCode.LEADER_NOT_AVAILABLE
        self.assertEqual(self.shown(response), {"a": 0, "b": 0, "c": later, "d": later})
        self.assertEqual(self.shown(self.ask_for("a", "b", "c", "d", create=True))["d"], 0)


class NoCreationTests(MetadataTestCase):
    settings: ClassVar[Mapping[str, str]] = {"auto.create.topics.enable": "false"}

    def test_disabled(self) -> None:
        """No version creates a topic with auto.create.topics.enable=false."""
        for version in VERSIONS:
            response = self.ask_for("t", version=version, create=True)
            self.assertEqual(self.shown(response), {"t": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})
        self.assertEqual(self.broker.topics.partitions, {})


class AddressTests(MetadataTestCase):
    def warnings(self, local_host: str) -> list[dict[str, Any]]:
        """Return the warnings after a client that connected to this address asks twice."""
        self.peer = Peer("192.0.2.9", 40_000, local_host, 9092)
        with capturedLogs() as events:
            self.ask_for()
            self.ask_for()
        return [event for event in events if event["log_level"] == LogLevel.warn]

    def test_other_address(self) -> None:
        """A remote client that is given 127.0.0.1 causes one warning, which names the setting."""
        (event,) = self.warnings("192.0.2.1")
        self.assertIn("advertised.listeners", event["log_format"])
        self.assertEqual(
            (event["host"], event["advertised"], event["port"]), ("192.0.2.1", "127.0.0.1", 9092)
        )

    def test_same_address(self) -> None:
        """A client that uses the advertised address causes no warning."""
        self.assertEqual(self.warnings("127.0.0.1"), [])
