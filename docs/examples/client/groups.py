"""A member of a group that commits after each list of records, with a listener for its partitions."""

from typing import Any

from twisted.internet.task import react

from kafkatx.client import Consumer, RebalanceListener
from kafkatx.types import TopicPartition


class PrintPartitions(RebalanceListener):
    """Prints assigned and revoked partitions. The group waits for a method that returns a Deferred."""

    async def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:
        """Print partitions that were assigned."""
        print("assigned:", *sorted(partitions))

    async def on_partitions_revoked(self, partitions: set[TopicPartition]) -> None:
        """Print partitions that are revoked."""
        print("revoked:", *sorted(partitions))


async def main(reactor: Any) -> None:
    """Read lists of records until all six are there."""
    consumer = Consumer(
        bootstrap_servers="127.0.0.1:9092",
        group_id="audit",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        reactor=reactor,
    )
    consumer.subscribe(pattern="payments.*", listener=PrintPartitions())
    try:
        await consumer.start()
        count = 0
        while count < 6:
            found = await consumer.getmany(max_records=100, timeout_ms=1000)
            for records in found.values():
                count += len(records)
            await consumer.commit()  # all that was handed out
        committed = await consumer.committed(*consumer.assignment())
        print("committed:", *(at.offset for _, at in sorted(committed.items()) if at))
    finally:
        await consumer.close()


react(main)
