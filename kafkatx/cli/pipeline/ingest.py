"""``kafkatx ingest``: topics into files, by Spark, each record once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from kafkatx.cli.options.cluster import cluster_options, pairs
from kafkatx.cli.output.terminal import show_json

if TYPE_CHECKING:
    from kafkatx.spark.ingest.options import IngestOptions

COMMIT_EVERY_S = 60.0
INTERRUPTED = 130


@click.command()
@click.option("-t", "--topic", "topics", metavar="TOPIC", multiple=True, help="Load this; repeatable.")
@click.option("--pattern", metavar="REGEX", help="Load the topics with a match in their name, new ones too.")
@click.option("--to", metavar="DIR", required=True, help="Where the files go: a directory, or hdfs://...")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["parquet", "json", "avro"]),
    default="parquet",
    show_default=True,
    help="Of the files.",
)
@click.option(
    "--compression",
    type=click.Choice(["snappy", "zstd", "none"]),
    default="snappy",
    show_default=True,
    help="Of Parquet and Avro.",
)
@click.option("--partition-by", metavar="COLUMN,...", default="", help="Folders: date, hour or any column.")
@click.option("--once/--follow", default=True, help="Load what is there now, or go on. [once]")
@click.option("--decode", metavar="NAME", help="json, access-log, avro, string or a plug-in's. Else: bytes.")
@click.option(
    "--decoder-setting", "decoder_settings", metavar="NAME=VALUE", multiple=True, help="Repeatable."
)
@click.option(
    "--schema",
    metavar="DDL",
    help="The columns, as `id BIGINT, name STRING`; fields that are not named are left out.",
)
@click.option("--time-column", metavar="COLUMN", help="Gives date and hour. Else: the decoder's or Kafka's.")
@click.option(
    "--commit-every",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=COMMIT_EVERY_S,
    show_default=True,
    help="With --follow: the least time from one commit to the next.",
)
@click.option("--max-records", type=click.IntRange(min=1), help="Of one commit. Else: all there are.")
@click.option(
    "--start",
    type=click.Choice(["earliest", "latest"]),
    default="earliest",
    show_default=True,
    help="Where to begin in partitions that the first commit finds.",
)
@click.option("--headers", is_flag=True, help="A column for them, if nothing is decoded.")
@click.option("--skip-lost", is_flag=True, help="Go on with a warning where records are gone.")
@click.option("--master", metavar="URL", default="local[*]", show_default=True, help="Which Spark.")
@click.option("--spark-conf", "spark_conf", metavar="NAME=VALUE", multiple=True, help="Repeatable.")
@click.option("--json", "as_json", is_flag=True, help="End with one line of JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors and, if asked for, JSON.")
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
    schema: str | None,
    time_column: str | None,
    commit_every: float,
    max_records: int | None,
    start: str,
    headers: bool,
    skip_lost: bool,
    master: str,
    spark_conf: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    bootstrap: str,
    timeout: float,
) -> int:
    """Load topics into files, each record once, however often this is stopped and started again.

    Offsets are kept with the files: the same command goes on where the last one has ended. Ctrl-C completes
    the running commit; a second one leaves it out, and the next run does it again.
    """
    from kafkatx.cli.pipeline import ingestion
    from kafkatx.spark.session import check_java, check_pyspark

    check_pyspark()  # before what cannot be imported without it
    check_java(os.environ)
    from kafkatx.spark.ingest.options import IngestOptions
    from kafkatx.spark.options.client import ClientSettings

    settings = dict(pairs("--decoder-setting", decoder_settings))
    if schema is not None:
        settings["schema"] = schema
    options = IngestOptions(
        ClientSettings(bootstrap, client_id="kafkatx-ingest", timeout_s=timeout),
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
    )
    conf = dict(pairs("--spark-conf", spark_conf))
    return run(options, master, conf, as_json, quiet)


def run(options: IngestOptions, master: str, conf: dict[str, str], as_json: bool, quiet: bool) -> int:
    """Do it, and tell of it; the exit code.

    :raises KafkaTXError: it could not be done; the message is for the user.
    """
    from kafkatx.cli.pipeline import ingestion

    ingestion.check(options)
    report, stopped = ingestion.ingest_shown(options, master, conf, quiet)
    if as_json:
        show_json(ingestion.summary(report))
    elif not quiet:
        ingestion.print_report(report, options.to)
    return INTERRUPTED if stopped and not options.follow else 0
