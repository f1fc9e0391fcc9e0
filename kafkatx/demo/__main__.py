"""The demonstration: a broker of its own, a topic, PySpark, Parquet, and a table of what was in there.

A program, which nothing imports: like the other programs it stands on the top floor, and may start a broker.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from kafkatx.blocking import Admin, Cluster, Writer
from kafkatx.demo.lines import Lines, first_field, open_lines
from kafkatx.errors import KafkaTXError, SettingError
from kafkatx.names import printable
from kafkatx.scratch import Scratch
from kafkatx.spark.session import check_java, spark_session
from kafkatx.testing import EmbeddedBroker

if TYPE_CHECKING:
    from kafkatx.demo.facts import Facts

TOPIC = "lines"
SPARK_LOG = "spark.log"
PARTITIONS = 2
MAX_LINE_BYTES = 16 << 20


@click.command()
@click.argument("file", required=False)
@click.option("--to", metavar="DIR", help="Directory for the Parquet files; new or empty.")
def main(file: str | None, to: str | None) -> None:
    """Send the lines of FILE (plain text; - is standard input) through a broker and PySpark to Parquet.

    Then tell what was in there. Without FILE, take the history of the git repository that this is run in.
    """
    console = Console(highlight=False)
    try:
        check_java(os.environ)
        with open_lines(file) as lines:
            run(console, lines, target(to))
    except KafkaTXError as error:
        raise click.ClickException(str(error)) from error


def target(to: str | None) -> str:
    """Return the directory to write to: the one named, created if need be, or a new one.

    :raises SettingError: it is not empty, or cannot be made.
    """
    if to is None:
        return tempfile.mkdtemp(prefix="kafkatx-demo-")
    try:
        os.makedirs(to, exist_ok=True)
        if os.listdir(to):
            raise SettingError(f"--to {to}: is not empty; name a new directory")
    except OSError as error:
        raise SettingError(f"--to {to}: {(error.strerror or str(error)).lower()}") from None
    return os.path.abspath(to)


def run(console: Console, lines: Lines, to: str) -> None:
    """Do all of it, telling each step.

    :raises KafkaTXError: a step failed.
    """
    settings = {"message.max.bytes": str(MAX_LINE_BYTES)}
    with EmbeddedBroker(settings, run_in="process") as broker:
        console.print(f"broker    listens on {broker.bootstrap}")
        began = time.monotonic()
        with Cluster(broker.bootstrap) as cluster:
            count = _produce_shown(console, cluster, lines)
        console.print(
            f"produced  {count:,} lines of {escape(printable(lines.title))} into topic {TOPIC!r} "
            f"in {time.monotonic() - began:.1f} s",
            soft_wrap=True,
        )
        _ingest(console, broker.bootstrap, lines.title, count, to)


def produce(cluster: Cluster, lines: Iterable[bytes], advance: Callable[[int], object]) -> int:
    """Write each line as a record whose key is its first field; return how many there were.

    :param advance: called now and then with the bytes read since the last call.
    """
    Admin(cluster).create_topic(TOPIC, PARTITIONS)
    count = passed = 0
    with Writer(cluster, TOPIC) as writer:
        for count, line in enumerate(lines, 1):
            writer.send(line, first_field(line))
            passed += len(line) + 1
            if not count % 1000:
                advance(passed)
                passed = 0
    advance(passed)
    return count


def _produce_shown(console: Console, cluster: Cluster, lines: Lines) -> int:
    columns = TextColumn("produced "), BarColumn(), DownloadColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=lines.size_bytes)
        return produce(cluster, lines, lambda size: progress.advance(task, size))


def _ingest(console: Console, bootstrap: str, title: str, count: int, to: str) -> None:
    """Topic -> Parquet -> facts.

    :raises SettingError: Spark failed, or has not got every line.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    from kafkatx.demo.report import print_report

    with Scratch() as scratch:
        try:
            facts, elapsed = _load(console, bootstrap, to, scratch.path)
        except (PySparkException, Py4JError) as error:
            first_line = str(error).strip().partition("\n")[0]
            path = scratch.keep(SPARK_LOG, "kafkatx-demo-spark-")
            raise SettingError(f"Spark failed: {first_line}; all that it said is in {path}") from error
    console.print(
        f"ingested  {facts.rows:,} rows with PySpark into Parquet in {elapsed:.1f} s: {to}\n", soft_wrap=True
    )
    print_report(console, title, facts)
    if facts.rows != count:
        raise SettingError(f"{count:,} lines were produced and {facts.rows:,} rows ingested")


def _load(console: Console, bootstrap: str, to: str, scratch: str) -> tuple[Facts, float]:
    """Topic -> Parquet -> facts, and how many seconds it took without Spark's start."""
    from kafkatx.demo.facts import count_facts

    log_path = os.path.join(scratch, SPARK_LOG)
    with console.status("Spark is at work"), spark_session(log_path, scratch=scratch) as spark:
        began = time.monotonic()
        topic = (
            spark.read.format("kafkatx")
            .option("kafka.bootstrap.servers", bootstrap)
            .option("subscribe", TOPIC)
            .load()
        )
        # Spark wants to make the directory, or to add to it; it is empty, so this is the same.
        topic.write.mode("append").parquet(to)
        return count_facts(spark.read.parquet(to)), time.monotonic() - began


if __name__ == "__main__":
    main(prog_name="python -m kafkatx.demo")
