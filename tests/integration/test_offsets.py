"""Committed offsets with a real broker: real clients' own calls, kill -9, and commits by the thousand."""

from __future__ import annotations

import tempfile
import time
import warnings
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.testing import EmbeddedBroker
from kafkatx.wire import codec
from kafkatx.wire.api import APIS
from kafkatx.wire.headers import decode_response_header
from kafkatx.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkatx.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.integration.clients import DEADLINE_S, new_topic
from tests.integration.raw import RawClient, request_frame
from tests.integration.shared import shared_broker

COMMIT, FETCH, CREATE_TOPICS = 8, 9, 19
LOADING = {0, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
OLD_VERSIONS = ((0, 8, 2), (0, 9), (0, 10))


def create(bootstrap: str, topic: str, partitions: int = 1) -> None:
    """Create a topic."""
    with RawClient(bootstrap) as client:
        client.ask(CREATE_TOPICS, 4, CreateTopicsRequest([CreatableTopic(topic, partitions, 1)], 10_000))


def commit(group: str, topic: str, offset: int, partition: int = 0) -> OffsetCommitRequest:
    """A commit of one partition."""
    part = OffsetCommitRequestPartition(partition, offset, committed_metadata=f"at {offset}")
    return OffsetCommitRequest(group, topics=[OffsetCommitRequestTopic(topic, [part])])


def fetch(client: RawClient, *groups: str) -> list[tuple[int, Any]]:
    """Offset and metadata of all that groups have committed; asked again while they are being loaded."""
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=None) for group in groups])
    deadline_s = time.monotonic() + DEADLINE_S
    while True:
        found = client.ask(FETCH, 8, request).groups
        errors = {group.error_code for group in found}
        if errors == {0} or not errors <= LOADING or time.monotonic() > deadline_s:
            break
        time.sleep(0.01)
    assert errors == {0}, errors
    return [
        (part.committed_offset, part.metadata)
        for group in found
        for topic in group.topics
        for part in topic.partitions
    ]


class ClientTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Create a topic of two partitions."""
        self.bootstrap = shared_broker().bootstrap
        self.topic = new_topic()
        self.group = f"group-{self.topic}"
        create(self.bootstrap, self.topic, 2)

    def test_kafka_python(self) -> None:
        """kafka-python commits and reads offsets back, as a client of 0.8.2, 0.9, 0.10 and of today."""
        from kafka import KafkaConsumer
        from kafka.structs import OffsetAndMetadata
        from kafka.structs import TopicPartition as KafkaPartition

        partition = KafkaPartition(self.topic, 1)
        for number, version in enumerate((*OLD_VERSIONS, None)):
            old = {} if version is None else {"api_version": version}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                consumer = KafkaConsumer(
                    bootstrap_servers=self.bootstrap, group_id=self.group, enable_auto_commit=False, **old
                )
            try:
                consumer.assign([partition])
                consumer.commit({partition: OffsetAndMetadata(100 + number, "note", -1)})
                found = consumer.committed(partition, metadata=True)
                self.assertEqual((found.offset, found.metadata), (100 + number, "note"), version)
            finally:
                consumer.close(autocommit=False)

    def test_confluent(self) -> None:
        """librdkafka commits and reads offsets back; where there are none it says so."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": self.group})
        try:
            consumer.commit(offsets=[TopicPartition(self.topic, 0, 42, metadata="note")], asynchronous=False)
            asked = [TopicPartition(self.topic, number) for number in (0, 1)]
            first, second = consumer.committed(asked, DEADLINE_S)
            self.assertEqual((first.offset, first.metadata), (42, "note"))
            self.assertLess(second.offset, 0)
        finally:
            consumer.close()

    def test_admin(self) -> None:
        """librdkafka's admin client alters and lists the offsets of a group."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        wanted = ConsumerGroupTopicPartitions(self.group, [TopicPartition(self.topic, 1, 7)])
        (altered,) = admin.alter_consumer_group_offsets([wanted]).values()
        altered.result(DEADLINE_S)
        (listed,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(self.group)]).values()
        (found,) = listed.result(DEADLINE_S).topic_partitions
        self.assertEqual((found.topic, found.partition, found.offset), (self.topic, 1, 7))

    def test_pipelined(self) -> None:
        """Thousands of commits on one connection, none of them waited for, are answered in their order."""
        count = 5000
        frames = [request_frame(COMMIT, 8, commit(self.group, self.topic, n), n) for n in range(count)]
        with RawClient(self.bootstrap) as client:
            client.send(b"".join(frames))
            for number in range(count):
                body = client.receive()
                correlation_id, at = decode_response_header(COMMIT, 8, body)
                self.assertEqual(correlation_id, number)
                response: Any = codec.decode(APIS[COMMIT].response, 8, body[at:])
                self.assertEqual(response.topics[0].partitions[0].error_code, 0)
            self.assertEqual(fetch(client, self.group), [(count - 1, f"at {count - 1}")])

    def test_seen_by_others(self) -> None:
        """A commit that is acknowledged on one connection is fetched by the next, and by those behind it."""
        with RawClient(self.bootstrap) as first, RawClient(self.bootstrap) as second:
            for offset in range(20):
                first.ask(COMMIT, 8, commit(self.group, self.topic, offset))
                self.assertEqual(fetch(second, self.group), [(offset, f"at {offset}")])
                request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(self.group, topics=None)])
                first.send(
                    request_frame(COMMIT, 8, commit(self.group, self.topic, offset + 1000))
                    + request_frame(FETCH, 8, request)
                )
                first.receive()
                body = first.receive()
                _, at = decode_response_header(FETCH, 8, body)
                found: Any = codec.decode(APIS[FETCH].response, 8, body[at:])
                self.assertEqual(found.groups[0].topics[0].partitions[0].committed_offset, offset + 1000)


class ExpiryTests(SynchronousTestCase):
    def test_expires(self) -> None:
        """The broker looks for old offsets by itself: one with a retention time of a millisecond goes."""
        with (
            EmbeddedBroker({"offsets.retention.check.interval.ms": "20"}) as broker,
            RawClient(broker.bootstrap) as client,
        ):
            create(broker.bootstrap, "t", 2)
            client.ask(COMMIT, 8, commit("g", "t", 5))
            short = commit("g", "t", 6, partition=1)
            short.retention_time_ms = 1
            client.ask(COMMIT, 4, short)
            deadline_s = time.monotonic() + DEADLINE_S
            while len(fetch(client, "g")) > 1 and time.monotonic() < deadline_s:
                time.sleep(0.01)
            self.assertEqual(fetch(client, "g"), [(5, "at 5")])


class KillTests(SynchronousTestCase):
    def test_kill(self) -> None:
        """Commits acknowledged before kill -9 are there after it, for every group, and after a clean stop."""
        groups = [f"group-{n}" for n in range(100)]
        with tempfile.TemporaryDirectory() as data_dir:
            broker = EmbeddedBroker(data_dir=data_dir, run_in="process")
            with broker:
                create(broker.bootstrap, "t")
                with RawClient(broker.bootstrap) as client:
                    for offset in range(3):
                        for number, group in enumerate(groups):
                            client.ask(COMMIT, 8, commit(group, "t", 1000 * offset + number))
                broker.kill()
            expected = [(2000 + n, f"at {2000 + n}") for n in range(100)]
            for _ in range(2):
                with (
                    EmbeddedBroker(data_dir=data_dir, run_in="process") as again,
                    RawClient(again.bootstrap) as client,
                ):
                    self.assertEqual(fetch(client, *groups), expected)
