"""SimpleConsumer and ConsumerConnector in asyncio: calls are awaited, a task reads each stream."""

import asyncio

from kafkatx.client.aio import ConsumerConnector, MessageStream, SimpleConsumer

BROKER = "127.0.0.1:9092"


async def main() -> None:
    """Read a partition from an offset on, then all of the topic as one of a group."""
    async with SimpleConsumer(bootstrap_servers=BROKER) as simple:
        messages = await simple.fetch("visits", 0, 1)
        print([record.value for record in messages], messages.next_offset)

    values: list[bytes] = []
    all_read = asyncio.Event()

    async def read(stream: MessageStream) -> None:
        async for record in stream:  # it waits, and ends when the connector is shut down
            values.append(record.value)
            if len(values) == 6:
                all_read.set()

    async with ConsumerConnector(
        bootstrap_servers=BROKER, group_id="counters", auto_offset_reset="earliest"
    ) as connector:
        streams = connector.create_message_streams({"visits": 2})["visits"]
        readers = [asyncio.create_task(read(stream)) for stream in streams]
        await all_read.wait()
    await asyncio.gather(*readers)
    print(sorted(values))


asyncio.run(main())
