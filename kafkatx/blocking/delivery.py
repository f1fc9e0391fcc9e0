"""Get batches into the log: pipelined, in order per partition, again after errors that may pass."""

from __future__ import annotations

from collections import deque
from typing import NoReturn

import attrs

from kafkatx.blocking.batch import Batch
from kafkatx.blocking.cluster import Cluster
from kafkatx.blocking.connection import Channel
from kafkatx.blocking.errors import ConnectionFailed, ProduceFailed, retriable
from kafkatx.blocking.retry import Patience
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.records.convert import down_convert
from kafkatx.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

FIRST_V2_VERSION = 3
FIRST_V1_VERSION = 2
NO_LIMIT = 1 << 31


@attrs.define
class Written:
    """What has been acknowledged so far; with acks=0, sent. ``bytes`` are those of keys and values."""

    records: int = 0
    bytes: int = 0


@attrs.define(eq=False)
class _Flight:
    """A produce request whose reply is awaited."""

    batch: Batch
    channel: Channel
    ticket: int


class Delivery:
    """Sends batches of one topic in the order they are put in.

    Up to *max_in_flight* requests are under way at once. When the oldest fails with an error that may
    pass, the replies of all the others are taken in first; then everything that failed is sent again in
    its first order, byte for byte, so that the broker recognises an idempotent producer's duplicates::

        in flight: b1 b2 b3      replies: b1 retriable, b2 out of order (b1 is missing), b3 connection lost
        again:     b1, b2, b3    with the same sequences: what is in the log already is not written twice

    What is sent again goes one by one: the broker knows a duplicate only among the producer's last five
    batches, so no new batch may overtake one that is in doubt.

    A batch that is refused as too large is cut in two, as long as it has more than one record.
    ``batch_bytes`` then says how large a batch is likely to be taken.
    """

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        *,
        acks: int,
        max_in_flight: int,
        request_timeout_s: float,
        delivery_timeout_s: float,
    ) -> None:
        self.written = Written()
        self.batch_bytes = NO_LIMIT
        self._cluster = cluster
        self._topic = topic
        self._acks = acks
        self._max_in_flight = max_in_flight
        self._request_timeout_ms = int(request_timeout_s * 1000)
        self._patience = Patience(delivery_timeout_s, cluster.backoff, cluster.clock, cluster.sleep)
        self._channels: dict[tuple[str, int], Channel] = {}
        self._waiting: deque[Batch] = deque()
        self._in_flight: deque[_Flight] = deque()

    def put(self, batch: Batch) -> None:
        """Send a batch as soon as fewer than *max_in_flight* are under way; wait until then.

        :raises ProduceFailed: this or an earlier batch was refused, or was not delivered in time.
        """
        self._waiting.append(batch)
        while True:
            self._pump()
            if not self._waiting:
                return
            self._settle()

    def drain(self) -> None:
        """Wait until all is acknowledged; raises as :meth:`put`."""
        while self._waiting or self._in_flight:
            self._pump()
            if self._in_flight:
                self._settle()

    def close(self) -> None:
        """Close the connections; what is not acknowledged may be lost."""
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()
        self._waiting.clear()
        self._in_flight.clear()

    def _pump(self) -> None:
        while self._waiting and self._room():
            batch = self._waiting[0]
            try:
                self._send(batch)
            except KafkaTXError as error:
                self._send_again(batch, error)
            else:
                self._waiting.popleft()

    def _room(self) -> bool:
        """Whether the next batch may be sent now."""
        if self._in_flight and (self._in_flight[0].batch.again or self._waiting[0].again):
            return False
        return len(self._in_flight) < self._max_in_flight

    def _send(self, batch: Batch) -> None:
        channel = self._leader(batch.partition)
        version = channel.version_for(ProduceRequest)
        data = batch.data
        if version < FIRST_V2_VERSION:  # a broker before Kafka 0.11 knows message sets only
            data = down_convert(
                memoryview(data), 1 if version >= FIRST_V1_VERSION else 0, start_offset=0, max_bytes=1 << 31
            )
        request = ProduceRequest(
            acks=self._acks,
            timeout_ms=self._request_timeout_ms,
            topic_data=[TopicProduceData(self._topic, [PartitionProduceData(batch.partition, data)])],
        )
        ticket = channel.send(request, version, expect_reply=self._acks != 0)
        if self._acks:
            self._in_flight.append(_Flight(batch, channel, ticket))
        else:
            self._delivered(batch)

    def _leader(self, partition: int) -> Channel:
        node = self._cluster.leader_node(self._topic, partition)
        channel = self._channels.get((node.host, node.port))
        if channel is None or channel.closed:
            channel = self._channels[node.host, node.port] = self._cluster.dial(node)
        return channel

    def _settle(self) -> None:
        """Wait for the oldest request's reply and act upon it."""
        flight = self._in_flight[0]
        error = self._error_of(flight)
        if error is None:
            self._in_flight.popleft()
            self._delivered(flight.batch)
        else:
            self._send_again(flight.batch, error)

    def _delivered(self, batch: Batch) -> None:
        self._patience.progress()
        self.written.records += batch.records
        self.written.bytes += batch.payload_bytes

    def _error_of(self, flight: _Flight) -> KafkaTXError | None:
        """Wait for one request's reply; None if the batch is in the log."""
        try:
            response: ProduceResponse = flight.channel.receive(flight.ticket)
            answer = _answer(response)
        except KafkaTXError as error:
            return error
        if answer.error_code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            return None
        return RequestError(ErrorCode.of(answer.error_code), answer.error_message or "")

    def _send_again(self, batch: Batch, error: KafkaTXError) -> None:
        """Take in all replies, put what failed back in front, and wait a little.

        :raises ProduceFailed: *error* is not one that passes, or the time is up.
        """
        too_large = isinstance(error, RequestError) and error.code is ErrorCode.MESSAGE_TOO_LARGE
        if not retriable(error) and not (too_large and batch.records > 1):
            self._give_up(batch, error)
        failed = [] if self._waiting and self._waiting[0] is batch else [batch]
        if too_large:
            failed = batch.halves()
            self.batch_bytes = min(self.batch_bytes, max(map(len, (half.data for half in failed))))
        for flight in self._in_flight:
            if flight.batch is batch:
                continue
            if self._error_of(flight) is None:
                self._delivered(flight.batch)
            else:
                failed.append(flight.batch)
        self._in_flight.clear()
        self._waiting.extendleft(reversed(failed))
        for again in (batch, *failed):
            again.again = True
        if too_large:
            return
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()
        self._cluster.forget()
        try:
            self._patience.again(error)
        except KafkaTXError:
            self._give_up(batch, error)

    def _give_up(self, batch: Batch, error: KafkaTXError) -> NoReturn:
        code = error.code if isinstance(error, RequestError) else ErrorCode.NETWORK_EXCEPTION
        message = "" if str(error) == code.name else str(error)
        if code is ErrorCode.MESSAGE_TOO_LARGE:
            message = f"a message of {batch.payload_bytes} bytes is above the topic's max.message.bytes"
        raise ProduceFailed(code, self._topic, batch.partition, message) from error


def _answer(response: ProduceResponse) -> PartitionProduceResponse:
    for topic in response.responses:
        for partition in topic.partition_responses:
            return partition
    raise ConnectionFailed("a broker answered a produce request without its partition")
