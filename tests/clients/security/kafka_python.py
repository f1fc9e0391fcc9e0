"""kafka-python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, __version__
from kafka.net.sasl.oauth import AbstractTokenProvider

from tests.clients.security.program import WAIT_S, Pace, Program, main
from tests.clients.security.ways import Given


class Tokens(AbstractTokenProvider):  # type: ignore[misc]  # the library has no types
    """A provider of tokens, as the library has it."""

    def __init__(self, given: Given) -> None:
        self._given = given

    def token(self) -> str:
        """Return the present token."""
        return self._given.token()


def settings_of(given: Given) -> dict[str, Any]:
    """Return the settings of a client."""
    made: dict[str, Any] = {
        "bootstrap_servers": given.bootstrap,
        "security_protocol": given.protocol,
        "ssl_cafile": given.files.ca,
    }
    if not given.has_sasl:
        return made | {"ssl_certfile": given.files.certificate, "ssl_keyfile": given.files.key}
    made["sasl_mechanism"] = given.way
    if given.way == "OAUTHBEARER":
        return made | {"sasl_oauth_token_provider": Tokens(given)}
    return made | {"sasl_plain_username": given.user, "sasl_plain_password": given.password}


class KafkaPython(Program):
    """kafka-python."""

    def version(self) -> str:
        """The library's."""
        return str(__version__)

    def produce(self, topic: str, values: Sequence[bytes]) -> None:
        """Produce records."""
        producer = KafkaProducer(**settings_of(self.given), acks="all")
        for sent in [producer.send(topic, value) for value in values]:
            sent.get(WAIT_S)
        producer.close()

    def read(self, topic: str, count: int) -> list[bytes]:
        """Read as a member of a group."""
        more = {"auto_offset_reset": "earliest", "consumer_timeout_ms": WAIT_S * 1000}
        consumer = KafkaConsumer(topic, group_id=f"group-{topic}", **settings_of(self.given), **more)
        found = [next(consumer).value for _ in range(count)]
        consumer.close()
        return found

    def produce_steadily(self, topic: str, pace: Pace) -> None:
        """Produce at a pace."""
        producer = KafkaProducer(**settings_of(self.given), acks="all")

        def delivered(_metadata: Any) -> None:
            pace.acknowledged += 1

        for value in pace.values():
            producer.send(topic, value).add_callback(delivered).add_errback(pace.failed)
        producer.flush(WAIT_S)
        producer.close()


if __name__ == "__main__":
    main(KafkaPython)
