"""``kafkatx log``: show, check and repair the files of a log. It needs no broker.

Exit codes: ``verify`` and ``repair`` end with 1 if a fault is left.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING

import click

from kafkatx.cli.options.list_format import json_option
from kafkatx.cli.output.progress import ProgressBar
from kafkatx.cli.output.terminal import interactive, say, show, show_json
from kafkatx.names import counted

if TYPE_CHECKING:
    from kafkatx.log.inspect.faults import Fault
    from kafkatx.log.inspect.logdir import Check
    from kafkatx.log.inspect.repair import Plan
    from kafkatx.log.inspect.rows import Row

FAULTY = 1

_compacted = click.option(
    "--compacted", is_flag=True, help="Allow gaps between offsets everywhere, as in a compacted topic."
)
_path = click.argument("path", metavar="DIR", type=click.Path(exists=True))


@click.group(
    epilog="""\b
Examples:
  kafkatx log dump /var/lib/kafkatx/orders-0 --records --limit 20
  kafkatx log verify /var/lib/kafkatx
  kafkatx log repair /var/lib/kafkatx --yes
""",
)
def log() -> None:
    """Show, check and repair the files of a log.

    DIR is one of a broker's log.dirs, the data directory of several brokers, the directory of a partition,
    or one file: .log, .index, .timeindex, .snapshot, or a checkpoint. Apache Kafka's files are read as well.
    """


@log.command(epilog="Example: kafkatx log dump /var/lib/kafkatx/orders-0 --records --limit 20")
@_path
@click.option("-r", "--records", is_flag=True, help="Print the records of each batch, too.")
@click.option("-i", "--indexes", is_flag=True, help="Print the indexes, too.")
@click.option(
    "-o",
    "--offset",
    metavar="OFFSET",
    type=click.IntRange(min=0),
    default=0,
    help="Offset to begin at: batches that end before it are left out.",
)
@click.option(
    "-l", "--limit", metavar="COUNT", type=click.IntRange(min=0), help="Number of rows to stop after."
)
@json_option
def dump(path: str, records: bool, indexes: bool, offset: int, limit: int | None, as_json: bool) -> None:
    """Print the contents of the files of DIR.

    Into a pipe each row is a line: its kind, then name=value, with tabs between them.
    """
    from kafkatx.cli.log.rows import printer
    from kafkatx.log.files import Files
    from kafkatx.log.inspect.dump import Dump
    from kafkatx.log.inspect.paths import paths_of_brokers
    from kafkatx.log.inspect.rows import KINDS

    contents = Dump(Files(), records, indexes, offset)
    rows: Iterator[Row] = chain.from_iterable(map(contents.rows, paths_of_brokers(path)))
    printer(as_json, interactive(sys.stdout))(rows if limit is None else islice(rows, limit), KINDS)


@log.command(epilog="Example: kafkatx log verify /var/lib/kafkatx --json")
@_path
@click.option(
    "-r", "--records", is_flag=True, help="Decompress and decode every record, too, which is slower."
)
@_compacted
@json_option
def verify(path: str, records: bool, compacted: bool, as_json: bool) -> int:
    """Check every batch, index, snapshot and checkpoint in DIR.

    Each fault is a line: the file, the byte in it, and the reason. Nothing is changed. A broker may be
    running; the data that it is writing is not checked. Exit code 1: there is a fault.
    """
    from kafkatx.log.files import Files
    from kafkatx.log.inspect.logdir import Check
    from kafkatx.log.inspect.paths import paths_of_brokers

    paths = paths_of_brokers(path)
    checks = [Check(Files(), each, compacted=compacted, deep=records) for each in paths]
    return max(_verify(check, as_json) for check in checks)


def _verify(check: Check, as_json: bool) -> int:
    """Print the faults of one path and a summary; return the exit code."""
    if check.held_by is not None:
        holder = f"is in use by a broker (pid {check.held_by})"
        say(f"{check.log_dir} {holder}: the data that it is writing is not checked")
    with ProgressBar("verify", check.size(), in_bytes=True) as bar:
        faults = _print_faults(check.faults(bar.advance), as_json)
    for note in check.notes:
        say(note)
    say(f"{check.path}: {_summary(check, faults)}")
    return FAULTY if faults else 0


def _print_faults(faults: Iterable[Fault], as_json: bool) -> int:
    """Print faults as they are found; return their number."""
    count = 0
    for fault in faults:
        count += 1
        if interactive(sys.stderr):
            click.echo("\r\x1b[K", err=True, nl=False)  # over the progress bar
        if as_json:
            fields = fault._asdict() | {"remedy": fault.remedy.value}
            show_json(fields)
        else:
            show(str(fault))
    return count


def _summary(check: Check, faults: int) -> str:
    tally = check.tally
    tally.sound.add(tally.lost)
    logs = f"{counted(check.partitions, 'partition')}, {counted(tally.segments, 'segment')}, {tally.sound}"
    return f"{logs}: {counted(faults, 'fault') if faults else 'no fault'}"


@log.command(epilog="Example: kafkatx log repair /var/lib/kafkatx/orders-0 --yes")
@_path
@click.option("-y", "--yes", is_flag=True, help="Do it; without this the plan is only shown.")
@_compacted
def repair(path: str, yes: bool, compacted: bool) -> int:
    """Show how to repair the faults in DIR; with --yes repair them.

    A log is cut before its first fault: the messages after it are lost to the broker, and new messages get
    their offsets. The bytes are kept beside the file, as FILE.cut-POSITION. Indexes, leader epochs and
    checkpoints are rebuilt. No broker may be running. Exit code 1: a fault is left.
    """
    from kafkatx.log.inspect.paths import paths_of_brokers

    return max(_repair(each, yes, compacted) for each in paths_of_brokers(path))


def _repair(path: str, yes: bool, compacted: bool) -> int:
    """Repair one log dir, or one partition; return the exit code."""
    from kafkatx.log.files import Files
    from kafkatx.log.inspect.logdir import Check
    from kafkatx.log.inspect.paths import Kind, kind_of, locked, log_dir_of
    from kafkatx.log.inspect.repair import execute, plans

    kind = kind_of(path)
    if kind not in (Kind.LOG_DIR, Kind.PARTITION):
        raise click.UsageError(f"{path} is a file: name its partition's directory, or the log dir")
    files = Files()
    with locked(log_dir_of(path, kind)):
        check = Check(files, path, compacted=compacted, ours=True)
        with ProgressBar("verify", check.size(), in_bytes=True) as bar:
            todo = list(plans(files, check, bar.advance))
        for plan in todo:
            _print_plan(plan)
        if not todo:
            show(f"{path}: no fault")
            return 0
        if not yes:
            say("nothing was changed; give --yes to do this")
            return FAULTY
        for plan in todo:
            execute(plan)
        left = _print_faults(Check(files, path, compacted=compacted, ours=True).faults(), as_json=False)
    say(f"done; {counted(left, 'fault') if left else 'no fault'} left")
    return FAULTY if left else 0


@log.command(epilog="Example: kafkatx log adopt /disk1/kafkatx /disk2/kafkatx --yes")
@click.argument(
    "paths", metavar="DIR...", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False)
)
@click.option("-y", "--yes", is_flag=True, help="Do it; without this the plan is only shown.")
@click.option(
    "--stray",
    "strays",
    multiple=True,
    metavar="NAME",
    help="Directory that was put aside and is taken, too; repeatable.",
)
@click.option("--strays", "all_strays", is_flag=True, help="Take all directories named ...-stray, too.")
@click.option("--empty", is_flag=True, help="Start partitions without a directory empty.")
@click.option(
    "--broker-id",
    metavar="ID",
    type=click.IntRange(min=0),
    help="Id of the broker, if no DIR has it.",
)
def adopt(
    paths: tuple[str, ...],
    yes: bool,
    strays: tuple[str, ...],
    all_strays: bool,
    empty: bool,
    broker_id: int | None,
) -> int:
    """Rebuild the cluster's state from partition directories.

    DIR... are all of the broker's log.dirs, in the order of that setting. Topics that the state lacks are
    created, with partitions up to the highest number found. Their configs are lost: they keep all records
    until retention is set again. A damaged state is renamed; a sound one is kept and completed. No broker may
    be running. Exit code 1: nothing was done.
    """
    from kafkatx.cli.log.adoption import Adoption

    with Adoption(paths, None if all_strays else strays, empty, broker_id) as adoption:
        for line in adoption.lines:
            click.echo(line)
        for said in (*adoption.notes, *adoption.problems):
            say(said)
        if adoption.problems:
            say("nothing was changed")
            return FAULTY
        if not adoption.lines:
            click.echo("the state has all partitions")
            return 0
        if not yes:
            say("nothing was changed; give --yes to do this")
            return FAULTY
        adoption.carry_out()
    say("done; the broker can be started")
    return 0


def _print_plan(plan: Plan) -> None:
    show(f"{os.path.abspath(plan.directory)}: {counted(plan.faults, 'fault')}")
    if plan.lost is not None:
        lost = plan.lost
        show(
            f"  the log will end at offset {plan.end_offset}; {lost.bytes:,} bytes go, and in them "
            f"{lost.batches:,} whole batches with {counted(lost.records, 'record')}"
        )
    for step in plan.steps:
        show(f"  {step.what}")
