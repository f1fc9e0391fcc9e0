"""``kafkatx ingest``: load topics into files with Spark, each record once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from kafkatx.cli.options.audit import audit_options
from kafkatx.cli.options.cluster import cluster_options, command_config, pairs
from kafkatx.cli.options.kafka_names import Option
from kafkatx.cli.options.numbers import FiniteRange
from kafkatx.cli.options.positions import ISOLATION_LEVELS
from kafkatx.cli.output.terminal import show_json

if TYPE_CHECKING:
    from kafkatx.spark.ingest.options import IngestOptions

COMMIT_EVERY_S = 60.0
INTERRUPTED = 130


@click.command(
    epilog="""\b
Examples:
  kafkatx ingest -t orders --to /data/orders --partition-by date
  kafkatx ingest -t orders --to /data/orders --decode json --follow
"""
)
@click.option("-t", "--topic", "topics", metavar="TOPIC", multiple=True, help="Topic to load; repeatable.")
@click.option(
    "--pattern", metavar="REGEX", help="Pattern to find in the names of topics; new topics are loaded, too."
)
@click.option("--to", metavar="DIR", required=True, help="Directory of the files, or hdfs://...")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["parquet", "json", "avro"]),
    default="parquet",
    show_default=True,
    help="Format of the files.",
)
@click.option(
    "--compression",
    type=click.Choice(["snappy", "zstd", "none"]),
    default="snappy",
    show_default=True,
    help="Codec of Parquet and Avro files.",
)
@click.option(
    "--partition-by",
    metavar="COLUMN,...",
    default="",
    help="Columns to make folders of: date, hour or any column.",
)
@click.option(
    "--once/--follow", default=True, help="Load what is in the topics now, or go on.  [default: once]"
)
@click.option(
    "--decode",
    metavar="NAME",
    help="Decoder: json, access-log, avro, json-schema, protobuf, string or a plugin's; by default bytes.",
)
@click.option(
    "--registry",
    metavar="URL,...",
    envvar="KAFKATX_REGISTRY",
    show_envvar=True,
    help="Schema registry, for --decode avro, json-schema and protobuf.",
)
@click.option(
    "--decoder-setting",
    "decoder_settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="Setting of the decoder; repeatable.",
)
@click.option(
    "--schema",
    metavar="DDL",
    help="Columns, `id BIGINT, name STRING` say; other fields are left out.",
)
@click.option(
    "--time-column",
    metavar="COLUMN",
    help="Column that date and hour are made of; by default the decoder's, or Kafka's timestamp.",
)
@click.option(
    "--commit-every",
    metavar="SECONDS",
    type=FiniteRange(min=0),
    default=COMMIT_EVERY_S,
    show_default=True,
    help="With --follow: shortest time between two commits.",
)
@click.option(
    "--max-records",
    metavar="COUNT",
    type=click.IntRange(min=1),
    help="Largest number of records in one commit; by default no limit.",
)
@click.option(
    "--start",
    type=click.Choice(["earliest", "latest"]),
    default="earliest",
    show_default=True,
    help="Position to begin at in the partitions of the first commit.",
)
@click.option(
    "--isolation",
    cls=Option,
    aliases=["--isolation-level"],
    type=click.Choice(ISOLATION_LEVELS),
    default=ISOLATION_LEVELS[0],
    show_default=True,
    help="Isolation level: read_committed leaves out records of open and aborted transactions.",
)
@click.option("--headers", is_flag=True, help="Add a column of record headers, without --decode.")
@click.option(
    "--skip-lost", is_flag=True, help="Go on with a warning if records were deleted before they were loaded."
)
@click.option(
    "--master", metavar="URL", default="local[*]", show_default=True, help="URL of the Spark master."
)
@click.option(
    "--spark-conf", "spark_conf", metavar="NAME=VALUE", multiple=True, help="Setting of Spark; repeatable."
)
@audit_options("Length of the windows in which records are counted, for kafkatx audit")
@click.option(
    "--audit-name", metavar="NAME", default="", help="Name of the table there; by default the directory's."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.option("-q", "--quiet", is_flag=True, help="Print only errors, and JSON with --json.")
@cluster_options
def ingest(
    topics: tuple[str, ...],
    pattern: str | None,
    to: str,
    format_name: str,
    compression: str,
    partition_by: str,
    once: bool,
    decode: str | None,
    decoder_settings: tuple[str, ...],
    registry: str | None,
    schema: str | None,
    time_column: str | None,
    commit_every: float,
    max_records: int | None,
    start: str,
    isolation: str,
    headers: bool,
    skip_lost: bool,
    master: str,
    spark_conf: tuple[str, ...],
    audit_interval_ms: int,
    audit_topic: str,
    audit_name: str,
    as_json: bool,
    quiet: bool,
    bootstrap: str,
    timeout: float,
) -> int:
    """Load topics into files, each record once, also after crashes.

    Offsets are kept with the files: the same command goes on where the last one ended. Ctrl-C completes
    the running commit; a second one drops it, and the next run repeats it.
    """
    from kafkatx.cli.pipeline import ingestion
    from kafkatx.spark.session import check_java, check_pyspark

    check_pyspark()  # before imports that need it
    check_java(os.environ)
    from kafkatx.spark.ingest.options import IngestOptions
    from kafkatx.spark.options.client import ClientSettings, parse_security

    settings = dict(pairs("--decoder-setting", decoder_settings))
    if schema is not None:
        settings["schema"] = schema
    _add_registry(settings, decode, registry)
    options = IngestOptions(
        ClientSettings(
            bootstrap,
            client_id="kafkatx-ingest",
            timeout_s=timeout,
            isolation_level=ISOLATION_LEVELS.index(isolation),
            security=parse_security(command_config()),
        ),
        ingestion.selection(topics, pattern),
        to,
        format=format_name,
        compression=compression,
        partition_by=[name.strip() for name in partition_by.split(",") if name.strip()],
        decode=decode,
        decoder_settings=settings,
        time_column=time_column,
        follow=not once,
        commit_every_s=commit_every,
        max_records=max_records,
        starting=start,
        include_headers=headers,
        fail_on_data_loss=not skip_lost,
        audit_interval_ms=audit_interval_ms,
        audit_topic=audit_topic,
        audit_name=audit_name,
    )
    conf = dict(pairs("--spark-conf", spark_conf))
    return run(options, master, conf, as_json, quiet)


def _add_registry(settings: dict[str, str], decode: str | None, registry: str | None) -> None:
    """Add the settings of the registry for decoders that use one: ``avro`` unless its schema is set."""
    from kafkatx.cli.options.registry import registry_settings
    from kafkatx.schemas.messages.formats import NAMES
    from kafkatx.spark.ingest.schema_resolver import URL

    if decode in NAMES and "avro.schema" not in settings:
        for name, value in registry_settings(settings.get(URL) or registry or "").items():
            settings.setdefault(name, value)


def run(options: IngestOptions, master: str, conf: dict[str, str], as_json: bool, quiet: bool) -> int:
    """Ingest, print the result, and return the exit code.

    :raises KafkaTXError: it failed; the message is for the user.
    """
    from kafkatx.cli.pipeline import ingestion
    from kafkatx.spark.ingest.checks import check_without_spark

    check_without_spark(options)
    report, stopped = ingestion.ingest_shown(options, master, conf, quiet)
    if as_json:
        show_json(ingestion.summary(report))
    elif not quiet:
        ingestion.print_report(report, options.to)
    return INTERRUPTED if stopped and not options.follow else 0
