"""Assigned partitions without a group: reading from an offset of the application, or from a time."""

from typing import Any

from twisted.internet.task import react

from kafkatx.client import Consumer
from kafkatx.types import TopicPartition

PARTITION = TopicPartition("readings", 0)


async def main(reactor: Any) -> None:
    """Read the same partition from three positions."""
    consumer = Consumer(bootstrap_servers="127.0.0.1:9092", reactor=reactor)
    consumer.assign([PARTITION])
    try:
        await consumer.start()

        consumer.seek(PARTITION, 2)
        print("from offset 2:", (await consumer.getone()).value)

        consumer.seek_to_beginning(PARTITION)
        print("from the beginning:", (await consumer.getone()).value)

        found = (await consumer.offsets_for_times({PARTITION: 1_700_000_000_500}))[PARTITION]
        if found is not None:
            consumer.seek(PARTITION, found.offset)
            print("from a time:", (await consumer.getone()).value)

        end = (await consumer.end_offsets(PARTITION))[PARTITION]
        print("next is", await consumer.position(PARTITION), "of", end)
    finally:
        await consumer.close()


react(main)
