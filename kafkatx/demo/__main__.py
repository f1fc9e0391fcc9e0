"""The demonstration: a cluster, a topic, a killed broker, PySpark, Parquet, a plot, and the console.

A program, which nothing imports: like the other programs it stands on the top floor, and may start brokers.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from kafkatx.blocking import Cluster
from kafkatx.demo.cluster import COPIES, GROUP, TOPIC, Kill, Readers, make_cluster, produce, send_again
from kafkatx.demo.lines import Lines, open_lines
from kafkatx.errors import KafkaTXError, SettingError
from kafkatx.names import counted, printable
from kafkatx.scratch import Scratch
from kafkatx.spark.session import check_java, spark_session
from kafkatx.testing import EmbeddedCluster

if TYPE_CHECKING:
    from kafkatx.demo.facts import Facts

SPARK_LOG = "spark.log"
KEPT_LINES = 10_000
"""Lines that are sent again while somebody looks around."""

PAUSE_S = 0.05
READ_S = 60.0


@click.command()
@click.argument("file", required=False)
@click.option("--to", metavar="DIR", help="Directory for the Parquet files; new or empty.")
@click.option(
    "--brokers", type=click.IntRange(1, 9), default=3, show_default=True, help="Brokers of the cluster."
)
@click.option(
    "--stay/--no-stay",
    default=None,
    help="Keep the cluster until Ctrl-C, with lines that are sent again.  [default: at a terminal]",
)
def main(file: str | None, to: str | None, brokers: int, stay: bool | None) -> None:
    """Send the lines of FILE (plain text; - is standard input) through a cluster and PySpark to Parquet.

    On the way a broker is killed. Then tell what was in the lines, and where to look. Without FILE, take the
    history of the git repository that this is run in.
    """
    console = Console(highlight=False)
    try:
        check_java(os.environ)
        with open_lines(file) as lines:
            run(console, lines, target(to), brokers, sys.stdout.isatty() if stay is None else stay)
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


def run(console: Console, lines: Lines, to: str, brokers: int, stay: bool) -> None:
    """Do all of it, telling each step.

    :raises KafkaTXError: a step failed.
    """
    with make_cluster(brokers) as cluster:
        first = next(iter(cluster.brokers.values()))
        console.print(f"cluster   {counted(brokers, 'broker')} at {cluster.bootstrap}")
        console.print(f"console   {first.http}/console/", soft_wrap=True)
        kept: deque[bytes] = deque(maxlen=KEPT_LINES)
        count = _pass_through(console, cluster, lines, kept)
        picture = _ingest(console, cluster.bootstrap, lines.title, count, to)
        _show_links(console, first.http if stay else None, to, picture)
        if stay:
            _stay(console, cluster, kept)


def _pass_through(console: Console, cluster: EmbeddedCluster, lines: Lines, kept: deque[bytes]) -> int:
    """Write the lines, while a group reads them; return how many there are.

    :raises KafkaTXError: lines could not be written, or were not read.
    """
    began_s = time.monotonic()
    copies = min(COPIES, len(cluster.brokers))
    kill = Kill(cluster, lambda text: console.print(text, soft_wrap=True))
    columns = TextColumn("produced "), BarColumn(), DownloadColumn()
    with (
        Cluster(cluster.bootstrap) as client,
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress,
    ):
        task = progress.add_task("", total=lines.size_bytes)
        count = produce(client, _keep(lines, kept), copies, kill, lambda size: progress.advance(task, size))
    console.print(
        f"produced  {count:,} lines of {escape(printable(lines.title))} into topic {TOPIC!r} "
        f"({counted(copies, 'copy')}) "
        f"in {time.monotonic() - began_s:.1f} s",
        soft_wrap=True,
    )
    with Readers(cluster.bootstrap) as readers:
        if not readers.wait(count, READ_S):
            raise SettingError(f"{count:,} lines were produced, and group {GROUP!r} read {readers.count:,}")
    console.print(f"consumed  {readers.count:,} lines by group {GROUP!r}: every one, and each once")
    return count


def _keep(lines: Lines, kept: deque[bytes]) -> Iterator[bytes]:
    for line in lines:
        kept.append(line)
        yield line


def _show_links(console: Console, url: str | None, to: str, picture: str | None) -> None:
    """Tell what can be looked at; *url* is None if the cluster ends now."""
    console.print("\nTo look at:")
    if url is not None:
        _show_link(console, f"{url}/console/", "the cluster")
        _show_link(console, f"{url}/console/#/topics/{TOPIC}/messages", "its messages")
        _show_link(console, f"{url}/console/#/groups/{GROUP}", "who reads them, and how far behind")
        _show_link(console, f"{url}/metrics", "its metrics, for Prometheus")
    _show_link(console, to, "the table, in Parquet")
    if picture is not None:
        _show_link(console, picture, "its plot")


def _show_link(console: Console, address: str, what: str) -> None:
    console.print(f"  {what}: {escape(printable(address))}", soft_wrap=True)


def _stay(console: Console, cluster: EmbeddedCluster, kept: deque[bytes]) -> None:
    """Send lines again, which a group reads, until Ctrl-C."""
    console.print("\nLines are sent again, for something to see. Ctrl-C ends it.")
    with Readers(cluster.bootstrap):
        try:
            while True:
                send_again(cluster.bootstrap, kept or [b""], PAUSE_S)
        except KeyboardInterrupt:
            console.print("stopped")


def _ingest(console: Console, bootstrap: str, title: str, count: int, to: str) -> str | None:
    """Topic -> Parquet -> facts; return the path of their plot, None without one.

    :raises SettingError: Spark failed, or has not got every line.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    from kafkatx.demo.picture import plot
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
    return plot(facts, printable(title), to)


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
