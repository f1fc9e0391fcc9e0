"""WriteTxnMarkers (key 27), versions 1-2: write the markers that end transactions.

Transaction coordinators send it to the leaders of the partitions, and tools (``kafka-transactions.sh abort``)
to end a transaction that hangs. In a partition of ``__consumer_offsets`` the marker also commits or drops the
offsets of the transaction.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.transactions.actions import Marker
from kafkatx.transactions.metadata import Producer
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)


def answer(
    broker: Broker, request: WriteTxnMarkersRequest, context: RequestContext
) -> Deferred[WriteTxnMarkersResponse]:
    """Write all markers, many of them in slices; respond when all in-sync replicas have them."""
    return Deferred.fromCoroutine(_write(broker, request))


Written = list[dict[TopicPartition, ErrorCode]]
"""The results of each marker of a request."""


async def _write(broker: Broker, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
    places = [
        (number, TopicPartition(topic.name, index))
        for number, asked in enumerate(request.markers)
        for topic in asked.topics
        for index in topic.partition_indexes
    ]
    markers = [
        Marker(
            Producer(asked.producer_id, asked.producer_epoch),
            asked.transaction_result,
            asked.transaction_version,
        )
        for asked in request.markers
    ]

    def write(place: tuple[int, TopicPartition]) -> ErrorCode | Deferred[ErrorCode]:
        number, partition = place
        epoch = request.markers[number].coordinator_epoch
        return broker.marker_writer.write(partition, markers[number], epoch)

    writing = broker.slices.each(places, write)
    under_way = await writing if isinstance(writing, Deferred) else writing
    written: Written = [{} for _ in markers]
    for (number, partition), error in zip(places, under_way, strict=True):
        written[number][partition] = await error if isinstance(error, Deferred) else error
    return WriteTxnMarkersResponse(
        [_result(asked, errors) for asked, errors in zip(request.markers, written, strict=True)]
    )


def _result(asked: WritableTxnMarker, errors: dict[TopicPartition, ErrorCode]) -> WritableTxnMarkerResult:
    return WritableTxnMarkerResult(
        asked.producer_id,
        [
            WritableTxnMarkerTopicResult(
                topic.name,
                [
                    WritableTxnMarkerPartitionResult(number, errors[TopicPartition(topic.name, number)])
                    for number in topic.partition_indexes
                ],
            )
            for topic in asked.topics
        ],
    )


class _Same(dict[TopicPartition, ErrorCode]):
    """The same error for every partition."""

    def __init__(self, error: ErrorCode) -> None:
        super().__init__()
        self._error = error

    def __missing__(self, key: TopicPartition) -> ErrorCode:
        return self._error


def refuse(
    request: WriteTxnMarkersRequest, context: RequestContext, code: ErrorCode, message: str
) -> WriteTxnMarkersResponse:
    """Refuse every partition with the same error."""
    return WriteTxnMarkersResponse([_result(marker, _Same(code)) for marker in request.markers])


API = Api(WriteTxnMarkersRequest, WriteTxnMarkersResponse, answer, refuse)
