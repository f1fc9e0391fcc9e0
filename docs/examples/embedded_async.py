"""A broker and clients in asyncio: the broker starts and stops in a worker thread, and the loop goes on."""

import asyncio

from kafkatx.client.aio import Producer
from kafkatx.testing import EmbeddedBroker


async def main() -> None:
    """Send three letters and print those of the topic."""
    async with EmbeddedBroker({"kafkatx.storage": "memory"}) as broker:
        letters = await broker.topic("letters", partitions=1)
        async with Producer(bootstrap_servers=broker.bootstrap) as producer:
            await asyncio.gather(*(producer.send(letters, letter) for letter in (b"a", b"b", b"c")))
        for message in await broker.messages(letters, count=3):
            print(message.offset, message.value)


asyncio.run(main())
