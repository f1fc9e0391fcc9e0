"""Kafka 0.7's SimpleConsumer: each request carries its offset, and nothing is kept between requests."""

from typing import Any

from twisted.internet.task import react

from kafkatx.client import FetchRequest, SimpleConsumer


async def main(reactor: Any) -> None:
    """Read a partition to its end, then two at once."""
    consumer = SimpleConsumer(bootstrap_servers="127.0.0.1:9092", reactor=reactor)
    try:
        await consumer.start()
        (end,) = await consumer.offsets_before("clicks", 0, time=-1)
        offset = 0
        while offset < end:
            messages = await consumer.fetch("clicks", 0, offset)
            for record in messages:
                print(record.offset, record.value)
            offset = messages.next_offset

        both = await consumer.multifetch([FetchRequest("clicks", 0, 1), FetchRequest("clicks", 1, 0)])
        print([[record.value for record in messages] for messages in both])
    finally:
        await consumer.close()


react(main)
