"""A request for each API, and for each condition under which it demands something."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import attrs

from kafkatx.broker.authorization import demands as d
from kafkatx.records.builder import build_values
from kafkatx.records.compression import Codec
from kafkatx.wire.messages import (
    alter_client_quotas,
    alter_configs,
    alter_user_scram_credentials,
    create_acls,
    delete_acls,
    describe_acls,
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
from kafkatx.wire.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kafkatx.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kafkatx.wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kafkatx.wire.messages.api_versions import ApiVersionsRequest
from kafkatx.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkatx.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkatx.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kafkatx.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkatx.wire.messages.delete_groups import DeleteGroupsRequest
from kafkatx.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkatx.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkatx.wire.messages.describe_broker import DescribeBrokerRequest
from kafkatx.wire.messages.describe_client_metrics import DescribeClientMetricsRequest
from kafkatx.wire.messages.describe_client_quotas import DescribeClientQuotasRequest
from kafkatx.wire.messages.describe_cluster import DescribeClusterRequest
from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafkatx.wire.messages.describe_explanations import DescribeExplanationsRequest
from kafkatx.wire.messages.describe_groups import DescribeGroupsRequest
from kafkatx.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from kafkatx.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafkatx.wire.messages.describe_samples import DescribeSamplesRequest
from kafkatx.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafkatx.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from kafkatx.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafkatx.wire.messages.end_txn import EndTxnRequest
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkatx.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from kafkatx.wire.messages.heartbeat import HeartbeatRequest
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkatx.wire.messages.leave_group import LeaveGroupRequest
from kafkatx.wire.messages.list_config_resources import ListConfigResourcesRequest
from kafkatx.wire.messages.list_groups import ListGroupsRequest
from kafkatx.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafkatx.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
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
from kafkatx.wire.messages.sync_group import SyncGroupRequest
from kafkatx.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kafkatx.wire.messages.update_features import UpdateFeaturesRequest
from kafkatx.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from kafkatx.wire.schema import Message
from tests.broker.authorization.authorized import GROUP, TOPIC, TRANSACTION


class Subject(Protocol):
    """A broker that cases are tried at, with a topic, a group and a transaction.

    :ivar producer: producer id and epoch of the transaction.
    """

    producer: tuple[int, int]

    def topic_id(self) -> uuid.UUID:
        """Return the id of the topic.

        :raises KeyError: a request has removed it.
        """

    def remove_topic(self) -> None:
        """Remove the topic."""

    def expect_followers(self) -> None:
        """Make the broker one of several, which refuses strangers by their epochs."""

    def ask_late(self, key: int, version: int, request: Message) -> Any:
        """Return the response to a request that may wait."""


Make = Callable[[Subject], Message]


def _nothing(test: Subject) -> None:
    """Do nothing: the request needs no more than the test case has."""


@attrs.frozen
class Case:
    """A request.

    :ivar whens: the conditions of the demands that it meets, beside those without one.
    :ivar shows: returns True if the response tells what it hides from others.
    :ivar prepare: called before, as an administrator.
    """

    version: int
    make: Make
    whens: tuple[str, ...] = ()
    shows: Callable[[Any], bool] | None = None
    prepare: Callable[[Subject], None] = _nothing


def of(request: Callable[[], Message], versions: Iterable[int], *whens: str, **more: Any) -> list[Case]:
    """Return the cases of a request that is the same in some versions."""
    return [Case(version, lambda _: request(), whens, **more) for version in versions]


def _produce() -> ProduceRequest:
    data = [PartitionProduceData(0, build_values([b"x"], 0))]
    return ProduceRequest(None, -1, 1000, [TopicProduceData(TOPIC, data)])


def _produce_in_transaction(test: Subject) -> ProduceRequest:
    producer_id, epoch = test.producer
    batch = build_values([b"x"], 0, Codec.NONE, producer_id, epoch, 0, True)
    return ProduceRequest(TRANSACTION, -1, 1000, [TopicProduceData(TOPIC, [PartitionProduceData(0, batch)])])


def _fetch(test: Subject, version: int) -> FetchRequest:
    asked = FetchPartition(0, partition_max_bytes=1000)
    return FetchRequest(min_bytes=1, topics=[FetchTopic(TOPIC, test.topic_id(), [asked])])


def _of_follower(test: Subject) -> FetchRequest:
    request = _fetch(test, 16)
    request.replica_state = ReplicaState(1, 1)
    return request


def _marker() -> WritableTxnMarker:
    return WritableTxnMarker(7, 0, False, [WritableTxnMarkerTopic(TOPIC, [0])], 0)


def _metadata(name: str | None, version: int = 9) -> MetadataRequest:
    topics = None if name is None else [MetadataRequestTopic(name=name)]
    return MetadataRequest(topics if version or topics else [], True)


def _commit() -> Message:
    partition = offset_commit.OffsetCommitRequestPartition(0, 1, committed_metadata="")
    return offset_commit.OffsetCommitRequest(
        GROUP, topics=[offset_commit.OffsetCommitRequestTopic(TOPIC, [partition])]
    )


def _offsets(version: int, named: bool) -> Message:
    if version >= 8:
        many = [offset_fetch.OffsetFetchRequestTopics(TOPIC, [0])] if named else None
        return offset_fetch.OffsetFetchRequest(
            groups=[offset_fetch.OffsetFetchRequestGroup(GROUP, topics=many)]
        )
    topics = [offset_fetch.OffsetFetchRequestTopic(TOPIC, [0])] if named else None
    return offset_fetch.OffsetFetchRequest(GROUP, topics)


def _shows_offsets(response: Any) -> bool:
    topics = [*response.topics, *(topic for group in response.groups for topic in group.topics)]
    return any(topic.name == TOPIC for topic in topics)


def _configs(kind: int, name: str) -> dict[int, Callable[[], Message]]:
    return {
        32: lambda: DescribeConfigsRequest([DescribeConfigsResource(kind, name, None)]),
        33: lambda: alter_configs.AlterConfigsRequest(
            [alter_configs.AlterConfigsResource(kind, name, [])], True
        ),
        44: lambda: incremental_alter_configs.IncrementalAlterConfigsRequest(
            [incremental_alter_configs.AlterConfigsResource(kind, name, [])], True
        ),
    }


def _with_configs(key: int, versions: Iterable[int]) -> list[Case]:
    return [
        case
        for kind, name, when in (
            (2, TOPIC, d.FOR_TOPIC),
            (4, "0", d.FOR_BROKER),
            (32, GROUP, d.FOR_GROUP_CONFIGS),
        )
        for case in of(_configs(kind, name)[key], versions, when)
    ]


def _beat(group: str = GROUP) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group, "m", 0, rebalance_timeout_ms=1000, subscribed_topic_names=[TOPIC], topic_partitions=[]
    )


def _page(*names: str) -> Message:
    return describe_topic_partitions.DescribeTopicPartitionsRequest(
        [describe_topic_partitions.TopicRequest(name) for name in names]
    )


def _add_partitions(test: Subject) -> Message:
    topics = [AddPartitionsToTxnTopic(TOPIC, [0])]
    several = [AddPartitionsToTxnTransaction(TRANSACTION, *test.producer, False, topics)]
    return AddPartitionsToTxnRequest(several, TRANSACTION, *test.producer, topics)


def _commit_in_transaction(test: Subject) -> Message:
    partition = TxnOffsetCommitRequestPartition(0, 1, committed_metadata="")
    return TxnOffsetCommitRequest(
        TRANSACTION, GROUP, *test.producer, topics=[TxnOffsetCommitRequestTopic(TOPIC, [partition])]
    )


def _any_acl() -> tuple[Any, ...]:
    return 1, None, 1, None, None, 1, 1


CASES: dict[int, list[Case]] = {
    0: [
        *of(_produce, (3, 7, 9, 12)),
        *(Case(version, _produce_in_transaction, (d.TRANSACTIONAL,)) for version in (3, 9, 12)),
    ],
    1: [
        *(
            Case(version, lambda test, version=version: _fetch(test, version), (d.OF_CLIENTS,))  # type: ignore[misc]
            for version in (0, 4, 7, 12, 13, 16)
        ),
        Case(16, _of_follower, (d.OF_FOLLOWERS,), prepare=lambda test: test.expect_followers()),
    ],
    2: of(
        lambda: ListOffsetsRequest(-1, 0, [ListOffsetsTopic(TOPIC, [ListOffsetsPartition(0, timestamp=-1)])]),
        range(12),
    ),
    3: [
        *of(lambda: _metadata(TOPIC), range(14), d.NAMED),
        *of(
            lambda: _metadata(None, 0),
            (0,),
            d.ALL,
            shows=lambda response: TOPIC in [topic.name for topic in response.topics],
        ),
        *of(
            lambda: _metadata(None),
            range(1, 14),
            d.ALL,
            shows=lambda response: TOPIC in [topic.name for topic in response.topics],
        ),
        *of(
            lambda: MetadataRequest([], False, include_cluster_authorized_operations=True),
            (8, 10),
            d.OPERATIONS,
            shows=lambda response: bool(response.cluster_authorized_operations),
        ),
        Case(
            9,
            lambda test: _metadata(TOPIC),
            (d.NAMED, d.CREATING),
            prepare=lambda test: test.remove_topic(),
        ),
    ],
    8: of(_commit, range(10)),
    9: [
        *(
            Case(version, lambda test, version=version: _offsets(version, True), (d.NAMED,))  # type: ignore[misc]
            for version in range(10)
        ),
        *(
            Case(
                version,
                lambda test, version=version: _offsets(version, False),  # type: ignore[misc]
                (d.ALL,),
                _shows_offsets,
            )
            for version in range(2, 10)
        ),
    ],
    10: [
        *of(lambda: FindCoordinatorRequest(GROUP, 0, [GROUP]), range(5), d.FOR_GROUP),
        *of(lambda: FindCoordinatorRequest(TRANSACTION, 1, [TRANSACTION]), range(1, 5), d.FOR_TRANSACTION),
    ],
    11: of(
        lambda: JoinGroupRequest(
            GROUP, 6000, 6000, protocol_type="consumer", protocols=[JoinGroupRequestProtocol("range", b"")]
        ),
        range(10),
    ),
    12: of(lambda: HeartbeatRequest(GROUP, 1, "m"), range(5)),
    13: of(lambda: LeaveGroupRequest(GROUP, "m"), range(6)),
    14: of(lambda: SyncGroupRequest(GROUP, 1, "m", None, "consumer", "range"), range(6)),
    15: of(lambda: DescribeGroupsRequest([GROUP]), range(7)),
    16: of(ListGroupsRequest, range(6), shows=lambda response: bool(response.groups)),
    17: of(lambda: SaslHandshakeRequest("PLAIN"), (0, 1)),
    18: of(lambda: ApiVersionsRequest("tests", "1"), range(5)),
    19: [
        *of(lambda: CreateTopicsRequest([CreatableTopic(TOPIC, 1, 1)], validate_only=True), range(1, 8)),
        Case(
            7,
            lambda test: CreateTopicsRequest([CreatableTopic(TOPIC, 1, 1)], validate_only=True),
            (d.CONFIGS,),
            lambda response: bool(response.topics[0].configs),
            lambda test: test.remove_topic(),
        ),
    ],
    20: [
        *of(lambda: DeleteTopicsRequest([DeleteTopicState(TOPIC)], [TOPIC], 10_000), range(7)),
        Case(
            6,
            lambda test: DeleteTopicsRequest([DeleteTopicState(None, test.topic_id())], [], 10_000),
        ),
    ],
    21: of(
        lambda: DeleteRecordsRequest([DeleteRecordsTopic(TOPIC, [DeleteRecordsPartition(0, 0)])], 1000),
        range(3),
    ),
    22: [
        *of(lambda: InitProducerIdRequest(TRANSACTION, 1000), range(6), d.TRANSACTIONAL),
        *of(lambda: InitProducerIdRequest(None, 1000), range(6), d.WITHOUT_ID),
    ],
    23: of(
        lambda: OffsetForLeaderEpochRequest(
            topics=[OffsetForLeaderTopic(TOPIC, [OffsetForLeaderPartition(0, -1, 0)])]
        ),
        range(5),
    ),
    24: [
        *(Case(version, _add_partitions, (d.ONE_ID,)) for version in range(4)),
        *(Case(version, _add_partitions, (d.OF_BROKERS,)) for version in (4, 5)),
    ],
    25: [
        Case(version, lambda test: AddOffsetsToTxnRequest(TRANSACTION, *test.producer, GROUP))
        for version in range(5)
    ],
    26: [
        Case(version, lambda test: EndTxnRequest(TRANSACTION, *test.producer, False)) for version in range(6)
    ],
    27: of(lambda: WriteTxnMarkersRequest([_marker()]), (1, 2)),
    28: [Case(version, _commit_in_transaction) for version in range(6)],
    29: of(lambda: describe_acls.DescribeAclsRequest(*_any_acl()), range(4)),
    30: of(
        lambda: create_acls.CreateAclsRequest([create_acls.AclCreation(2, "x", 3, "User:x", "*", 3, 3)]),
        range(4),
    ),
    31: of(
        lambda: delete_acls.DeleteAclsRequest(
            [delete_acls.DeleteAclsFilter(2, "nothing", 3, None, None, 1, 1)]
        ),
        range(4),
    ),
    32: _with_configs(32, range(5)),
    33: _with_configs(33, range(3)),
    34: of(
        lambda: AlterReplicaLogDirsRequest(
            [AlterReplicaLogDir("/nowhere", [AlterReplicaLogDirTopic(TOPIC, [0])])]
        ),
        range(3),
    ),
    35: of(lambda: DescribeLogDirsRequest(None), (3, 4)),
    36: of(lambda: SaslAuthenticateRequest(b""), range(3)),
    37: of(lambda: CreatePartitionsRequest([CreatePartitionsTopic(TOPIC, 3)], 1000, True), range(4)),
    42: of(lambda: DeleteGroupsRequest([GROUP]), range(3)),
    43: of(lambda: ElectLeadersRequest(0, [TopicPartitions(TOPIC, [0])], 1000), (1, 2)),
    44: _with_configs(44, range(2)),
    45: of(lambda: AlterPartitionReassignmentsRequest(1000, []), (0,)),
    46: of(lambda: ListPartitionReassignmentsRequest(1000, None), (0,)),
    47: of(
        lambda: offset_delete.OffsetDeleteRequest(
            GROUP,
            [offset_delete.OffsetDeleteRequestTopic(TOPIC, [offset_delete.OffsetDeleteRequestPartition(0)])],
        ),
        (0,),
        prepare=lambda test: test.ask_late(68, 0, _beat()),
    ),
    48: of(lambda: DescribeClientQuotasRequest([], False), (0, 1)),
    49: of(
        lambda: alter_client_quotas.AlterClientQuotasRequest(
            [alter_client_quotas.EntryData([alter_client_quotas.EntityData("user", "x")], [])], True
        ),
        (0, 1),
    ),
    50: of(lambda: DescribeUserScramCredentialsRequest(None), (0,)),
    51: of(
        lambda: AlterUserScramCredentialsRequest(
            [alter_user_scram_credentials.ScramCredentialDeletion("nobody", 1)], []
        ),
        (0,),
    ),
    55: of(
        lambda: describe_quorum.DescribeQuorumRequest(
            [describe_quorum.TopicRequest("__cluster_metadata", [describe_quorum.PartitionRequest(0)])]
        ),
        range(3),
    ),
    57: of(lambda: UpdateFeaturesRequest(1000, [], True), range(3)),
    60: of(
        lambda: DescribeClusterRequest(True),
        range(3),
        d.OPERATIONS,
        shows=lambda response: bool(response.cluster_authorized_operations),
    ),
    61: of(lambda: DescribeProducersRequest([TopicRequest(TOPIC, [0])]), (0,)),
    65: [
        *of(lambda: DescribeTransactionsRequest([TRANSACTION]), (0,)),
        *of(
            lambda: DescribeTransactionsRequest([TRANSACTION]),
            (0,),
            d.IN_TRANSACTION,
            shows=lambda response: bool(response.transaction_states[0].topics),
        ),
    ],
    66: of(ListTransactionsRequest, (0, 1), shows=lambda response: bool(response.transaction_states)),
    68: of(_beat, (0, 1), d.SUBSCRIBED),
    69: [
        *of(lambda: ConsumerGroupDescribeRequest([GROUP]), (0, 1)),
        *of(
            lambda: ConsumerGroupDescribeRequest([GROUP]),
            (0, 1),
            d.ASSIGNED,
            prepare=lambda test: test.ask_late(68, 0, _beat()),
        ),
    ],
    71: of(GetTelemetrySubscriptionsRequest, (0,)),
    72: of(PushTelemetryRequest, (0,)),
    74: of(ListConfigResourcesRequest, (0, 1)),
    75: [
        *of(lambda: _page(TOPIC), (0,), d.NAMED),
        *of(
            lambda: _page(),
            (0,),
            d.ALL,
            shows=lambda response: TOPIC in [topic.name for topic in response.topics],
        ),
    ],
    10100: of(lambda: describe_mirrors.DescribeMirrorsRequest([], []), (0,)),
    10101: of(DescribeClientMetricsRequest, (0,)),
    10103: of(DescribeBrokerRequest, (0,)),
    10104: of(lambda: DescribeSamplesRequest([], 0, 0, 0), (0,)),
    10102: [
        *of(lambda: DescribeExplanationsRequest(GROUP), (0,), d.OF_GROUP),
        *of(lambda: DescribeExplanationsRequest(None, "app"), (0,), d.OF_CLIENT_ID),
    ],
}
