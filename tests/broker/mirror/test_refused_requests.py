"""Requests of clients that a mirrored topic refuses before its promotion, and those that it serves."""

from __future__ import annotations

from typing import Any

from kafkatx.config.mirror_record import KAFKATX_MIRROR, MirrorRecord, MirrorState
from kafkatx.errors import ErrorCode
from kafkatx.records.builder import build_values
from kafkatx.records.compression import Codec
from kafkatx.wire.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from kafkatx.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kafkatx.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kafkatx.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkatx.wire.messages.incremental_alter_configs import AlterableConfig as Altered
from kafkatx.wire.messages.incremental_alter_configs import (
    AlterConfigsResource as AlteredResource,
)
from kafkatx.wire.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
)
from tests.broker.mirror.case import MirrorCase
from tests.broker.running import values

TOPIC = 2
POLICY_VIOLATION, INVALID_CONFIG = ErrorCode.POLICY_VIOLATION, ErrorCode.INVALID_CONFIG


class RefusedRequestsTests(MirrorCase):
    def setUp(self) -> None:
        """Mirror a topic with two records."""
        super().setUp()
        self.log.add(b"a", b"b")
        self.link()
        self.make_mirror()
        self.pump()

    def states(self) -> Any:
        """Yield each state in which producers must not write, as the topic has it."""
        for state in (MirrorState.MIRRORING, MirrorState.PAUSED, MirrorState.FAILED, MirrorState.PROMOTING):
            self.change_record(state=state)
            yield state

    def delete(self, offset: int) -> int:
        """Return the error code of DeleteRecords."""
        topics = [DeleteRecordsTopic("t", [DeleteRecordsPartition(0, offset)])]
        code: int = self.ask(21, 2, DeleteRecordsRequest(topics, 1000)).topics[0].partitions[0].error_code
        return code

    def grow(self) -> tuple[int, str | None]:
        """Return the error code and the message of CreatePartitions."""
        (result,) = self.ask(
            37, 3, CreatePartitionsRequest([CreatePartitionsTopic("t", 2, None)], 1000)
        ).results
        return result.error_code, result.error_message

    def test_produce(self) -> None:
        """Records of producers are refused with the name of the link, also those that need checks."""
        for state in self.states():
            for records in (build_values([b"x"], 1), build_values([b"x"] * 5000, 1, codec=Codec.GZIP)):
                result = self.produce(records)
                self.assertEqual(result.error_code, POLICY_VIOLATION, state)
                self.assertIn("link dc1", result.error_message or "")
        self.assertEqual(self.partition.log.log_end_offset, 2)

    def test_delete_records(self) -> None:
        """DeleteRecords is refused."""
        for state in self.states():
            self.assertEqual(self.delete(1), POLICY_VIOLATION, state)
        self.assertEqual(self.partition.log.log_start_offset, 0)

    def test_create_partitions(self) -> None:
        """CreatePartitions is refused with a message that names the link."""
        for state in self.states():
            code, message = self.grow()
            self.assertEqual(code, POLICY_VIOLATION, state)
            self.assertIn("link dc1", message or "")

    def test_promoted(self) -> None:
        """After the promotion it is a topic like any other."""
        self.change_record(state=MirrorState.PROMOTING)
        self.pump(0.1)
        self.change_record(state=MirrorState.PROMOTED)
        self.assertEqual(self.produce(build_values([b"x"], 1)).error_code, 0)
        self.assertEqual((self.delete(1), self.grow()), (0, (0, None)))
        self.assertEqual(self.partition.log.config.retention_policy, "time+size")

    def test_damaged_record(self) -> None:
        """A topic whose record cannot be read is refused to producers."""
        change = self.broker.metadata.alter_topic_configs("t", lambda old: {**old, KAFKATX_MIRROR: "{"})
        self.successResultOf(change)
        self.assertEqual(self.produce(build_values([b"x"], 1)).error_code, POLICY_VIOLATION)

    def test_reading(self) -> None:
        """Consumers read it."""
        asked = [FetchTopic("t", partitions=[FetchPartition(0, -1, 0, partition_max_bytes=1 << 20)])]
        response = self.ask(1, 12, FetchRequest(max_wait_ms=0, max_bytes=1 << 20, topics=asked))
        self.assertEqual(values(response.responses[0].partitions[0].records), [b"a", b"b"])


class ConfigTests(MirrorCase):
    def setUp(self) -> None:
        """Make a mirror."""
        super().setUp()
        self.make_mirror()

    @property
    def known_record(self) -> str:
        """The record of the topic in the cluster's state."""
        text: str = self.broker.metadata.state.topics["t"].configs[KAFKATX_MIRROR]
        return text

    def set_config(self, name: str, value: str | None, operation: int = 0) -> int:
        """Return the error code of IncrementalAlterConfigs."""
        resources = [AlteredResource(TOPIC, "t", [Altered(name, operation, value)])]
        code: int = self.ask(44, 1, IncrementalAlterConfigsRequest(resources)).responses[0].error_code
        return code

    def replace(self, **configs: str) -> int:
        """Return the error code of AlterConfigs."""
        named = [AlterableConfig(name.replace("_", "."), value) for name, value in configs.items()]
        request = AlterConfigsRequest([AlterConfigsResource(TOPIC, "t", named)])
        code: int = self.ask(33, 2, request).responses[0].error_code
        return code

    def test_altered(self) -> None:
        """Clients neither set nor delete the record; other configs they do."""
        before = self.known_record
        promoted = MirrorRecord("dc1", self.record().source_id, MirrorState.PROMOTED).text()
        self.assertEqual(self.set_config(KAFKATX_MIRROR, promoted), INVALID_CONFIG)
        self.assertEqual(self.set_config(KAFKATX_MIRROR, None, 1), INVALID_CONFIG)
        self.assertEqual(self.replace(kafkatx_mirror=promoted), INVALID_CONFIG)
        self.assertEqual(self.set_config("segment.bytes", "5000"), 0)
        self.assertEqual(self.known_record, before)

    def test_replaced(self) -> None:
        """The record stays if all configs are replaced."""
        before = self.known_record
        self.assertEqual(self.replace(segment_bytes="5000"), 0)
        self.assertEqual(self.known_record, before)
        self.assertEqual(self.replace(), 0)
        self.assertEqual(dict(self.broker.metadata.state.topics["t"].configs), {KAFKATX_MIRROR: before})

    def test_created(self) -> None:
        """Clients create no mirrors."""
        configs = [CreatableTopicConfig(KAFKATX_MIRROR, self.known_record)]
        response = self.ask(19, 7, CreateTopicsRequest([CreatableTopic("other", 1, 1, [], configs)], 1000))
        self.assertEqual(response.topics[0].error_code, INVALID_CONFIG)
        self.assertNotIn("other", self.broker.metadata.state.topics)

    def test_described(self) -> None:
        """Clients read the record, as a config that is read-only; other topics have none."""
        self.make_topic("plain")
        resources = [DescribeConfigsResource(TOPIC, name, None) for name in ("t", "plain")]
        mirror, plain = self.ask(32, 4, DescribeConfigsRequest(resources)).results
        (entry,) = [one for one in mirror.configs if one.name == KAFKATX_MIRROR]
        self.assertEqual((entry.value, entry.read_only), (self.known_record, True))
        self.assertNotIn(KAFKATX_MIRROR, [one.name for one in plain.configs])
