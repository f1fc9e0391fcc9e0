"""The decoding of one ingestion and the columns of its table, as its options and its last commit say.

On the driver; touches no files and no sockets, but looks the decoder up among the installed plugins.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from kafkatx.errors import SettingError
from kafkatx.spark.ingest.decoder import KAFKA_COLUMNS, Decoding, open_decoding
from kafkatx.spark.ingest.decoder.plugin import DeclaredDecoding
from kafkatx.spark.ingest.decoder.registered import KnownSchemas
from kafkatx.spark.ingest.options import IngestOptions
from kafkatx.spark.ingest.schema_resolver import SchemaResolver, uses_registry
from kafkatx.spark.ingest.table.columns import Column
from kafkatx.spark.ingest.table.folders import check_columns
from kafkatx.spark.ingest.table.manifest import Manifest
from kafkatx.spark.ingest.tasks.task import table_columns


@attrs.frozen
class TableDecoding:
    """The conversion of records to rows of the table.

    :ivar time_column: gives ``date`` and ``hour``.
    :ivar columns: those of the table.
    :ivar final: True if records add no columns: nothing is decoded, or a schema says which there are.
    """

    decoding: Decoding
    time_column: str
    columns: tuple[Column, ...]
    final: bool


def decoding_of(
    options: IngestOptions, last: Manifest | None, schemas: KnownSchemas | None = None
) -> TableDecoding:
    """Return the decoding with which an ingestion begins.

    :param last: the newest commit of the directory; None if there is none.
    :param schemas: None unless the decoder uses a registry.
    :raises SettingError: an option is wrong, or differs from what the directory was begun with.
    """
    if last is not None:
        check_agrees(options, last)
    known = [column for column in (last.schema if last else ()) if column.name not in KAFKA_COLUMNS]
    return open_table_decoding(options, known, schemas)


def open_table_decoding(
    options: IngestOptions, columns: Sequence[Column], schemas: KnownSchemas | None = None
) -> TableDecoding:
    """Return the decoding into a table that has *columns*, without those of Kafka.

    :param schemas: as for :func:`decoding_of`.

    :raises SettingError: there is no such decoder, or the columns do not fit it or the options.
    """
    decoding = open_decoding(
        options.decode,
        columns or None,
        options.decoder_settings,
        time_column=options.time_column,
        include_headers=options.include_headers,
        partition_by=options.partition_by,
        schemas=schemas,
    )
    default = "timestamp" if options.decode is None else "kafka_timestamp"
    time_column = options.time_column or decoding.time_column or default
    final = (
        options.decode is None
        or "schema" in options.decoder_settings
        or isinstance(decoding, DeclaredDecoding)
        or (schemas is not None and bool(schemas.readers))
    )
    all_columns = table_columns(decoding, options.decode is not None)
    check_columns(all_columns, options.partition_by, time_column, final)
    return TableDecoding(decoding, time_column, tuple(all_columns), final)


def resolver_of(options: IngestOptions) -> SchemaResolver | None:
    """Return what looks schemas up in a registry; None if the decoder uses none.

    :raises SettingError: a setting of the registry is wrong or missing.
    """
    if options.decode is None or not uses_registry(options.decode, options.decoder_settings):
        return None
    return SchemaResolver(options.decode, options.decoder_settings)


def check_agrees(options: IngestOptions, last: Manifest) -> None:
    """Check that the options are those that the directory was begun with.

    :raises SettingError: one is not.
    """
    for name, was, now in (
        ("format", last.format, options.format),
        ("partition-by", ",".join(last.partition_by), ",".join(options.partition_by)),
        ("decode", last.decode, options.decode),
    ):
        if was != now:
            raise SettingError(
                f"{name} {now or 'none'}: {options.to} was begun with {was or 'none'}: keep to that, or give "
                "another directory"
            )
    names = [column.name for column in last.schema]
    if last.decode is None and names and ("headers" in names) != options.include_headers:
        raise SettingError(
            f"headers {options.include_headers}: {options.to} was begun with {not options.include_headers}"
        )
