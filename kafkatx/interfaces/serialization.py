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


class IPreparing(Interface):
    """An encoder that has to ask a server, a schema registry say, before it can encode some values.

    Provided beside :class:`IEncoder`. Its ``encode`` raises
    :class:`~kafkatx.errors.NotPrepared` for such a value. The producer then calls ``prepare``, waits, and
    encodes again; records of later calls wait behind, so that the order is kept. ``encode`` itself stays
    quick and synchronous.
    """

    def prepare(topic: str, value: Any) -> Any:
        """Return a Deferred that fires when values like this one can be encoded; None: they can be now.

        :return: cancelling it must have no effect on other callers. It fails with the error of the record.
        """


class IHeaderEncoder(IEncoder):
    """An encoder that adds headers to records. A producer calls ``encode_record`` in place of ``encode``."""

    def encode_record(topic: str, value: Any) -> tuple[bytes | None, Sequence[tuple[str, bytes]]]:
        """Return the bytes of a value or key, and the headers to add to its record; raises as ``encode``."""


class IBatchDecoder(IDecoder):
    """A decoder that has to ask a server before it can decode some messages, or that reads headers.

    A consumer calls ``prepare_batch`` before it decodes a batch of one partition, and waits once for all of
    its messages; then it calls ``decode_record`` for each.
    """

    def prepare_batch(topic: str, messages: Sequence[bytes | None], headers: Sequence[bytes]) -> Any:
        """Return a Deferred that fires when these messages can be decoded; None: they can be now.

        It must not fail because of one message: that is an error of ``decode_record``. An error that is
        expected to pass, as that of a connection, is raised to the application in place of the batch, which
        is tried again with the next call for records.

        :param headers: of the same records, encoded as in a batch: their count, then each; empty if there are
            none. ``kafkatx.records.batch.decode_headers`` reads them.
        """

    def decode_record(topic: str, data: bytes | None, headers: bytes) -> Any:
        """Return the object of a message; None for None.

        :raises Exception: the message cannot be decoded.
        """


class IRegistryCoder(Interface):
    """An encoder or decoder that uses the client's schema registry; provided beside its interface."""

    def attach(registry: Any, settings: Any, is_key: bool) -> None:
        """Accept the registry; called once, before any other method but ``configure``.

        :param registry: a ``kafkatx.client.registry.client.RegistryClient``.
        :param settings: the client's, a ``kafkatx.clientcore.settings.ClientSettings``.
        :raises SettingError: a setting is wrong or missing.
        """


class IRegistryEncoder(IEncoder, IRegistryCoder):
    """An encoder that needs a schema registry. Factory: ``factory()``.

    A setting finds it by its name if there is no plain encoder of the same name, or ``schema.registry.url``
    is set.
    """


class IRegistryDecoder(IDecoder, IRegistryCoder):
    """A decoder that needs a schema registry; otherwise as :class:`IRegistryEncoder`."""
