"""A member of a group: records one by one, with automatic commits."""

from typing import Any

from twisted.internet.task import react

from kafkatx.client import Consumer


async def main(reactor: Any) -> None:
    """Print records until one says that it is the last."""
    consumer = Consumer(
        bootstrap_servers="127.0.0.1:9092", group_id="billing", auto_offset_reset="earliest", reactor=reactor
    )
    consumer.subscribe(["orders"])
    try:
        await consumer.start()
        async for record in consumer:
            print(record.offset, record.key, record.value)
            if record.value == b"last":
                break
    finally:
        await consumer.close()


react(main)
