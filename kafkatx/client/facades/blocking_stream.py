"""The stream of messages of a ConsumerConnector, for programs that block."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kafkatx.client.facades.reactor_thread import ReactorThread
from kafkatx.client.legacy import message_streams
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import ClientClosed


class MessageStream:
    """See :class:`kafkatx.client.legacy.message_streams.MessageStream`; for one thread at a time."""

    def __init__(self, stream: message_streams.MessageStream, thread: ReactorThread) -> None:
        """Made by :class:`ConsumerConnector`."""
        self._stream = stream
        self._thread = thread

    def __iter__(self) -> Iterator[Record]:
        """Yield records until the connector is shut down; the next iteration continues where this one ends.

        :raises KafkaTXError: the connector has failed, or another thread reads from this stream.
        """
        while True:
            try:
                taken = self._thread.call(self._stream.next_records)
            except ClientClosed:
                return
            yield from self._stream.records(taken, partial(self._thread.tell, taken.report_activity))
