"""aiokafka."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, __version__
from aiokafka.abc import AbstractTokenProvider

from tests.clients.security.program import WAIT_S, Pace, Program, main
from tests.clients.security.ways import Given


class Tokens(AbstractTokenProvider):  # type: ignore[misc]  # the library has no types
    """A provider of tokens, as the library has it."""

    def __init__(self, given: Given) -> None:
        self._given = given

    async def token(self) -> str:
        """Return the present token."""
        return self._given.token()


class AioKafka(Program):
    """aiokafka."""

    def version(self) -> str:
        """The library's."""
        return str(__version__)

    def settings(self) -> dict[str, Any]:
        """Return the settings of a client."""
        given = self.given
        context = ssl.create_default_context(cafile=given.files.ca)
        made: dict[str, Any] = {
            "bootstrap_servers": given.bootstrap,
            "security_protocol": given.protocol,
            "ssl_context": context,
        }
        if not given.has_sasl:
            context.load_cert_chain(given.files.certificate, given.files.key)
            return made
        made["sasl_mechanism"] = given.way
        if given.way == "OAUTHBEARER":
            return made | {"sasl_oauth_token_provider": Tokens(given)}
        return made | {"sasl_plain_username": given.user, "sasl_plain_password": given.password}

    def produce(self, topic: str, values: Sequence[bytes]) -> None:
        """Produce records."""

        async def produce() -> None:
            async with AIOKafkaProducer(**self.settings(), acks="all") as producer:
                for value in values:
                    await producer.send_and_wait(topic, value)

        asyncio.run(produce())

    def read(self, topic: str, count: int) -> list[bytes]:
        """Read as a member of a group."""

        async def read() -> list[bytes]:
            group = {"group_id": f"group-{topic}", "auto_offset_reset": "earliest"}
            async with AIOKafkaConsumer(topic, **group, **self.settings()) as consumer:
                return [(await asyncio.wait_for(consumer.getone(), WAIT_S)).value for _ in range(count)]

        return asyncio.run(read())

    def produce_steadily(self, topic: str, pace: Pace) -> None:
        """Produce at a pace; the loop runs while the next record is waited for."""

        async def produce() -> None:
            async with AIOKafkaProducer(**self.settings(), acks="all") as producer:
                await pace.follow(lambda value: producer.send(topic, value))

        asyncio.run(produce())


if __name__ == "__main__":
    main(AioKafka)
