"""Kafka 0.7's ConsumerConnector: a group's share of topics, as endless streams, one per thread."""

from typing import Any

from twisted.internet.defer import gatherResults
from twisted.internet.task import react
from twisted.internet.threads import deferToThread

from kafkatx.client import ConsumerConnector, MessageStream, Whitelist


async def main(reactor: Any) -> None:
    """Read all topics of a filter in two threads until six records are there."""
    connector = ConsumerConnector(
        bootstrap_servers="127.0.0.1:9092", group_id="search", auto_offset_reset="earliest", reactor=reactor
    )
    values: list[bytes] = []

    def read(stream: MessageStream) -> None:
        for record in stream:  # it waits, and ends when the connector is shut down
            values.append(record.value)
            if len(values) == 6:
                reactor.callFromThread(connector.shutdown)

    try:
        await connector.start()
        streams = connector.create_message_streams_by_filter(Whitelist("pages,pages-.*"), 2)
        await gatherResults([deferToThread(read, stream) for stream in streams])
    finally:
        await connector.shutdown()
    print(sorted(values))


react(main)
