"""The demonstration of the paper's deployment: starts everything, lets events pass, and audits them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import attrs
import click
from rich.console import Console
from rich.markup import escape

from kafkatx.demo.lines import open_lines
from kafkatx.demo.pipeline.deployment import FRONT_ENDS, WINDOW_MS, Deployment, Dropped
from kafkatx.demo.pipeline.events import LINES, SITE_TOPICS, line_events, site_events
from kafkatx.demo.pipeline.feed import feed
from kafkatx.demo.pipeline.progress import ProgressView, Stages
from kafkatx.demo.pipeline.report import delay_table, print_end, print_members, stage_delays
from kafkatx.demo.pipeline.tiers import Audit
from kafkatx.demo.pipeline.warehouse import Warehouse
from kafkatx.errors import KafkaTXError, SettingError
from kafkatx.scratch import Scratch
from kafkatx.spark.session import check_java, check_pyspark

FAILED, INTERRUPTED = 2, 130
EVENTS, PER_SECOND = 10_000, 500.0
LONGEST_S = 60.0
"""Lines of a file take at most about that long, at a higher rate if need be."""
DROPPED_NUMBER = 100
AUDIT_S, AUDIT_EVERY_S = 90.0, 1.0


@attrs.frozen
class Input:
    """The events to send; ``total`` is None if it is not known before the end."""

    title: str
    topics: tuple[str, ...]
    events: Iterable[tuple[str, bytes]]
    total: int | None
    per_second: float | None


@click.command()
@click.argument("file", required=False)
@click.option("--drop", is_flag=True, help="Drop one message in the mirror, by a filter.")
@click.option("--keep", metavar="DIR", help="New directory to keep logs, data and the table in.")
@click.option("--events", type=click.IntRange(min=1), default=EVENTS, help="Number of events without FILE.")
@click.option(
    "--rate",
    type=click.FloatRange(min=1),
    help=f"Events a second.  [default: {PER_SECOND:g}, or FILE in a minute]",
)
@click.option(
    "--window",
    "window_s",
    type=click.IntRange(1, 60),
    default=WINDOW_MS // 1000,
    show_default=True,
    help="Seconds in a window of the audit.",
)
def main(
    file: str | None, drop: bool, keep: str | None, events: int, rate: float | None, window_s: int
) -> None:
    """Run the deployment of the Kafka paper with the lines of FILE, or with made-up events.

    FILE is plain text; - is standard input. Exit code: 0 if every record has passed all tiers, 1 if the audit
    misses one or has one too many, 2 if something failed.
    """
    console = Console(highlight=False)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        check_parts()
        with opened(file, events, rate) as data, folder(keep) as path:
            status = run(console, data, path, drop, window_s * 1000)
        print_end(console, status, keep)
    except KafkaTXError as error:
        click.echo(f"Error: {error}", err=True)
        status = FAILED
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
        status = INTERRUPTED
    raise SystemExit(status)


def check_parts() -> None:
    """See whether Java, PySpark and kazoo are there.

    :raises SettingError: the message says how to install what is missing.
    """
    check_pyspark()
    check_java(os.environ)
    if find_spec("kazoo") is None:
        raise SettingError("this needs kazoo, which is not installed: pip install 'kafkatx[zookeeper]'")


@contextmanager
def opened(file: str | None, events: int, rate: float | None) -> Iterator[Input]:
    """Open the input.

    :raises SettingError: there is nothing to be read; the message is one line.
    """
    if file is None:
        yield Input("made-up events", SITE_TOPICS, site_events(events), events, rate or PER_SECOND)
        return
    total = None
    if os.path.isfile(file):
        with open_lines(file) as lines:
            total = sum(1 for _ in lines)
        rate = rate or max(PER_SECOND, total / LONGEST_S)
    with open_lines(file) as lines:
        yield Input(f"lines of {lines.title}", (LINES,), line_events(lines), total, rate)


@contextmanager
def folder(keep: str | None) -> Iterator[Path]:
    """Make the directory of everything; it is removed at the end, unless it has a name.

    :raises SettingError: it is there, or cannot be made.
    """
    if keep is None:
        with Scratch() as scratch:
            yield Path(scratch.path)
        return
    try:
        os.makedirs(keep)
    except OSError as error:
        raise SettingError(f"--keep {keep}: {(error.strerror or str(error)).lower()}") from None
    yield Path(keep).absolute()


def run(console: Console, data: Input, path: Path, drop: bool, window_ms: int) -> int:
    """Do all of it; return the exit status.

    :raises KafkaTXError: a program failed.
    """

    def tell(part: str, sentence: str, look: str) -> None:
        console.print(f"{part:<12}{escape(sentence)}", soft_wrap=True)
        if look:
            console.print(f"{'':<12}{escape(look)}", style="dim", soft_wrap=True)

    tell("folder", f"logs, data and the table are in {path}", "")
    dropped = Dropped(FRONT_ENDS[0], dropped_number(data.total)) if drop else None
    deployment = Deployment(path, data.topics, tell, dropped=dropped, window_ms=window_ms)
    try:
        deployment.start()
        warehouse = Warehouse(deployment.table)
        send(console, deployment, warehouse, data, 1 if drop else 0)
        status = show_audit(console, Audit(deployment.dc1, deployment.dc2))
        deployment.stop_readers()
        print_members(console, deployment)
        console.print()
        console.print(delay_table(stage_delays(deployment, warehouse)))
    finally:
        with _undisturbed(), console.status("stopping all programs"):
            deployment.close()
    return status


def dropped_number(total: int | None) -> int:
    """Return the number, at its front end, of the message to drop: one that surely comes."""
    return DROPPED_NUMBER if total is not None and total >= DROPPED_NUMBER * len(FRONT_ENDS) else 1


def send(console: Console, deployment: Deployment, warehouse: Warehouse, data: Input, dropped: int) -> None:
    """Send all events, and wait until all tiers have announced them; if that takes too long, go on.

    :raises ProgramFailed: a program has ended.
    """
    inputs = [front_end.stdin for front_end in deployment.front_ends]
    began_s = time.monotonic()
    with ProgressView(console, Stages(deployment, warehouse), data.total) as view:

        def passed(count: int) -> None:
            view.produced = count
            deployment.check()

        sent = feed(data.events, [stream for stream in inputs if stream], data.per_second, passed)
        for front_end in deployment.front_ends:
            front_end.finish()
        deployment.tell("sent", f"{sent:,} {data.title} in {time.monotonic() - began_s:.1f} s", "")
        audit, deadline_s = Audit(deployment.dc1, deployment.dc2), time.monotonic() + AUDIT_S
        while not audit.is_complete(sent, dropped) and time.monotonic() < deadline_s:
            deployment.check()
            time.sleep(AUDIT_EVERY_S)


def show_audit(console: Console, audit: Audit) -> int:
    """Show the table of the audit; return its exit status."""
    console.print(f"\nkafkatx {' '.join(audit.command())}", style="dim", soft_wrap=True)
    status = audit.show()
    console.print()
    return status


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ignore Ctrl-C and SIGTERM while programs are stopped."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, signal.SIG_IGN) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


if __name__ == "__main__":
    main(prog_name="python -m kafkatx.demo.pipeline")
