"""A broker with a schema registry, for all integration tests of schemas."""

from __future__ import annotations

import atexit
from functools import lru_cache
from typing import Any

from kafkatx.blocking.registry import BlockingRegistry
from kafkatx.clientcore.registry import requests
from kafkatx.schemas.types import Reference, Schema, SchemaType
from kafkatx.testing import EmbeddedBroker


@lru_cache(maxsize=1)
def registry_broker() -> EmbeddedBroker:
    """The broker, started by the first who asks and stopped when the tests end."""
    broker = EmbeddedBroker({"http.listeners": "HTTP://127.0.0.1:0"}, run_in="process")
    broker.start()
    atexit.register(broker.__exit__, None, None, None)
    return broker


def register(subject: str, text: str, kind: SchemaType = SchemaType.AVRO, *references: Any) -> int:
    """Register a schema; return its id."""
    schema = Schema(text, kind, tuple(Reference(*each) for each in references))
    with BlockingRegistry.of({"schema.registry.url": registry_broker().http}) as client:
        return client.send(requests.register(subject, schema)).id
