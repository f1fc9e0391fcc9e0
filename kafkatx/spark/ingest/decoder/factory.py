"""From the name of a decoder to a decoding. On the driver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafkatx.errors import SettingError
from kafkatx.interfaces import IDecoder, IRowDecoder
from kafkatx.schemas.types import InvalidSchema
from kafkatx.spark.ingest.decoder.decoder import KAFKA_COLUMNS, Decoding, Undecoded
from kafkatx.spark.ingest.decoder.plugin import DeclaredDecoding, InferringDecoding
from kafkatx.spark.ingest.decoder.registered import KnownSchemas, RegisteredDecoding
from kafkatx.spark.ingest.decoder.schema_columns import evolved, schema_columns
from kafkatx.spark.ingest.table.columns import Column, arrow_type, ddl_type, parse_ddl

SCHEMA = "schema"
"""The setting, of any decoder without columns of its own, that says which there are to be, as DDL."""


def open_decoding(
    name: str | None,
    columns: Sequence[Column] | None,
    settings: Mapping[str, str],
    time_column: str | None = None,
    include_headers: bool = False,
    partition_by: Sequence[str] = (),
    schemas: KnownSchemas | None = None,
) -> Decoding:
    """Return the decoding of a decoder.

    :param name: of an ``IDecoder``; None leaves records as they are.
    :param columns: the table's columns so far, without those of Kafka; None or empty if there is none yet.
    :param settings: the decoder's own, and ``schema``.
    :param time_column: a column that is a timestamp if no schema says what it is: text in it is parsed.
    :param partition_by: records whose values of these columns make no folder's name are dead letters.
    :param schemas: those of a registry, if the decoder uses one; *settings* are not looked at then.
    :raises SettingError: there is no such decoder, or no such setting; the table has other columns.
    """
    if name is not None and schemas is not None:
        return _registered(name, columns or (), schemas, time_column, partition_by)
    if name is None:
        if settings:
            raise SettingError(f"{min(settings)} is set, and nothing is decoded: choose a decoder")
        return Undecoded(include_headers)
    own = {setting: value for setting, value in settings.items() if setting != SCHEMA}
    decoder = make_decoder(name, own)
    if IRowDecoder.providedBy(decoder):
        if SCHEMA in settings:
            raise SettingError(f"decoder {name} has columns of its own: leave the schema out")
        declared = [Column(column, ddl_type(arrow_type(word))) for column, word in decoder.columns]
        return DeclaredDecoding(name, decoder, _agreed(columns, declared), decoder.time_column, partition_by)
    if SCHEMA in settings:
        return InferringDecoding(
            name,
            decoder,
            _agreed(columns, parse_ddl(settings[SCHEMA])),
            time_column,
            partition_by,
            fixed=True,
        )
    return InferringDecoding(name, decoder, _with_time(columns or (), time_column), time_column, partition_by)


def _registered(
    name: str,
    known: Iterable[Column],
    schemas: KnownSchemas,
    time_column: str | None,
    partition_by: Sequence[str],
) -> Decoding:
    """Return the decoding by a registry's schemas: the table gets the columns of all topics' schemas.

    :raises SettingError: one of them cannot become a table, or not beside the others.
    """
    columns = list(known)
    for topic, reader in schemas.readers.items():
        try:
            declared = schema_columns(reader)
        except InvalidSchema as error:
            raise SettingError(f"the schema of topic {topic}: {error}") from error
        _check_names(declared)
        columns = evolved(columns, declared)
    return RegisteredDecoding(name, schemas, columns, time_column, partition_by)


def make_decoder(name: str, settings: Mapping[str, str]) -> Any:
    """Return an ``IDecoder`` with its settings.

    :raises SettingError: none is called so, it has no settings, or they are wrong.
    """
    # Twisted's lookup of plug-ins is slow to import, and no worker needs it.
    from kafkatx.extension import find

    return find(IDecoder, name, "decode", settings)()


def _with_time(columns: Iterable[Column], time_column: str | None) -> list[Column]:
    known = list(columns)
    if time_column is not None and time_column not in (*KAFKA_COLUMNS, *(column.name for column in known)):
        known.append(Column(time_column, "timestamp"))
    return known


def _agreed(known: Iterable[Column] | None, declared: Sequence[Column]) -> list[Column]:
    """Return the declared columns, those first that the table already has.

    :raises SettingError: one of these is not declared, or otherwise; or the names cannot stand together.
    """
    _check_names(declared)
    types = {column.name: column.type for column in declared}
    first = list(known or ())
    for column in first:
        if types.get(column.name) != column.type:
            raise SettingError(
                f"column {column.name} is {column.type} in the table and is now to be "
                f"{types.get(column.name, 'left out')}: keep it, or ingest into another directory"
            )
    names = {column.name for column in first}
    return [*first, *(column for column in declared if column.name not in names)]


def _check_names(declared: Sequence[Column]) -> None:
    taken = {name: name for name in KAFKA_COLUMNS}
    for column in declared:
        other = taken.setdefault(column.name.lower(), column.name)
        if other != column.name or column.name in KAFKA_COLUMNS:
            raise SettingError(
                f"column {column.name}: there is {other} already, which Spark does not tell apart from it"
            )
