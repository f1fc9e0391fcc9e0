"""``kafkatx log``: look at the files of a log, check them, mend them. No broker is asked.

Exit codes: of ``verify`` and ``repair`` 1 if there is a fault (left).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import click

from kafkatx.cli.terminal import ProgressBar, interactive

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
    from kafkatx.cli.log_rows import printer
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
            click.echo(json.dumps(fields, ensure_ascii=False))
        else:
            click.echo(str(fault))
    return count


def _say(text: str) -> None:
    click.echo(text, err=True)


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
    from kafkatx.log.inspect.places import Kind, kind_of, locked, log_dir_of
    from kafkatx.log.inspect.repair import carry_out, plans

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
            click.echo(f"{path}: no fault")
            return 0
        if not yes:
            _say("nothing was changed; give --yes to do this")
            return FAULTY
        for plan in todo:
            carry_out(plan)
        left = _print_faults(Check(files, path, compacted=compacted, ours=True).faults(), as_json=False)
    _say(f"done; {_count(left, 'fault') if left else 'no fault'} left")
    return FAULTY if left else 0


def _print_plan(plan: Plan) -> None:
    click.echo(f"{os.path.abspath(plan.directory)}: {_count(plan.faults, 'fault')}")
    if plan.lost is not None:
        lost = plan.lost
        click.echo(
            f"  the log will end at offset {plan.end_offset}; {lost.bytes:,} bytes go, and in them "
            f"{lost.batches:,} whole batches with {lost.records:,} records"
        )
    for step in plan.steps:
        click.echo(f"  {step.what}")
