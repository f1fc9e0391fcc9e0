"""Replaceable parts of a producer: the encoder of values, the partitioner, and callbacks around the queue."""

from typing import Any

from twisted.internet.task import react
from zope.interface import implementer

from kafkatx.client import Consumer, Producer, ProducerRecord
from kafkatx.client.hooks import ProducerCallbacks
from kafkatx.interfaces import IPartitioner
from kafkatx.types import TopicPartition


@implementer(IPartitioner)
class NorthAndSouth:
    """Sends orders of the north to partition 0, all others to the last."""

    def partition(self, topic: str, key: bytes | None, partitions: int) -> int:
        """Return the partition of a record with this key."""
        return 0 if key in (b"no", b"se", b"fi") else partitions - 1

    def batch_sent(self, topic: str) -> None:
        """Do nothing: no record depends on the batch."""


class Stamp(ProducerCallbacks):
    """Adds a header to each record, and rejects those without a value."""

    def before_enqueue(self, record: ProducerRecord) -> ProducerRecord:
        """Add the header, or reject the record; called first."""
        if record.value is None:
            raise ValueError("an order without a value")
        return record._replace(headers=[*record.headers, ("shop", b"online")])


async def main(reactor: Any) -> None:
    """Send JSON to two partitions, and read it."""
    producer = Producer(
        bootstrap_servers="127.0.0.1:9092",
        value_serializer="json",
        key_serializer=str.encode,
        partitioner_class=NorthAndSouth,
        callback_handler=Stamp,
        reactor=reactor,
    )
    consumer = Consumer(cluster=producer.cluster, value_deserializer="json", auto_offset_reset="earliest")
    consumer.assign([TopicPartition("baskets", 0), TopicPartition("baskets", 1)])
    try:
        await producer.start()
        for country in ("se", "it"):
            await producer.send("baskets", {"total": 12}, key=country)
        await consumer.start()
        for record in sorted([await consumer.getone(), await consumer.getone()]):
            print(record.partition, record.key, record.value, record.headers)
    finally:
        await consumer.close()
        await producer.close()


react(main)
