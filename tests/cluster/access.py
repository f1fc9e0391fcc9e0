"""The way of a run's clients to the brokers: in plain text, or over TLS with a login."""

from __future__ import annotations

import socket
from functools import cached_property
from typing import Any

import attrs

from kafkatx.blocking import Cluster
from kafkatx.blocking.security import Dial, dial_with
from tests.clients.security import kafka_python, librdkafka
from tests.clients.security.ways import Given


@attrs.frozen(slots=False)
class Access:
    """The addresses of brokers, and a login at them.

    :ivar given: the login; None: in plain text.
    """

    bootstrap: str
    given: Given | None = None

    def librdkafka(self) -> dict[str, Any]:
        """Return settings for confluent-kafka."""
        if self.given is None:
            return {"bootstrap.servers": self.bootstrap}
        return librdkafka.settings_of(self.given)

    def kafka_python(self) -> dict[str, Any]:
        """Return settings for kafka-python."""
        found = {} if self.given is None else kafka_python.settings_of(self.given)
        return found | {"bootstrap_servers": self.bootstrap.split(",")}

    def ours(self) -> dict[str, str]:
        """Return settings for our clients."""
        return {"bootstrap.servers": self.bootstrap} if self.given is None else self.given.properties()

    @cached_property
    def dial(self) -> Dial:
        """Connects a socket of our blocking client."""
        return socket.create_connection if self.given is None else dial_with(self.given.properties())

    def cluster(self, **options: Any) -> Cluster:
        """Return our blocking client."""
        return Cluster(self.bootstrap, dial=self.dial, **options)

    def at(self, bootstrap: str) -> Access:
        """Return the same at other addresses."""
        given = None if self.given is None else attrs.evolve(self.given, bootstrap=bootstrap)
        return Access(bootstrap, given)
