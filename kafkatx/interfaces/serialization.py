"""Interfaces of encoders, decoders and partitioners, and of plugins with settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zope.interface import Attribute, Interface


class IPartitioner(Interface):
    """Chooses the partition of a record. Factory: ``factory()``; one object per producer."""

    def partition(topic: str, key: bytes | None, partitions: int) -> int:
        """Return the partition, from 0 to *partitions* - 1, of a record with this key."""

    def batch_sent(topic: str) -> None:
        """Choose another partition, if the partitioner is sticky: a batch of the topic was closed."""


class IEncoder(Interface):
    """Converts an application's objects to messages (Kafka's Serializer). Factory: ``factory()``.

    One object for keys and one for values, per producer.
    """

    def encode(topic: str, value: Any) -> bytes | None:
        """Return the bytes of a value or key; None for None: the record then has no value, or no key.

        It is called for each record, so it should be fast.

        :raises Exception: the value cannot be encoded; the call to the producer fails with this error.
        """


class IDecoder(Interface):
    """Converts messages to an application's objects (Kafka's Deserializer). Factory: ``factory()``."""

    def decode(topic: str, data: bytes | None) -> Any:
        """Return the object of a message; None for None.

        :raises Exception: the message cannot be decoded.
        """


class IRowDecoder(IDecoder):
    """A decoder whose objects are rows of a table with fixed columns.

    ``decode`` returns a tuple (a named tuple, perhaps) with the columns' values in their order, None if there
    is no value; for None it returns None. ``kafkatx ingest`` writes the values to columns of these types; a
    message with a value that does not fit is a dead letter. ``kafkatx ingest`` pickles the decoder, and uses
    it in other processes.
    """

    columns: Sequence[tuple[str, str]] = Attribute(
        "(name, type) of each column, the type in Spark's DDL: boolean, int, bigint, float, double, string, "
        "binary, date, timestamp, array<T>, struct<name:T,...>."
    )
    time_column: str | None = Attribute("Name of a timestamp column with the row's event time, or None.")


class IConfigurable(Interface):
    """A plugin with its own settings (Kafka's Configurable); provided beside the plugin's interface.

    A broker or client passes those of its settings whose names begin with ``kafkatx.plugin.<name>.``, without
    that prefix; ``kafkatx ingest`` passes a decoder those of ``--decoder-setting``.
    """

    def configure(settings: Mapping[str, str]) -> None:
        """Accept the settings. Called once, before any other method, even if there are none.

        :raises SettingError: a setting is unknown, wrong or missing.
        """
