"""``kafkatx log``: look at the files of a log, check them, mend them. No broker is asked.

Exit codes: of ``verify`` and ``repair`` 1 if there is a fault (left).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import click

from kafkatx.cli.output.progress import ProgressBar
from kafkatx.cli.output.terminal import interactive, say, show, show_json

if TYPE_CHECKING:
    from kafkatx.log.inspect.faults import Fault
    from kafkatx.log.inspect.logdir import Check
    from kafkatx.log.inspect.repair import Plan
    from kafkatx.log.inspect.rows import Row

FAULTY = 1

_compacted = click.option(
    "--compacted", is_flag=True, help="The topic is compacted: offsets may have gaps anywhere."
)
_json = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
_path = click.argument("path", metavar="DIR", type=click.Path(exists=True))


@click.group()
def log() -> None:
    """Look at the files of a log, check them, mend them.

    DIR is one of a broker's log.dirs, the directory of a partition in it, or one file: .log, .index,
    .timeindex, .snapshot, or a checkpoint. Apache Kafka's files are read as well.
    """


@log.command()
@_path
@click.option("-r", "--records", is_flag=True, help="Also the records of each batch.")
@click.option("-i", "--indexes", is_flag=True, help="Also the indexes of a partition's segments.")
@click.option(
    "-o", "--offset", type=click.IntRange(min=0), default=0, help="Leave out what ends before this offset."
)
@click.option("-l", "--limit", type=click.IntRange(min=0), help="Stop after so many rows.")
@_json
def dump(path: str, records: bool, indexes: bool, offset: int, limit: int | None, as_json: bool) -> None:
    """Print what is in the files of DIR.

    At a terminal: tables. Else a line a row: its kind, then name=value, divided by tabs.
    """
    from kafkatx.cli.log.rows import printer
    from kafkatx.log.files import Files
    from kafkatx.log.inspect.dump import Dump
    from kafkatx.log.inspect.rows import KINDS

    rows: Iterator[Row] = Dump(Files(), records, indexes, offset).rows(path)
    printer(as_json, interactive(sys.stdout))(rows if limit is None else islice(rows, limit), KINDS)


@log.command()
@_path
@click.option("-r", "--records", is_flag=True, help="Decompress and decode every record, too: slower.")
@_compacted
@_json
def verify(path: str, records: bool, compacted: bool, as_json: bool) -> int:
    """Check every batch, index, snapshot and checkpoint in DIR.

    Each fault is a line: the file, the byte in it, and what is wrong. Nothing is changed. A broker may be
    running: what it is writing at the moment is not judged. Exit code 1: there is a fault.
    """
    from kafkatx.log.files import Files
    from kafkatx.log.inspect.logdir import Check

    check = Check(Files(), path, compacted=compacted, deep=records)
    if check.held_by is not None:
        _say(f"{check.log_dir} is in use by a broker (pid {check.held_by}): what it is writing is not judged")
    with ProgressBar("verify", check.size(), in_bytes=True) as bar:
        faults = _print_faults(check.faults(bar.advance), as_json)
    for note in check.notes:
        _say(note)
    _say(_summary(check, faults))
    return FAULTY if faults else 0


def _print_faults(faults: Iterable[Fault], as_json: bool) -> int:
    """Print faults as they are found; return how many it were."""
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


def _say(text: str) -> None:
    say(text)


def _summary(check: Check, faults: int) -> str:
    tally = check.tally
    tally.sound.add(tally.lost)
    logs = f"{_count(check.partitions, 'partition')}, {_count(tally.segments, 'segment')}, {tally.sound}"
    return f"{logs}: {_count(faults, 'fault') if faults else 'no fault'}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


@log.command()
@_path
@click.option("-y", "--yes", is_flag=True, help="Do it; otherwise only say what would be done.")
@_compacted
def repair(path: str, yes: bool, compacted: bool) -> int:
    """Say how the faults in DIR can be mended, and with --yes do it.

    A log is cut before its first fault: what follows is lost to the broker, and new messages get its
    offsets. The bytes are kept beside the file, as FILE.cut-POSITION. Indexes, leader epochs and checkpoints
    are written anew. No broker may be running. Exit code 1: a fault is left.
    """
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
            _say("nothing was changed; give --yes to do this")
            return FAULTY
        for plan in todo:
            execute(plan)
        left = _print_faults(Check(files, path, compacted=compacted, ours=True).faults(), as_json=False)
    _say(f"done; {_count(left, 'fault') if left else 'no fault'} left")
    return FAULTY if left else 0


@log.command()
@click.argument(
    "paths", metavar="DIR...", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False)
)
@click.option("-y", "--yes", is_flag=True, help="Do it; otherwise only say what would be done.")
@click.option(
    "--stray",
    "strays",
    multiple=True,
    metavar="NAME",
    help="Also a directory that was put aside, by its name.",
)
@click.option("--strays", "all_strays", is_flag=True, help="Also all directories that are named ...-stray.")
@click.option("--empty", is_flag=True, help="Partitions whose directories are missing start anew, empty.")
@click.option("--broker-id", type=click.IntRange(min=0), help="The broker's id, where no DIR says it.")
def adopt(
    paths: tuple[str, ...],
    yes: bool,
    strays: tuple[str, ...],
    all_strays: bool,
    empty: bool,
    broker_id: int | None,
) -> int:
    """Rebuild the cluster's state from the directories of the partitions.

    DIR... are all of the broker's log.dirs, in the order of that setting. Topics that the state does not know
    are made with as many partitions as the highest number says. Their configs are lost: they keep all
    records until you say otherwise. A damaged state is renamed; one that is sound stays, and is added to. No
    broker may be running. Exit code 1: nothing was done.
    """
    from kafkatx.cli.log.adoption import Adoption

    with Adoption(paths, None if all_strays else strays, empty, broker_id) as adoption:
        for line in adoption.lines:
            click.echo(line)
        for said in (*adoption.notes, *adoption.problems):
            _say(said)
        if adoption.problems:
            _say("nothing was changed")
            return FAULTY
        if not adoption.lines:
            click.echo("the state has everything that is there")
            return 0
        if not yes:
            _say("nothing was changed; give --yes to do this")
            return FAULTY
        adoption.carry_out()
    _say("done; the broker can be started")
    return 0


def _print_plan(plan: Plan) -> None:
    show(f"{os.path.abspath(plan.directory)}: {_count(plan.faults, 'fault')}")
    if plan.lost is not None:
        lost = plan.lost
        show(
            f"  the log will end at offset {plan.end_offset}; {lost.bytes:,} bytes go, and in them "
            f"{lost.batches:,} whole batches with {lost.records:,} records"
        )
    for step in plan.steps:
        show(f"  {step.what}")
