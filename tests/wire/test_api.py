"""Tests of the table of APIs."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.wire import api
from kafkatx.wire.api import APIS, api_for, table
from kafkatx.wire.messages.produce import ProduceRequest, ProduceResponse
from kafkatx.wire.schema import NEVER_FLEXIBLE

SERVED = {
    0: ("Produce", 0, 12, 9),
    1: ("Fetch", 0, 17, 12),
    2: ("ListOffsets", 0, 11, 6),
    3: ("Metadata", 0, 13, 9),
    8: ("OffsetCommit", 0, 9, 8),
    9: ("OffsetFetch", 0, 9, 6),
    10: ("FindCoordinator", 0, 6, 3),
    11: ("JoinGroup", 0, 9, 6),
    12: ("Heartbeat", 0, 4, 4),
    13: ("LeaveGroup", 0, 5, 4),
    14: ("SyncGroup", 0, 5, 4),
    15: ("DescribeGroups", 0, 6, 5),
    16: ("ListGroups", 0, 5, 3),
    17: ("SaslHandshake", 0, 1, 32_768),
    18: ("ApiVersions", 0, 4, 3),
    19: ("CreateTopics", 0, 7, 5),
    20: ("DeleteTopics", 0, 6, 4),
    21: ("DeleteRecords", 0, 2, 2),
    22: ("InitProducerId", 0, 5, 2),
    23: ("OffsetForLeaderEpoch", 0, 4, 4),
    24: ("AddPartitionsToTxn", 0, 5, 3),
    25: ("AddOffsetsToTxn", 0, 4, 3),
    26: ("EndTxn", 0, 5, 3),
    27: ("WriteTxnMarkers", 1, 2, 1),
    28: ("TxnOffsetCommit", 0, 5, 3),
    29: ("DescribeAcls", 0, 3, 2),
    30: ("CreateAcls", 0, 3, 2),
    31: ("DeleteAcls", 0, 3, 2),
    32: ("DescribeConfigs", 0, 4, 4),
    33: ("AlterConfigs", 0, 2, 2),
    34: ("AlterReplicaLogDirs", 0, 2, 2),
    35: ("DescribeLogDirs", 0, 4, 2),
    36: ("SaslAuthenticate", 0, 2, 2),
    37: ("CreatePartitions", 0, 3, 2),
    42: ("DeleteGroups", 0, 2, 2),
    43: ("ElectLeaders", 0, 2, 2),
    44: ("IncrementalAlterConfigs", 0, 1, 1),
    45: ("AlterPartitionReassignments", 0, 0, 0),
    46: ("ListPartitionReassignments", 0, 0, 0),
    47: ("OffsetDelete", 0, 0, NEVER_FLEXIBLE),
    48: ("DescribeClientQuotas", 0, 1, 1),
    49: ("AlterClientQuotas", 0, 1, 1),
    50: ("DescribeUserScramCredentials", 0, 0, 0),
    51: ("AlterUserScramCredentials", 0, 0, 0),
    55: ("DescribeQuorum", 0, 2, 0),
    57: ("UpdateFeatures", 0, 2, 0),
    60: ("DescribeCluster", 0, 2, 0),
    61: ("DescribeProducers", 0, 0, 0),
    65: ("DescribeTransactions", 0, 0, 0),
    66: ("ListTransactions", 0, 2, 0),
    68: ("ConsumerGroupHeartbeat", 0, 1, 0),
    69: ("ConsumerGroupDescribe", 0, 1, 0),
    71: ("GetTelemetrySubscriptions", 0, 0, 0),
    72: ("PushTelemetry", 0, 0, 0),
    74: ("ListConfigResources", 0, 1, 0),
    75: ("DescribeTopicPartitions", 0, 0, 0),
    10100: ("DescribeMirrors", 0, 0, 0),
    10101: ("DescribeClientMetrics", 0, 0, 0),
    10102: ("DescribeExplanations", 0, 0, 0),
    10103: ("DescribeBroker", 0, 0, 0),
    10104: ("DescribeSamples", 0, 0, 0),
}


class ApiTests(SynchronousTestCase):
    """Keys, versions and messages."""

    def test_table(self) -> None:
        """The table holds these APIs in these versions, each with its first flexible one."""
        found = {
            key: (entry.name, entry.versions[0], entry.versions[-1], entry.flexible_since)
            for key, entry in APIS.items()
        }
        self.assertEqual(found, SERVED)

    def test_unlisted(self) -> None:
        """All but kafkatx's own are listed by ApiVersions; that has a key beyond any of Kafka's."""
        self.assertEqual(
            [key for key, entry in APIS.items() if not entry.listed], [10100, 10101, 10102, 10103, 10104]
        )

    def test_api_for(self) -> None:
        """An API is found by its key; one that is not spoken is a KeyError."""
        self.assertIs(api_for(0).request, ProduceRequest)
        self.assertIs(api_for(0).response, ProduceResponse)
        self.assertRaises(KeyError, api_for, 999)

    def test_duplicates(self) -> None:
        """Two APIs with one key are refused."""
        error = self.assertRaises(ValueError, table, [api.PRODUCE, attrs.evolve(api.FETCH, key=0)])
        self.assertIn("API key 0 is both Produce and Fetch", str(error))

    def test_messages_agree(self) -> None:
        """The messages of every API are found, and have its key and versions; others are not taken."""
        for entry in APIS.values():
            for message, kind in ((entry.request, "Request"), (entry.response, "Response")):
                self.assertEqual(message.__name__, entry.name + kind)
                found = (message.API_KEY, message.VERSIONS, message.FLEXIBLE_SINCE)
                self.assertEqual(found, (entry.key, entry.versions, entry.flexible_since))
        for change in ({"key": 1}, {"versions": range(9)}, {"flexible_since": 8}):
            self.assertRaises(ValueError, lambda entry: entry.request, attrs.evolve(api.PRODUCE, **change))

    def test_immutable(self) -> None:
        """The table cannot be changed at run time."""
        with self.assertRaises(TypeError):
            APIS[999] = api.PRODUCE  # type: ignore[index]  # that is the point
