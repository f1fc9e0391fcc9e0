"""The client of kafkatx, by its facade for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence

from kafkatx import __version__
from kafkatx.client import aio
from tests.clients.security.program import Pace, Program, main


class Ours(Program):
    """kafkatx."""

    def version(self) -> str:
        """The library's."""
        return __version__

    def produce(self, topic: str, values: Sequence[bytes]) -> None:
        """Produce records."""

        async def produce() -> None:
            async with aio.Producer(self.given.properties()) as producer:
                for value in values:
                    await producer.send(topic, value)

        asyncio.run(produce())

    def read(self, topic: str, count: int) -> list[bytes]:
        """Read as a member of a group."""

        async def read() -> list[bytes]:
            group = {"group.id": f"group-{topic}", "auto.offset.reset": "earliest"}
            found: list[bytes] = []
            async with aio.Consumer({**self.given.properties(), **group}) as consumer:
                consumer.subscribe([topic])
                async for record in consumer:
                    found.append(bytes(record.value))
                    if len(found) == count:
                        break
            return found

        return asyncio.run(read())

    def produce_steadily(self, topic: str, pace: Pace) -> None:
        """Produce at a pace; the loop runs while the next record is waited for."""

        async def produce() -> None:
            async with aio.Producer({**self.given.properties(), "acks": "all"}) as producer:

                async def send(value: bytes) -> Awaitable[object]:
                    return producer.send(topic, value)

                await pace.follow(send)

        asyncio.run(produce())


if __name__ == "__main__":
    main(Ours)
