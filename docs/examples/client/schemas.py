"""Send values with an Avro schema and read them again; the broker's registry keeps the schema."""

import asyncio
from dataclasses import dataclass

from kafkatx.client.aio import Consumer, Producer

USER = """{"type": "record", "name": "User", "fields": [
    {"name": "id", "type": "long"}, {"name": "name", "type": "string"},
    {"name": "age", "type": ["null", "int"], "default": null}]}"""
COMMON = {"bootstrap.servers": "127.0.0.1:9092", "schema.registry.url": "http://127.0.0.1:8081"}


@dataclass
class User:
    """Anything with the fields of the record can be sent."""

    id: int
    name: str
    age: int | None = None


async def main() -> None:
    """Send a dict and an object; print what arrives."""
    writing = {"value.serializer": "avro", "kafkatx.value.schema": USER}
    async with Producer({**COMMON, **writing}) as producer:
        await producer.send("users", {"id": 1, "name": "Ann"})
        await producer.send("users", User(2, "Ben", 33))
    reading = {"value.deserializer": "avro", "auto.offset.reset": "earliest", "group.id": "readers"}
    async with Consumer({**COMMON, **reading}) as consumer:
        consumer.subscribe(["users"])
        for _ in range(2):
            print((await consumer.getone()).value)


asyncio.run(main())
