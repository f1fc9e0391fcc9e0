"""Frames that are almost requests: valid ones of every API and version, damaged by a seeded chance."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

from kafkatx.records import legacy
from kafkatx.records.batch import Record
from kafkatx.records.builder import build_values
from kafkatx.records.compression import Codec
from kafkatx.wire.api import APIS
from kafkatx.wire.messages.api_versions import ApiVersionsRequest
from kafkatx.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafkatx.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkatx.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkatx.wire.messages.describe_cluster import DescribeClusterRequest
from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafkatx.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from kafkatx.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkatx.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafkatx.wire.schema import Message
from tests.integration.raw import request_frame

NO_SUCH_REPLICATION = 3
"""More replicas than there are brokers: what slips through damaged must not fill the disk with topics."""

EXTREMES = (0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE, 0, 0x00FFFFFF, 0x7FFF7FFF)
EXTREME_VARINT = b"\xff\xff\xff\xff\x0f"


def valid_frames(topic: str, now_ms: int) -> list[bytes]:
    """A request of every version of every API that is served."""
    return [
        request_frame(key, version, request)
        for key, api in sorted(APIS.items())
        for version in api.versions
        for request in _requests(key, version, topic, now_ms)
    ]


def _requests(key: int, version: int, topic: str, now_ms: int) -> list[Message]:
    if key == 0:
        return [_produce(version, topic, now_ms, acks) for acks in (-1, 0, 1)]
    fetched = [FetchPartition(number, partition_max_bytes=1 << 20) for number in range(2)]
    epochs = [OffsetForLeaderPartition(0, -1, 0)]
    by_key: dict[int, Message] = {
        1: FetchRequest(
            max_wait_ms=5,
            min_bytes=1,
            topics=[FetchTopic(topic, fetched)],
            forgotten_topics_data=[ForgottenTopic("x", [1])],
        ),
        2: ListOffsetsRequest(-1, 0, [ListOffsetsTopic(topic, [ListOffsetsPartition(0, timestamp=-1)])]),
        3: MetadataRequest([MetadataRequestTopic(name=topic), MetadataRequestTopic(name="none")], True),
        18: ApiVersionsRequest("mutants", "1.0"),
        19: _create_topics(),
        20: DeleteTopicsRequest([DeleteTopicState("no-such-topic")], ["no-such-topic"], 1000),
        21: DeleteRecordsRequest([DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, 0)])], 1000),
        22: InitProducerIdRequest(None, 1000),
        23: OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic, epochs)]),
        32: DescribeConfigsRequest([DescribeConfigsResource(2, topic, ["retention.ms"])], True, True),
        35: DescribeLogDirsRequest([DescribableLogDirTopic(topic, [0, 1])]),
        60: DescribeClusterRequest(),
    }
    return [by_key[key]]


def _produce(version: int, topic: str, now_ms: int, acks: int) -> ProduceRequest:
    if version >= 3:
        records = build_values([b"value"] * 3, now_ms)
    else:
        records = legacy.build([Record(0, now_ms, None, b"value", [])], version // 2, Codec.NONE, 0)
    return ProduceRequest(None, acks, 1000, [TopicProduceData(topic, [PartitionProduceData(0, records)])])


def _create_topics() -> CreateTopicsRequest:
    configs = [CreatableTopicConfig("retention.ms", "1000")]
    plain = CreatableTopic("new-topic", 1, NO_SUCH_REPLICATION, [], configs)
    assigned = CreatableTopic("assigned", -1, -1, [CreatableReplicaAssignment(0, [NO_SUCH_REPLICATION])])
    return CreateTopicsRequest([plain, assigned], 1000, True)


def mutants(frames: list[bytes], count: int, seed: int) -> Iterator[bytes]:
    """Damage frames; the same *seed* damages them in the same way."""
    chance = random.Random(seed)
    for _ in range(count):
        body = bytearray(chance.choice(frames)[4:])
        for _ in range(chance.choice((1, 1, 1, 2, 4))):
            chance.choice(_DAMAGES)(body, chance)
        size = len(body)
        if chance.random() < 0.03:
            size = chance.choice((*EXTREMES, size + 1, size - 1, 1 << 20))
        yield struct.pack(">I", size & 0xFFFFFFFF) + body


def _flip(body: bytearray, chance: random.Random) -> None:
    if body:
        body[chance.randrange(len(body))] ^= 1 << chance.randrange(8)


def _replace(body: bytearray, chance: random.Random) -> None:
    if body:
        body[chance.randrange(len(body))] = chance.randrange(256)


def _cut(body: bytearray, chance: random.Random) -> None:
    del body[chance.randrange(len(body) + 1) :]


def _extreme(body: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(body) + 1)
    body[at : at + 4] = chance.choice(EXTREMES).to_bytes(4, "big")


def _varint(body: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(body) + 1)
    body[at : at + 1] = EXTREME_VARINT


def _repeat(body: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(body) + 1)
    body[at:at] = body[at : at + chance.randrange(1, 50)] * chance.randrange(1, 20)


def _insert(body: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(body) + 1)
    body[at:at] = chance.randbytes(chance.randrange(1, 9))


def _version(body: bytearray, chance: random.Random) -> None:
    body[2:4] = chance.randrange(20).to_bytes(2, "big")


_DAMAGES = (_flip, _flip, _replace, _replace, _cut, _extreme, _varint, _repeat, _insert, _version)
