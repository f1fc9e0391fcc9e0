"""ListPartitionReassignments: with one broker there are none."""

from __future__ import annotations

from kafkatx.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from tests.broker.running import BrokerTestCase


class ListPartitionReassignmentsTests(BrokerTestCase):
    def test_list(self) -> None:
        """No reassignment is listed for all, some or unknown partitions."""
        self.make_topic()
        for topics in (None, [], [ListPartitionReassignmentsTopics(name, [0, 1]) for name in "tu"]):
            response = self.ask(46, 0, ListPartitionReassignmentsRequest(1000, topics))
            self.assertEqual((response.error_code, response.error_message, response.topics), (0, None, []))
