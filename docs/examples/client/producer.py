"""Send records one by one, as a list, and as fast as the broker accepts them."""

from typing import Any

from twisted.internet.defer import gatherResults
from twisted.internet.task import react

from kafkatx.client import Producer


async def main(reactor: Any) -> None:
    """Send, and print where the records are."""
    producer = Producer(bootstrap_servers="127.0.0.1:9092", reactor=reactor)
    try:
        await producer.start()
        one = await producer.send("events", b"login", key=b"ann", headers=[("host", b"web-1")])
        print(f"one record at offset {one.offset}")

        many = await producer.send_batch("events", [b"view", b"view", b"logout"])
        print(f"{many.records} records at offsets {many.base_offset} to {many.last_offset}")

        on_the_way = []
        for number in range(1000):
            await producer.ready()  # fires at once, unless buffer.memory is full
            on_the_way.append(producer.send("events", b"%d" % number))
        await producer.flush()
        last = (await gatherResults(on_the_way))[-1]
        print(f"1000 more, the last at offset {last.offset}")
    finally:
        await producer.close()


react(main)
