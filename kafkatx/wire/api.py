"""The one table of the APIs that kafkatx speaks: key, name, versions, request and response.

ApiVersions, the broker's dispatch and the clients' choice of versions all read it. A new API is a module in
:mod:`kafkatx.wire.messages` and a line here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

import attrs

from kafkatx.wire.messages.alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse
from kafkatx.wire.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from kafkatx.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from kafkatx.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkatx.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from kafkatx.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kafkatx.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
from kafkatx.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafkatx.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kafkatx.wire.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from kafkatx.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kafkatx.wire.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from kafkatx.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from kafkatx.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kafkatx.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from kafkatx.wire.messages.describe_producers import DescribeProducersRequest, DescribeProducersResponse
from kafkatx.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from kafkatx.wire.messages.fetch import FetchRequest, FetchResponse
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafkatx.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkatx.wire.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkatx.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafkatx.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkatx.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkatx.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataResponse
from kafkatx.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafkatx.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from kafkatx.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafkatx.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from kafkatx.wire.messages.produce import ProduceRequest, ProduceResponse
from kafkatx.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafkatx.wire.schema import Message


@attrs.frozen
class Api:
    """One API: its number on the wire, its name, and its pair of messages."""

    key: int
    name: str
    request: type[Message]
    response: type[Message]
    versions: range
    flexible_since: int

    def is_flexible(self, version: int) -> bool:
        """Whether this version has compact strings and tagged fields (KIP-482)."""
        return version >= self.flexible_since


def _api(request: type[Message], response: type[Message]) -> Api:
    """An entry of the table; the two messages must agree on what they say twice."""
    same = ("API_KEY", "VERSIONS", "FLEXIBLE_SINCE")
    if any(getattr(request, name) != getattr(response, name) for name in same):
        raise ValueError(f"{request.__name__} and {response.__name__} differ in key or versions")
    name = request.__name__.removesuffix("Request")
    return Api(request.API_KEY, name, request, response, request.VERSIONS, request.FLEXIBLE_SINCE)


def table(apis: Iterable[Api]) -> Mapping[int, Api]:
    """The APIs by key.

    :raises ValueError: two of them have the same key.
    """
    by_key: dict[int, Api] = {}
    for api in apis:
        if by_key.setdefault(api.key, api) is not api:
            raise ValueError(f"API key {api.key} is both {by_key[api.key].name} and {api.name}")
    return MappingProxyType(by_key)


PRODUCE: Final = _api(ProduceRequest, ProduceResponse)
FETCH: Final = _api(FetchRequest, FetchResponse)
LIST_OFFSETS: Final = _api(ListOffsetsRequest, ListOffsetsResponse)
METADATA: Final = _api(MetadataRequest, MetadataResponse)
API_VERSIONS: Final = _api(ApiVersionsRequest, ApiVersionsResponse)
CREATE_TOPICS: Final = _api(CreateTopicsRequest, CreateTopicsResponse)
DELETE_TOPICS: Final = _api(DeleteTopicsRequest, DeleteTopicsResponse)
DELETE_RECORDS: Final = _api(DeleteRecordsRequest, DeleteRecordsResponse)
INIT_PRODUCER_ID: Final = _api(InitProducerIdRequest, InitProducerIdResponse)
OFFSET_FOR_LEADER_EPOCH: Final = _api(OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse)
DESCRIBE_CONFIGS: Final = _api(DescribeConfigsRequest, DescribeConfigsResponse)
DESCRIBE_LOG_DIRS: Final = _api(DescribeLogDirsRequest, DescribeLogDirsResponse)
DESCRIBE_CLUSTER: Final = _api(DescribeClusterRequest, DescribeClusterResponse)
OFFSET_COMMIT: Final = _api(OffsetCommitRequest, OffsetCommitResponse)
OFFSET_FETCH: Final = _api(OffsetFetchRequest, OffsetFetchResponse)
FIND_COORDINATOR: Final = _api(FindCoordinatorRequest, FindCoordinatorResponse)
JOIN_GROUP: Final = _api(JoinGroupRequest, JoinGroupResponse)
HEARTBEAT: Final = _api(HeartbeatRequest, HeartbeatResponse)
LEAVE_GROUP: Final = _api(LeaveGroupRequest, LeaveGroupResponse)
SYNC_GROUP: Final = _api(SyncGroupRequest, SyncGroupResponse)
DESCRIBE_GROUPS: Final = _api(DescribeGroupsRequest, DescribeGroupsResponse)
LIST_GROUPS: Final = _api(ListGroupsRequest, ListGroupsResponse)
ALTER_CONFIGS: Final = _api(AlterConfigsRequest, AlterConfigsResponse)
CREATE_PARTITIONS: Final = _api(CreatePartitionsRequest, CreatePartitionsResponse)
DELETE_GROUPS: Final = _api(DeleteGroupsRequest, DeleteGroupsResponse)
ELECT_LEADERS: Final = _api(ElectLeadersRequest, ElectLeadersResponse)
INCREMENTAL_ALTER_CONFIGS: Final = _api(IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse)
ALTER_PARTITION_REASSIGNMENTS: Final = _api(
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse
)
LIST_PARTITION_REASSIGNMENTS: Final = _api(
    ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse
)
OFFSET_DELETE: Final = _api(OffsetDeleteRequest, OffsetDeleteResponse)
DESCRIBE_CLIENT_QUOTAS: Final = _api(DescribeClientQuotasRequest, DescribeClientQuotasResponse)
ALTER_CLIENT_QUOTAS: Final = _api(AlterClientQuotasRequest, AlterClientQuotasResponse)
DESCRIBE_PRODUCERS: Final = _api(DescribeProducersRequest, DescribeProducersResponse)
CONSUMER_GROUP_HEARTBEAT: Final = _api(ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse)
CONSUMER_GROUP_DESCRIBE: Final = _api(ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse)

APIS: Final = table(
    [
        PRODUCE,
        FETCH,
        LIST_OFFSETS,
        METADATA,
        API_VERSIONS,
        CREATE_TOPICS,
        DELETE_TOPICS,
        DELETE_RECORDS,
        INIT_PRODUCER_ID,
        OFFSET_FOR_LEADER_EPOCH,
        DESCRIBE_CONFIGS,
        DESCRIBE_LOG_DIRS,
        DESCRIBE_CLUSTER,
        OFFSET_COMMIT,
        OFFSET_FETCH,
        FIND_COORDINATOR,
        JOIN_GROUP,
        HEARTBEAT,
        LEAVE_GROUP,
        SYNC_GROUP,
        DESCRIBE_GROUPS,
        LIST_GROUPS,
        ALTER_CONFIGS,
        CREATE_PARTITIONS,
        DELETE_GROUPS,
        ELECT_LEADERS,
        INCREMENTAL_ALTER_CONFIGS,
        ALTER_PARTITION_REASSIGNMENTS,
        LIST_PARTITION_REASSIGNMENTS,
        OFFSET_DELETE,
        DESCRIBE_CLIENT_QUOTAS,
        ALTER_CLIENT_QUOTAS,
        DESCRIBE_PRODUCERS,
        CONSUMER_GROUP_HEARTBEAT,
        CONSUMER_GROUP_DESCRIBE,
    ]
)


def api_for(key: int) -> Api:
    """The API with this key.

    :raises KeyError: kafkatx does not speak it.
    """
    return APIS[key]
