"""The table of the APIs that kafkatx supports: key, name, versions. Imports the modules of their messages.

ApiVersions, the broker's dispatch and the clients' choice of versions use it. A new API is a module in
:mod:`kafkatx.wire.messages` and a line in this table. The module is imported when its messages are first
used: a broker that starts, or a short command, needs few of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from importlib import import_module
from types import MappingProxyType
from typing import Final

import attrs

from kafkatx.wire.schema import NEVER_FLEXIBLE, Message

_WITHIN = re.compile("(?<!^)(?=[A-Z])")


@attrs.frozen
class Api:
    """One API: its key, its name, and the versions that kafkatx supports."""

    key: int
    name: str
    versions: range
    flexible_since: int
    listed: bool = True
    """False for a request of kafkatx alone, which ApiVersions does not list."""

    @cached_property
    def module(self) -> str:
        """The name of its modules: ``list_offsets`` for ``ListOffsets``."""
        return _WITHIN.sub("_", self.name).lower()

    @cached_property
    def request(self) -> type[Message]:
        """The class of its requests."""
        return self._message("Request")

    @cached_property
    def response(self) -> type[Message]:
        """The class of its responses."""
        return self._message("Response")

    def _message(self, kind: str) -> type[Message]:
        """Import a message and check that its versions are those of the table."""
        message: type[Message] = getattr(
            import_module(f"kafkatx.wire.messages.{self.module}"), self.name + kind
        )
        said = (message.API_KEY, message.VERSIONS, message.FLEXIBLE_SINCE)
        if said != (self.key, self.versions, self.flexible_since):
            raise ValueError(f"{message.__name__} and the table of APIs differ in key or versions")
        return message

    def is_flexible(self, version: int) -> bool:
        """Return True if this version has compact strings and tagged fields (KIP-482)."""
        return version >= self.flexible_since


def table(apis: Iterable[Api]) -> Mapping[int, Api]:
    """Return the APIs by key.

    :raises ValueError: two APIs have the same key.
    """
    by_key: dict[int, Api] = {}
    for api in apis:
        if by_key.setdefault(api.key, api) is not api:
            raise ValueError(f"API key {api.key} is both {by_key[api.key].name} and {api.name}")
    return MappingProxyType(by_key)


PRODUCE: Final = Api(0, "Produce", range(13), flexible_since=9)
FETCH: Final = Api(1, "Fetch", range(18), flexible_since=12)
LIST_OFFSETS: Final = Api(2, "ListOffsets", range(12), flexible_since=6)
METADATA: Final = Api(3, "Metadata", range(14), flexible_since=9)
OFFSET_COMMIT: Final = Api(8, "OffsetCommit", range(10), flexible_since=8)
OFFSET_FETCH: Final = Api(9, "OffsetFetch", range(10), flexible_since=6)
FIND_COORDINATOR: Final = Api(10, "FindCoordinator", range(7), flexible_since=3)
JOIN_GROUP: Final = Api(11, "JoinGroup", range(10), flexible_since=6)
HEARTBEAT: Final = Api(12, "Heartbeat", range(5), flexible_since=4)
LEAVE_GROUP: Final = Api(13, "LeaveGroup", range(6), flexible_since=4)
SYNC_GROUP: Final = Api(14, "SyncGroup", range(6), flexible_since=4)
DESCRIBE_GROUPS: Final = Api(15, "DescribeGroups", range(7), flexible_since=5)
LIST_GROUPS: Final = Api(16, "ListGroups", range(6), flexible_since=3)
SASL_HANDSHAKE: Final = Api(17, "SaslHandshake", range(2), flexible_since=NEVER_FLEXIBLE)
API_VERSIONS: Final = Api(18, "ApiVersions", range(5), flexible_since=3)
CREATE_TOPICS: Final = Api(19, "CreateTopics", range(8), flexible_since=5)
DELETE_TOPICS: Final = Api(20, "DeleteTopics", range(7), flexible_since=4)
DELETE_RECORDS: Final = Api(21, "DeleteRecords", range(3), flexible_since=2)
INIT_PRODUCER_ID: Final = Api(22, "InitProducerId", range(6), flexible_since=2)
OFFSET_FOR_LEADER_EPOCH: Final = Api(23, "OffsetForLeaderEpoch", range(5), flexible_since=4)
ADD_PARTITIONS_TO_TXN: Final = Api(24, "AddPartitionsToTxn", range(6), flexible_since=3)
ADD_OFFSETS_TO_TXN: Final = Api(25, "AddOffsetsToTxn", range(5), flexible_since=3)
END_TXN: Final = Api(26, "EndTxn", range(6), flexible_since=3)
WRITE_TXN_MARKERS: Final = Api(27, "WriteTxnMarkers", range(1, 3), flexible_since=1)
TXN_OFFSET_COMMIT: Final = Api(28, "TxnOffsetCommit", range(6), flexible_since=3)
DESCRIBE_ACLS: Final = Api(29, "DescribeAcls", range(4), flexible_since=2)
CREATE_ACLS: Final = Api(30, "CreateAcls", range(4), flexible_since=2)
DELETE_ACLS: Final = Api(31, "DeleteAcls", range(4), flexible_since=2)
DESCRIBE_CONFIGS: Final = Api(32, "DescribeConfigs", range(5), flexible_since=4)
ALTER_CONFIGS: Final = Api(33, "AlterConfigs", range(3), flexible_since=2)
ALTER_REPLICA_LOG_DIRS: Final = Api(34, "AlterReplicaLogDirs", range(3), flexible_since=2)
DESCRIBE_LOG_DIRS: Final = Api(35, "DescribeLogDirs", range(5), flexible_since=2)
SASL_AUTHENTICATE: Final = Api(36, "SaslAuthenticate", range(3), flexible_since=2)
CREATE_PARTITIONS: Final = Api(37, "CreatePartitions", range(4), flexible_since=2)
DELETE_GROUPS: Final = Api(42, "DeleteGroups", range(3), flexible_since=2)
ELECT_LEADERS: Final = Api(43, "ElectLeaders", range(3), flexible_since=2)
INCREMENTAL_ALTER_CONFIGS: Final = Api(44, "IncrementalAlterConfigs", range(2), flexible_since=1)
ALTER_PARTITION_REASSIGNMENTS: Final = Api(45, "AlterPartitionReassignments", range(1), flexible_since=0)
LIST_PARTITION_REASSIGNMENTS: Final = Api(46, "ListPartitionReassignments", range(1), flexible_since=0)
OFFSET_DELETE: Final = Api(47, "OffsetDelete", range(1), flexible_since=NEVER_FLEXIBLE)
DESCRIBE_CLIENT_QUOTAS: Final = Api(48, "DescribeClientQuotas", range(2), flexible_since=1)
ALTER_CLIENT_QUOTAS: Final = Api(49, "AlterClientQuotas", range(2), flexible_since=1)
DESCRIBE_USER_SCRAM_CREDENTIALS: Final = Api(50, "DescribeUserScramCredentials", range(1), flexible_since=0)
ALTER_USER_SCRAM_CREDENTIALS: Final = Api(51, "AlterUserScramCredentials", range(1), flexible_since=0)
DESCRIBE_QUORUM: Final = Api(55, "DescribeQuorum", range(3), flexible_since=0)
UPDATE_FEATURES: Final = Api(57, "UpdateFeatures", range(3), flexible_since=0)
DESCRIBE_CLUSTER: Final = Api(60, "DescribeCluster", range(3), flexible_since=0)
DESCRIBE_PRODUCERS: Final = Api(61, "DescribeProducers", range(1), flexible_since=0)
DESCRIBE_TRANSACTIONS: Final = Api(65, "DescribeTransactions", range(1), flexible_since=0)
LIST_TRANSACTIONS: Final = Api(66, "ListTransactions", range(3), flexible_since=0)
CONSUMER_GROUP_HEARTBEAT: Final = Api(68, "ConsumerGroupHeartbeat", range(2), flexible_since=0)
CONSUMER_GROUP_DESCRIBE: Final = Api(69, "ConsumerGroupDescribe", range(2), flexible_since=0)
GET_TELEMETRY_SUBSCRIPTIONS: Final = Api(71, "GetTelemetrySubscriptions", range(1), flexible_since=0)
PUSH_TELEMETRY: Final = Api(72, "PushTelemetry", range(1), flexible_since=0)
LIST_CONFIG_RESOURCES: Final = Api(74, "ListConfigResources", range(2), flexible_since=0)
DESCRIBE_TOPIC_PARTITIONS: Final = Api(75, "DescribeTopicPartitions", range(1), flexible_since=0)
DESCRIBE_MIRRORS: Final = Api(10100, "DescribeMirrors", range(1), flexible_since=0, listed=False)
DESCRIBE_CLIENT_METRICS: Final = Api(10101, "DescribeClientMetrics", range(1), flexible_since=0, listed=False)
DESCRIBE_EXPLANATIONS: Final = Api(10102, "DescribeExplanations", range(1), flexible_since=0, listed=False)
DESCRIBE_BROKER: Final = Api(10103, "DescribeBroker", range(1), flexible_since=0, listed=False)
DESCRIBE_SAMPLES: Final = Api(10104, "DescribeSamples", range(1), flexible_since=0, listed=False)

APIS: Final = table(
    [
        PRODUCE,
        FETCH,
        LIST_OFFSETS,
        METADATA,
        OFFSET_COMMIT,
        OFFSET_FETCH,
        FIND_COORDINATOR,
        JOIN_GROUP,
        HEARTBEAT,
        LEAVE_GROUP,
        SYNC_GROUP,
        DESCRIBE_GROUPS,
        LIST_GROUPS,
        SASL_HANDSHAKE,
        API_VERSIONS,
        CREATE_TOPICS,
        DELETE_TOPICS,
        DELETE_RECORDS,
        INIT_PRODUCER_ID,
        OFFSET_FOR_LEADER_EPOCH,
        ADD_PARTITIONS_TO_TXN,
        ADD_OFFSETS_TO_TXN,
        END_TXN,
        WRITE_TXN_MARKERS,
        TXN_OFFSET_COMMIT,
        DESCRIBE_ACLS,
        CREATE_ACLS,
        DELETE_ACLS,
        DESCRIBE_CONFIGS,
        ALTER_CONFIGS,
        ALTER_REPLICA_LOG_DIRS,
        DESCRIBE_LOG_DIRS,
        SASL_AUTHENTICATE,
        CREATE_PARTITIONS,
        DELETE_GROUPS,
        ELECT_LEADERS,
        INCREMENTAL_ALTER_CONFIGS,
        ALTER_PARTITION_REASSIGNMENTS,
        LIST_PARTITION_REASSIGNMENTS,
        OFFSET_DELETE,
        DESCRIBE_CLIENT_QUOTAS,
        ALTER_CLIENT_QUOTAS,
        DESCRIBE_USER_SCRAM_CREDENTIALS,
        ALTER_USER_SCRAM_CREDENTIALS,
        DESCRIBE_QUORUM,
        UPDATE_FEATURES,
        DESCRIBE_CLUSTER,
        DESCRIBE_PRODUCERS,
        DESCRIBE_TRANSACTIONS,
        LIST_TRANSACTIONS,
        CONSUMER_GROUP_HEARTBEAT,
        CONSUMER_GROUP_DESCRIBE,
        GET_TELEMETRY_SUBSCRIPTIONS,
        PUSH_TELEMETRY,
        LIST_CONFIG_RESOURCES,
        DESCRIBE_TOPIC_PARTITIONS,
        DESCRIBE_MIRRORS,
        DESCRIBE_CLIENT_METRICS,
        DESCRIBE_EXPLANATIONS,
        DESCRIBE_BROKER,
        DESCRIBE_SAMPLES,
    ]
)


def api_for(key: int) -> Api:
    """Return the API with this key.

    :raises KeyError: kafkatx does not support it.
    """
    return APIS[key]
