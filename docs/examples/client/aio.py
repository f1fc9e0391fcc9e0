"""The same clients in asyncio: methods are awaited, ``async for`` iterates over records."""

import asyncio

from kafkatx.client.aio import Consumer, Producer

BROKER = "127.0.0.1:9092"


async def main() -> None:
    """Send three records and read them."""
    async with Producer(bootstrap_servers=BROKER) as producer:
        await asyncio.gather(*(producer.send("letters", letter) for letter in (b"a", b"b", b"c")))

    consumer = Consumer(bootstrap_servers=BROKER, group_id="readers", auto_offset_reset="earliest")
    consumer.subscribe(["letters"])
    async with consumer:
        async for record in consumer:
            print(record.offset, record.value)
            if record.offset == 2:
                break


asyncio.run(main())
