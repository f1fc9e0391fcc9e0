"""Frames that are almost requests: valid ones of every API and version, damaged by a seeded chance."""

from __future__ import annotations

import random
import struct
import uuid
from collections.abc import Iterator

from kafkatx.records.batch import Record
from kafkatx.records.builder import build_values
from kafkatx.records.compression import Codec
from kafkatx.records.legacy import message_sets
from kafkatx.wire.api import APIS
from kafkatx.wire.messages import (
    alter_client_quotas,
    alter_configs,
    alter_user_scram_credentials,
    describe_mirrors,
    describe_quorum,
    describe_topic_partitions,
    incremental_alter_configs,
    offset_commit,
    offset_delete,
    offset_fetch,
)
from kafkatx.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafkatx.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kafkatx.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafkatx.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kafkatx.wire.messages.api_versions import ApiVersionsRequest
from kafkatx.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkatx.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkatx.wire.messages.create_acls import AclCreation, CreateAclsRequest
from kafkatx.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafkatx.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafkatx.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafkatx.wire.messages.delete_groups import DeleteGroupsRequest
from kafkatx.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkatx.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkatx.wire.messages.describe_acls import DescribeAclsRequest
from kafkatx.wire.messages.describe_broker import DescribeBrokerRequest
from kafkatx.wire.messages.describe_client_metrics import DescribeClientMetricsRequest
from kafkatx.wire.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from kafkatx.wire.messages.describe_cluster import DescribeClusterRequest
from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafkatx.wire.messages.describe_explanations import DescribeExplanationsRequest
from kafkatx.wire.messages.describe_groups import DescribeGroupsRequest
from kafkatx.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from kafkatx.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafkatx.wire.messages.describe_samples import DescribeSamplesRequest
from kafkatx.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafkatx.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from kafkatx.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafkatx.wire.messages.end_txn import EndTxnRequest
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkatx.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from kafkatx.wire.messages.heartbeat import HeartbeatRequest
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkatx.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkatx.wire.messages.list_config_resources import ListConfigResourcesRequest
from kafkatx.wire.messages.list_groups import ListGroupsRequest
from kafkatx.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafkatx.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from kafkatx.wire.messages.list_transactions import ListTransactionsRequest
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkatx.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafkatx.wire.messages.push_telemetry import PushTelemetryRequest
from kafkatx.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkatx.wire.messages.sasl_handshake import SaslHandshakeRequest
from kafkatx.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from kafkatx.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kafkatx.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from kafkatx.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from kafkatx.wire.schema import Message
from tests.integration.raw import request_frame

NO_SUCH_REPLICATION = 3
"""More replicas than there are brokers: what slips through damaged must not fill the disk with topics."""

INSTANCE = uuid.UUID(int=714)
PUSHED = bytes.fromhex("0a1512130a110a016d2a0c0a0a21000000000000f03f3a00")
"""OpenTelemetry's MetricsData with one gauge."""

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
            topics=[FetchTopic(topic, partitions=fetched)],
            forgotten_topics_data=[ForgottenTopic("x", partitions=[1])],
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
        **_of_the_cluster(topic),
        **_administration(topic),
        **_offsets(topic),
        **_members(topic),
        **_quotas(),
        **_transactions(topic),
        **_logins(),
    }
    return [by_key[key]]


def _of_the_cluster(topic: str) -> dict[int, Message]:
    """Yield requests of tools; the move goes to a log dir that does not exist."""
    moves = [AlterReplicaLogDir("/no/such/dir", [AlterReplicaLogDirTopic(topic, [0, 1])])]
    quorum = describe_quorum.TopicRequest("__cluster_metadata", [describe_quorum.PartitionRequest(0)])
    described = describe_topic_partitions.TopicRequest(topic)
    cursor = describe_topic_partitions.Cursor(topic, 1)
    return {
        34: AlterReplicaLogDirsRequest(moves),
        55: describe_quorum.DescribeQuorumRequest([quorum]),
        57: UpdateFeaturesRequest(1000, [FeatureUpdateKey("group.version", 1)], True),
        71: GetTelemetrySubscriptionsRequest(INSTANCE),
        72: PushTelemetryRequest(INSTANCE, 7, False, 0, PUSHED),
        74: ListConfigResourcesRequest([2, 4, 16, 32]),
        75: describe_topic_partitions.DescribeTopicPartitionsRequest([described], 10, cursor),
        10104: DescribeSamplesRequest(["bytesIn", topic], 1000, 1_700_000_000, 10),
        10103: DescribeBrokerRequest(),
        10102: DescribeExplanationsRequest("group", "app"),  # refused at once: others take seconds
        10101: DescribeClientMetricsRequest("app", ["org.apache.kafka."], 10),
        10100: describe_mirrors.DescribeMirrorsRequest(
            ["dc1"], [topic], 10, describe_mirrors.Cursor(topic, 1)
        ),
    }


def _administration(topic: str) -> dict[int, Message]:
    """Changes of configs and partitions, which are only checked; what slips through damaged does no harm."""
    alterations = [incremental_alter_configs.AlterableConfig("flush.ms", 0, "1000")]
    incremental = [incremental_alter_configs.AlterConfigsResource(2, topic, alterations)]
    configs = [alter_configs.AlterableConfig("log.roll.ms", "1000000")]
    assignments = [CreatePartitionsAssignment([NO_SUCH_REPLICATION])]
    moved = [ReassignableTopic(topic, [ReassignablePartition(0, [0]), ReassignablePartition(1, None)])]
    return {
        29: DescribeAclsRequest(1, None, 1, None, None, 1, 1),
        30: CreateAclsRequest([AclCreation(2, topic, 3, "User:mutants", "*", 3, 3)]),
        31: DeleteAclsRequest([DeleteAclsFilter(2, "no-such-topic", 3, None, None, 1, 1)]),
        33: alter_configs.AlterConfigsRequest([alter_configs.AlterConfigsResource(4, "0", configs)], True),
        37: CreatePartitionsRequest([CreatePartitionsTopic(topic, 3, assignments)], 1000, True),
        43: ElectLeadersRequest(0, [TopicPartitions(topic, [0, 1])], 1000),
        44: incremental_alter_configs.IncrementalAlterConfigsRequest(incremental, True),
        45: AlterPartitionReassignmentsRequest(1000, moved),
        46: ListPartitionReassignmentsRequest(1000, [ListPartitionReassignmentsTopics(topic, [0, 1])]),
        61: DescribeProducersRequest([TopicRequest(topic, [0, 1])]),
    }


def _transactions(topic: str) -> dict[int, Message]:
    """Return requests of a transaction that was never begun, and a marker for a topic that does not exist."""
    transaction = AddPartitionsToTxnTransaction("mutants", 7, 0, False, [AddPartitionsToTxnTopic(topic, [0])])
    partitions = [TxnOffsetCommitRequestPartition(0, 1, committed_metadata="")]
    offsets = [TxnOffsetCommitRequestTopic(topic, partitions)]
    markers = [WritableTxnMarker(7, 0, False, [WritableTxnMarkerTopic("no-such-topic", [0])], 0)]
    return {
        24: AddPartitionsToTxnRequest(
            transactions=[transaction],
            v3_and_below_transactional_id="mutants",
            v3_and_below_producer_id=7,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=[AddPartitionsToTxnTopic(topic, [0])],
        ),
        25: AddOffsetsToTxnRequest("mutants", 7, 0, "mutants"),
        26: EndTxnRequest("mutants", 7, 0, True),
        27: WriteTxnMarkersRequest(markers),
        28: TxnOffsetCommitRequest("mutants", "mutants", 7, 0, topics=offsets),
        65: DescribeTransactionsRequest(["mutants"]),
        66: ListTransactionsRequest(["Ongoing"], [7], 10, "mut.*"),
    }


def _quotas() -> dict[int, Message]:
    """A quota that is not enforced: damaged, it might be for everyone."""
    changes = [alter_client_quotas.OpData("request_percentage", 50.0)]
    entity = [alter_client_quotas.EntityData("client-id", "mutants")]
    return {
        48: DescribeClientQuotasRequest([ComponentData("user", 0, "u"), ComponentData("client-id", 2)], True),
        49: alter_client_quotas.AlterClientQuotasRequest(
            [alter_client_quotas.EntryData(entity, changes)], True
        ),
    }


def _logins() -> dict[int, Message]:
    """Return requests of a login, which a listener without logins refuses, and refused ones about users."""
    changed = alter_user_scram_credentials.ScramCredentialUpsertion("mutants", 1, 1, b"salt", b"salted")
    return {
        17: SaslHandshakeRequest("PLAIN"),
        36: SaslAuthenticateRequest(b"\0mutants\0secret"),
        50: DescribeUserScramCredentialsRequest([UserName("mutants")]),
        51: alter_user_scram_credentials.AlterUserScramCredentialsRequest(
            [alter_user_scram_credentials.ScramCredentialDeletion("no-such-user", 2)], [changed]
        ),
    }


def _offsets(topic: str) -> dict[int, Message]:
    """Commits of a consumer that is in no group, and what else concerns its offsets."""
    commit = offset_commit.OffsetCommitRequestPartition(0, 1000, 0, committed_metadata="note")
    commits = [offset_commit.OffsetCommitRequestTopic(topic, [commit])]
    one = [offset_fetch.OffsetFetchRequestTopic(topic, [0, 1])]
    many = offset_fetch.OffsetFetchRequestGroup(
        "group", topics=[offset_fetch.OffsetFetchRequestTopics(topic, [0, 1])]
    )
    gone = [offset_delete.OffsetDeleteRequestTopic(topic, [offset_delete.OffsetDeleteRequestPartition(1)])]
    return {
        8: offset_commit.OffsetCommitRequest("group", retention_time_ms=1000, topics=commits),
        9: offset_fetch.OffsetFetchRequest("group", one, [many]),
        10: FindCoordinatorRequest("group", 0, ["group", "other"]),
        47: offset_delete.OffsetDeleteRequest("group", gone),
    }


def _members(topic: str) -> dict[int, Message]:
    """Members that join for a second, and what else is asked about their groups."""
    protocols = [JoinGroupRequestProtocol("range", b"\0\0\0\0\0\0\0\0\0\0")]
    leaving = [MemberIdentity("member", None, "because")]
    return {
        11: JoinGroupRequest("joined", 6000, 1000, "", None, "consumer", protocols, "because"),
        12: HeartbeatRequest("joined", 1, "member"),
        13: LeaveGroupRequest("joined", "member", leaving),
        14: SyncGroupRequest(
            "joined", 1, "member", None, "consumer", "range", [SyncGroupRequestAssignment("member", b"share")]
        ),
        15: DescribeGroupsRequest(["joined", "group"], True),
        16: ListGroupsRequest(["Stable"], ["classic"]),
        42: DeleteGroupsRequest(["joined"]),
        68: ConsumerGroupHeartbeatRequest(
            "consumers", "member", 0, None, None, 1000, [topic], "a+", "uniform", []
        ),
        69: ConsumerGroupDescribeRequest(["consumers"], True),
    }


def _produce(version: int, topic: str, now_ms: int, acks: int) -> ProduceRequest:
    if version >= 3:
        records = build_values([b"value"] * 3, now_ms)
    else:
        records = message_sets.build([Record(0, now_ms, None, b"value", [])], version // 2, Codec.NONE, 0)
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
