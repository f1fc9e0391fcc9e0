"""Topics, their settings and their records; groups and their offsets."""

from typing import Any

from twisted.internet.task import react

from kafkatx.client import Admin, OffsetAndMetadata, Producer, Resource, ResourceType
from kafkatx.types import TopicPartition

PARTITION = TopicPartition("invoices", 0)


async def main(reactor: Any) -> None:
    """Make a topic, look at it, and delete it."""
    admin = Admin(bootstrap_servers="127.0.0.1:9092", reactor=reactor)
    try:
        await admin.start()
        await admin.create_topic("invoices", partitions=2, configs={"retention.ms": "3600000"})
        await admin.create_partitions("invoices", 3)

        producer = Producer(cluster=admin.cluster)  # on the same connections
        await producer.start()
        await producer.send_batch("invoices", [b"1", b"2", b"3"], partition=0)
        await producer.close()

        topic = Resource(ResourceType.TOPIC, "invoices")
        await admin.configs.alter(topic, {"retention.ms": "60000"})
        description = await admin.describe_topic("invoices")
        print("partitions:", len(description.partitions))
        print("retention.ms:", description.configs["retention.ms"].value)

        await admin.groups.commit("archive", {PARTITION: OffsetAndMetadata(1)})
        for progress in await admin.groups.progress("archive"):
            print(f"archive in {progress.at}: {progress.lag} to read")

        print("first offset:", (await admin.delete_records({PARTITION: 2}))[PARTITION])
        await admin.groups.delete("archive")
        await admin.delete_topic("invoices")
        print("topics:", [found.name for found in await admin.list_topics()])
    finally:
        await admin.close()


react(main)
