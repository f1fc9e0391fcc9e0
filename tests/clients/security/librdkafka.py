"""confluent-kafka, that is librdkafka."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer, Producer, libversion, version

from tests.clients.security.program import WAIT_S, Pace, Program, main
from tests.clients.security.ways import Given


def settings_of(given: Given) -> dict[str, Any]:
    """Return settings by librdkafka's names, without those of tokens."""
    made = {
        "bootstrap.servers": given.bootstrap,
        "security.protocol": given.protocol,
        "ssl.ca.location": given.files.ca,
    }
    if not given.has_sasl:
        return made | {
            "ssl.certificate.location": given.files.certificate,
            "ssl.key.location": given.files.key,
        }
    made["sasl.mechanism"] = given.way
    if given.way == "OAUTHBEARER":
        return made
    return made | {"sasl.username": given.user, "sasl.password": given.password}


def token_of(given: Given) -> tuple[str, float]:
    """Return the present token, and when it expires, in seconds since 1970."""
    token = given.token()
    claims = token.split(".")[1]
    return token, float(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["exp"])


class Librdkafka(Program):
    """confluent-kafka."""

    def version(self) -> str:
        """Those of the binding and of librdkafka."""
        return f"{version()}, librdkafka {libversion()[0]}"

    def settings(self, **more: Any) -> dict[str, Any]:
        """Return the settings of a client."""
        made = settings_of(self.given) | {"log_level": 0, **more}
        if self.given.way == "OAUTHBEARER":
            made["oauth_cb"] = lambda _: token_of(self.given)
        return made

    def produce(self, topic: str, values: Sequence[bytes]) -> None:
        """Produce records."""
        producer = Producer(self.settings())
        for value in values:
            producer.produce(topic, value)
        if producer.flush(WAIT_S):
            raise AssertionError("not all records were acknowledged")

    def read(self, topic: str, count: int) -> list[bytes]:
        """Read as a member of a group."""
        group = {"group.id": f"group-{topic}", "auto.offset.reset": "earliest"}
        consumer = Consumer(self.settings() | group)
        consumer.subscribe([topic])
        found: list[bytes] = []
        while len(found) < count:
            batch = consumer.consume(count - len(found), WAIT_S)
            if not batch or batch[0].error():
                raise AssertionError(f"{len(found)} of {count} records came: {[m.error() for m in batch]}")
            found += [message.value() for message in batch]
        consumer.close()
        return found

    def produce_steadily(self, topic: str, pace: Pace) -> None:
        """Produce at a pace; what librdkafka tells of connections that it replaces is an error, too."""
        producer = Producer(self.settings(error_cb=pace.failed))

        def delivered(error: Any, _message: Any) -> None:
            if error is None:
                pace.acknowledged += 1
            else:
                pace.failed(error)

        for value in pace.values():
            producer.produce(topic, value, on_delivery=delivered)
            producer.poll(0)
        producer.flush(WAIT_S)


if __name__ == "__main__":
    main(Librdkafka)
