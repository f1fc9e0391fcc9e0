"""The surroundings of an ingestion of ``kafkatx ingest``: checks, Spark, signals, progress and the result."""

from __future__ import annotations

import logging
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import attrs
import click

from kafkatx.cli.output.progress import ProgressBar
from kafkatx.cli.output.terminal import interactive, print_rows, print_table, say
from kafkatx.cli.process.signals import Stop
from kafkatx.errors import SettingError
from kafkatx.names import counted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafkatx.spark.ingest.options import IngestOptions
    from kafkatx.spark.ingest.progress import Progress, Report
    from kafkatx.spark.options.options import Selection

SPARK_LOG = "spark.log"
KEPT_LOG = "kafkatx-ingest-spark-"
"""Prefix of the logs that are kept after an error."""

COLUMNS = ("topic", "partition#", "from#", "to#", "lag#")


def selection(topics: Sequence[str], pattern: str | None) -> Selection:
    """Return the topics to load.

    :raises click.UsageError: not exactly one of topics and pattern is given, or the pattern is wrong.
    """
    from kafkatx.spark.options.options import Subscribe, SubscribePattern

    if bool(topics) == (pattern is not None):
        raise click.UsageError("give --topic, once or more often, or --pattern")
    if pattern is None:
        return Subscribe(tuple(dict.fromkeys(topics)))
    try:
        re.compile(pattern)
    except re.error as error:
        raise click.UsageError(f"--pattern {pattern}: not a regular expression: {error}") from None
    return SubscribePattern(pattern)


def ingest_shown(
    options: IngestOptions, master: str, conf: Mapping[str, str], quiet: bool
) -> tuple[Report, bool]:
    """Start Spark, ingest, and show the progress; return the report, and True if a signal stopped it.

    :raises KafkaTXError: it failed. If Spark may be the cause, the message names the file with its output.
    """
    from kafkatx.spark.ingest import ingest

    stop = Stop("stopping after the running commit; again: stop now, and drop it")
    with logged() as scratch, spark(scratch, master, conf, quiet) as session, stop.listening():
        display = ProgressDisplay(options, quiet)
        with display.bar:
            report = ingest(session, options, display.update, stop.event)
    return report, stop.event.is_set()


@contextmanager
def logged() -> Iterator[str]:
    """Yield a directory for Spark's temporary files and its log.

    It is deleted at the end or, if this process is killed, by the next start. The log is kept after errors
    that it may explain. Warnings of kafkatx go to stderr, one line each.
    """
    from kafkatx.scratch import Scratch
    from kafkatx.spark.ingest.errors import IngestError

    with Scratch() as scratch:
        try:
            with logging_to(os.path.join(scratch.path, SPARK_LOG)):
                yield scratch.path
        except IngestError as error:
            if type(error) is not IngestError:  # its subclasses explain themselves
                raise
            path = scratch.keep(SPARK_LOG, KEPT_LOG)
            raise IngestError(f"{error} (Spark's own output is in {path})") from error
        except spark_errors() as error:
            first_line = str(error).strip().partition("\n")[0]
            path = scratch.keep(SPARK_LOG, KEPT_LOG)
            raise SettingError(f"Spark failed: {first_line}; its output is in {path}") from error


@contextmanager
def logging_to(path: str) -> Iterator[None]:
    """Send kafkatx's warnings to stderr, and the log of other libraries (py4j) to a file."""
    ours, root = logging.getLogger("kafkatx"), logging.getLogger()
    to_stderr, to_file = EchoHandler(logging.WARNING), logging.FileHandler(path)
    ours.addHandler(to_stderr)
    root.addHandler(to_file)
    try:
        yield
    finally:
        ours.removeHandler(to_stderr)
        root.removeHandler(to_file)
        to_file.close()


class EchoHandler(logging.Handler):
    """A log handler that prints a line on stderr for each message."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one message."""
        say("kafkatx: " + " ".join(record.getMessage().split()))


@contextmanager
def spark(scratch: str, master: str, conf: Mapping[str, str], quiet: bool) -> Iterator[SparkSession]:
    """Yield a session with its log and temporary files in *scratch*; print that it starts."""
    from kafkatx.spark.session import spark_session

    began = time.monotonic()
    if not quiet:
        say(f"starting Spark ({master}) ...")
    log_path = os.path.join(scratch, SPARK_LOG)
    with spark_session(log_path, master, "kafkatx ingest", conf, scratch) as session:
        if not quiet:
            say(f"Spark {session.version} started in {time.monotonic() - began:.1f} s")
        yield session


def spark_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions of PySpark; none if it cannot be imported."""
    with suppress(ImportError):
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        return (Py4JError, PySparkException)
    return ()


class ProgressDisplay:
    """The display of the progress: a bar at a terminal, else with --follow a line for each commit."""

    def __init__(self, options: IngestOptions, quiet: bool) -> None:
        seen = interactive(sys.stderr)
        self.bar = ProgressBar(f"into {options.to}", None, enabled=seen and not quiet)
        self._lines = options.follow and not seen and not quiet
        self._last: Progress | None = None

    def update(self, progress: Progress) -> None:
        """Show the progress."""
        self.bar.reach(progress.records_done, progress.records_total)
        last, self._last = self._last, progress
        if self._lines and last is not None and progress.commit > last.commit:
            say(
                f"commit {last.commit}: {counted(progress.records_done, 'record')} so far, lag"
                f" {progress.lag:,}"
            )


def summary(report: Report) -> dict[str, object]:
    """Return the report as an object of JSON."""
    partitions = [partition._asdict() for partition in report.partitions]
    return {**attrs.asdict(report, recurse=False), "partitions": partitions}


def print_report(report: Report, to: str) -> None:
    """Print a line on stderr, and on stdout a table, or into a pipe a line for each partition."""
    say(summary_line(report, to))
    if interactive(sys.stdout):
        print_table(COLUMNS, report.partitions)
    else:
        print_rows(report.partitions)


def summary_line(report: Report, to: str) -> str:
    """Return one line about what was loaded."""
    if not report.commits:
        return f"nothing new: {to} has all records"
    letters = f"{report.dead:,} dead letters, " if report.dead else ""
    return (
        f"{counted(report.rows, 'row')}, {letters}{report.bytes:,} bytes in {counted(report.files, 'file')}, "
        f"{counted(report.commits, 'commit')}: {to}"
    )
