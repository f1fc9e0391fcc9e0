"""What makes messages of objects and objects of messages, and says which partition a message goes to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zope.interface import Attribute, Interface


class IPartitioner(Interface):
    """Which partition a record goes to. Factory: ``factory()``; one object per producer."""

    def partition(topic: str, key: bytes | None, partitions: int) -> int:
        """The partition, from 0 to *partitions* - 1, of a record with this key."""

    def batch_sent(topic: str) -> None:
        """A batch of the topic was closed: a sticky partitioner chooses anew."""


class IEncoder(Interface):
    """Makes messages of an application's objects (Kafka's Serializer). Factory: ``factory()``.

    One object for keys and one for values, per producer.
    """

    def encode(topic: str, value: Any) -> bytes | None:
        """The message for *value*, or the key. None has none: its record has no value, or no key.

        Called for each record, so it should be quick.

        :raises Exception: *value* is none that it can encode; the call to the producer fails with it.
        """


class IDecoder(Interface):
    """Makes an application's objects of messages (Kafka's Deserializer). Factory: ``factory()``."""

    def decode(topic: str, data: bytes | None) -> Any:
        """The object that *data* is the message of; of None it is None.

        :raises Exception: the message is none of its own.
        """


class IRowDecoder(IDecoder):
    """A decoder whose objects are rows of a table, with columns that are known beforehand.

    ``decode`` gives a tuple (perhaps a named one) with the columns' values in their order, None where there
    is no value; of None it gives None. ``kafkatx ingest`` writes the values into columns of these types, and
    what does not fit is a dead letter. There the decoder is pickled, and used in other processes.
    """

    columns = Attribute(
        "Sequence of (name, type), the type in words of Spark's DDL: boolean, int, bigint, float, double, "
        "string, binary, date, timestamp, array<T>, struct<name:T,...>."
    )
    time_column = Attribute("str or None: the column, a timestamp, with the time of what a row tells.")


class IConfigurable(Interface):
    """A plugin with settings of its own (Kafka's Configurable), beside the interface that it is chosen for.

    A broker and a client give it those of their settings whose names begin with ``kafkatx.plugin.<name>.``,
    without that beginning; ``kafkatx ingest`` gives a decoder those of ``--decoder-setting``.
    """

    def configure(settings: Mapping[str, str]) -> None:
        """Take the settings. Called once, before any other method, also when there are none.

        :raises SettingError: one is unknown, wrong or missing.
        """
