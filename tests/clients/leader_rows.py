"""The clients that go through a leader's death: who produces, who reads, and whether that is a group."""

from __future__ import annotations

import sys
from collections.abc import Callable

import attrs

from tests.clients.matrix import CLIENTS

_LIBRDKAFKA = "confluent-kafka"


@attrs.frozen
class Row:
    """One row.

    :ivar toolchains: what :func:`tests.clients.toolchains.prepare` makes ready for it.
    :ivar producer: makes the command line that ``produce`` is added to.
    :ivar reader: makes the command line that ``member`` is added to.
    :ivar members: how many of them read; one that is no group's tells all that it has read when it ends.
    :ivar grouped: whether they are a group, which may read a record again, and commits.
    """

    name: str
    toolchains: tuple[str, ...]
    producer: Callable[[], list[str]]
    reader: Callable[[], list[str]]
    members: int = 2
    grouped: bool = True


def _group(name: str) -> Row:
    """The same client produces and reads."""
    (client,) = [one for one in CLIENTS if one.name == name]
    return Row(name, (client.toolchain,), client.command, client.command)


def _table(name: str, toolchain: str, reader: Callable[[], list[str]]) -> Row:
    """A row in which the records of librdkafka go into files, each record once."""
    (feeder,) = [one for one in CLIENTS if one.name == _LIBRDKAFKA]
    return Row(name, (feeder.toolchain, toolchain), feeder.command, reader, members=1, grouped=False)


def _spark(name: str) -> Row:
    (client,) = [one for one in CLIENTS if one.name == name]
    return _table(name, client.toolchain, client.command)


ROWS = [
    _group("kafkatx (Twisted client)"),
    _group("confluent-kafka"),
    _group("confluent-kafka, group.protocol=consumer"),
    _group("kafka-python"),
    _group("aiokafka"),
    _group("franz-go"),
    _group("franz-go, KIP-848"),
    _group("Java 3.9"),
    _group("Java 4"),
    _group("Java 4, group.protocol=consumer"),
    _spark("Spark 4.2, its own source and sink"),
    _spark("PySpark, kafkatx's source and sink"),
    _table("kafkatx ingest", "python", lambda: [sys.executable, "-m", "tests.clients.ingestion", "now"]),
]
"""Every row, in the order of the page."""
