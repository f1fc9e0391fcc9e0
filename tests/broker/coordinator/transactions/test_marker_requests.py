"""WriteTxnMarkers to other brokers."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.coordinator.transactions import marker_requests
from kafkatx.broker.coordinator.transactions.marker_requests import MarkerRequests
from kafkatx.errors import ErrorCode, KafkaTXError
from kafkatx.transactions.actions import Marker
from kafkatx.transactions.metadata import Producer
from kafkatx.types import BrokerNode, TopicPartition
from kafkatx.wire.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

NODE, OTHER = BrokerNode(2, "b", 1), BrokerNode(3, "c", 1)
NONE, LOST = ErrorCode.NONE, ErrorCode.NETWORK_EXCEPTION


class FakePeers:
    """Brokers whose answers the test gives."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, WriteTxnMarkersRequest, Deferred[Any]]] = []

    def request(self, node: BrokerNode, message: WriteTxnMarkersRequest) -> Deferred[Any]:
        """Note a request."""
        answer: Deferred[Any] = Deferred()
        self.asked.append((node.id, message, answer))
        return answer


def respond(request: WriteTxnMarkersRequest, error: ErrorCode = NONE) -> WriteTxnMarkersResponse:
    """Answer every partition the same."""
    return WriteTxnMarkersResponse(
        [
            WritableTxnMarkerResult(
                marker.producer_id,
                [
                    WritableTxnMarkerTopicResult(
                        topic.name,
                        [WritableTxnMarkerPartitionResult(n, error) for n in topic.partition_indexes],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


class RequestsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make the sender of requests."""
        self.peers = FakePeers()
        peers: Any = self.peers
        self.requests = MarkerRequests(peers)
        self.settled: list[tuple[int, TopicPartition, ErrorCode]] = []

    def send(self, producer_id: int, *numbers: int, node: BrokerNode = NODE) -> None:
        """Send a marker of a producer."""
        self.requests.send(
            node,
            [TopicPartition("t", number) for number in numbers],
            Marker(Producer(producer_id, 4), True, 2),
            9,
            lambda partition, error: self.settled.append((producer_id, partition, error)),
        )

    def test_request(self) -> None:
        """A request has producer, epoch, outcome, coordinator epoch and version; results are settled."""
        self.send(7, 1, 0)
        ((node, request, answer),) = self.peers.asked
        (marker,) = request.markers
        self.assertEqual(
            (node, marker.producer_id, marker.producer_epoch, marker.transaction_result), (2, 7, 4, True)
        )
        self.assertEqual((marker.coordinator_epoch, marker.transaction_version), (9, 2))
        self.assertEqual([(topic.name, topic.partition_indexes) for topic in marker.topics], [("t", [0, 1])])
        answer.callback(respond(request, ErrorCode.NOT_LEADER_OR_FOLLOWER))
        self.assertEqual({one[2] for one in self.settled}, {ErrorCode.NOT_LEADER_OR_FOLLOWER})
        self.assertEqual(len(self.settled), 2)

    def test_one_at_a_time(self) -> None:
        """While a request is under way, markers for its broker wait, and then go together."""
        self.patch(marker_requests, "MOST_MARKERS", 3)
        for producer_id in range(5):
            self.send(producer_id, 0)
        self.send(9, 0, node=OTHER)
        self.assertEqual(
            [(node, len(request.markers)) for node, request, _ in self.peers.asked], [(2, 1), (3, 1)]
        )
        for number in (0, 2):
            self.peers.asked[number][2].callback(respond(self.peers.asked[number][1]))
        self.assertEqual([len(request.markers) for _, request, _ in self.peers.asked], [1, 1, 3, 1])
        self.peers.asked[3][2].callback(respond(self.peers.asked[3][1]))
        self.assertEqual([one[0] for one in self.settled], [0, 1, 2, 3, 4])
        self.send(5, 0)
        self.assertEqual(len(self.peers.asked), 5)

    def test_merged(self) -> None:
        """Results of one producer in one part of the response count for all of its markers."""
        self.send(1, 5)
        self.send(7, 0)
        self.send(7, 1)
        self.peers.asked[0][2].callback(respond(self.peers.asked[0][1]))
        request = self.peers.asked[1][1]
        request.markers[0].topics[0].partition_indexes.append(1)
        del request.markers[1]
        self.peers.asked[1][2].callback(respond(request))
        self.assertEqual({one[2] for one in self.settled}, {NONE})
        self.assertEqual(len(self.settled), 3)

    def test_failed(self) -> None:
        """Without an answer, or with one that lacks a partition, the result is to be repeated."""
        self.send(7, 0)
        self.peers.asked[0][2].errback(KafkaTXError("no connection"))
        self.send(7, 0)
        self.peers.asked[1][2].callback(WriteTxnMarkersResponse([]))
        self.assertEqual([one[2] for one in self.settled], [LOST, LOST])

    def test_stop(self) -> None:
        """After the stop nothing is settled."""
        self.send(7, 0)
        self.send(8, 0)
        self.successResultOf(self.requests.stop())
        self.assertEqual((self.settled, len(self.peers.asked)), ([], 1))
