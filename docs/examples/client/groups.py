"""A member of a group that commits by itself, after each list of records, and hears of its partitions."""

from typing import Any

from twisted.internet.task import react

from kafkatx.client import Consumer, RebalanceListener
from kafkatx.types import TopicPartition


class Told(RebalanceListener):
    """Prints what comes and goes. A method may be a coroutine, or return a Deferred: the group waits."""

    async def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:
        """These have come."""
        print("assigned:", *sorted(partitions))

    async def on_partitions_revoked(self, partitions: set[TopicPartition]) -> None:
        """These go."""
        print("revoked:", *sorted(partitions))


async def main(reactor: Any) -> None:
    """Take lists of records until all six are there."""
    consumer = Consumer(
        bootstrap_servers="127.0.0.1:9092",
        group_id="audit",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        reactor=reactor,
    )
    consumer.subscribe(pattern="payments.*", listener=Told())
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
