"""Requests for elections and reassignments."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.admin.replicas import (
    UNCLEAN,
    elect_request,
    elected,
    in_progress,
    reassign_request,
    reassigned,
)
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.alter_partition_reassignments import AlterPartitionReassignmentsResponse
from kafkatx.wire.messages.elect_leaders import ElectLeadersResponse
from kafkatx.wire.messages.list_partition_reassignments import ListPartitionReassignmentsResponse

NOT_CONTROLLER = ErrorCode.NOT_CONTROLLER


class RequestTests(SynchronousTestCase):
    def test_elect(self) -> None:
        """Partitions are grouped by topic; None asks for all."""
        request = elect_request(UNCLEAN, [TopicPartition("t", 1), TopicPartition("t", 0)], 5)
        assert request.topic_partitions is not None
        self.assertEqual([(one.topic, one.partitions) for one in request.topic_partitions], [("t", [1, 0])])
        self.assertEqual((request.election_type, request.timeout_ms), (1, 5))
        self.assertIsNone(elect_request(UNCLEAN, None, 5).topic_partitions)

    def test_reassign(self) -> None:
        """Null replicas cancel a reassignment."""
        request = reassign_request({TopicPartition("t", 0): (2, 1), TopicPartition("t", 1): None}, 5)
        asked = [(one.partition_index, one.replicas) for one in request.topics[0].partitions]
        self.assertEqual(asked, [(0, [2, 1]), (1, None)])

    def test_refused(self) -> None:
        """The error of a whole reply is raised."""
        for read in (
            lambda: elected(ElectLeadersResponse(0, NOT_CONTROLLER, [])),
            lambda: reassigned(AlterPartitionReassignmentsResponse(0, NOT_CONTROLLER, "no")),
            lambda: in_progress(ListPartitionReassignmentsResponse(0, NOT_CONTROLLER, "no")),
        ):
            error = self.assertRaises(RequestError, read)
            self.assertEqual(error.code, NOT_CONTROLLER)
