"""``kafkatx records delete``: delete the oldest records of partitions."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING

import click

from kafkatx.cli.options.cluster import cluster_options, connect, group_options
from kafkatx.cli.options.kafka_names import Commands, Option
from kafkatx.cli.options.list_format import listing_options
from kafkatx.cli.options.scope import parse_scope, scope_options
from kafkatx.cli.output.terminal import confirm, interactive, print_rows, print_table, say, show_json
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition

if TYPE_CHECKING:
    from kafkatx.blocking import Cluster

FAILED = 1
END = -1
"""DeleteRecords' offset for all records that there are."""

MOST_NAMED = 5
"""Partitions that the question names."""


@click.group(cls=Commands, epilog="Example: kafkatx records delete -t orders -p 0 --before 1000")
@group_options()
def records() -> None:
    """Delete the oldest records of partitions."""


def _offset(ctx: click.Context, option: click.Parameter, text: str | None) -> int | None:
    if text is None:
        return None
    if text in ("end", "latest", "-1"):
        return END
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise click.BadParameter(f"{text}: give an offset, or end for all records", ctx, option)
    return int(text)


@records.command(
    epilog="""\b
Examples:
  kafkatx records delete -t orders -p 0 --before 1000
  kafkatx records delete -t orders --before end --yes
  kafkatx records delete --file offsets.json --yes
where offsets.json is
  {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "offset": 1000}]}
"""
)
@scope_options
@click.option(
    "--before",
    metavar="OFFSET|end",
    callback=_offset,
    help="First offset that is kept; end deletes all records that there are now.",
)
@click.option(
    "--file",
    "source",
    cls=Option,
    aliases=["--offset-json-file"],
    type=click.File("r", encoding="utf-8"),
    help="JSON file with topics, partitions and offsets, as kafka-delete-records.sh reads it.",
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@listing_options
@cluster_options
def delete(
    topics: tuple[str, ...],
    partitions: tuple[int, ...],
    before: int | None,
    source: IO[str] | None,
    yes: bool,
    as_json: bool,
    header: bool,
    bootstrap: str,
    timeout: float,
) -> int:
    """Delete the records before an offset.

    Shows the first offset that each partition has then. Exit code 1: a partition kept its records.

    \b
    Into a pipe, a line for each partition, with tabs between the fields:
      topic partition earliest
    """
    scope = parse_scope(topics, partitions)
    if (source is None) == (before is None) or (source is None) != bool(scope):
        raise click.UsageError("give --topic and --before, or --file alone")
    if before not in (None, END) and not all(scope.values()):
        raise click.UsageError("--before OFFSET is for one partition: give --partition, too")
    with connect(bootstrap, timeout) as cluster:
        if source is None:
            wanted = _in_scope(cluster, scope, END if before is None else before)
        else:
            wanted = parse_offsets(source.read())
        confirm(_question(wanted), yes)
        done, failed = _delete(cluster, wanted)
    _print(done, as_json, header)
    return FAILED if failed else 0


def _in_scope(cluster: Cluster, scope: Mapping[str, set[int]], offset: int) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic, number): offset
        for topic, numbers in scope.items()
        for number in sorted(numbers or cluster.partitions(topic))
    }


def parse_offsets(text: str) -> dict[TopicPartition, int]:
    """Read the JSON of kafka-delete-records.sh.

    :raises click.UsageError: it is something else, or names a partition twice.
    """
    try:
        document = json.loads(text)
        if document.get("version", 1) != 1:
            raise click.UsageError(f"--file: version {document['version']} is not known, only 1")
        found: dict[TopicPartition, int] = {}
        for entry in document["partitions"]:
            topic, partition, offset = entry["topic"], entry["partition"], entry["offset"]
            if not (isinstance(topic, str) and _is_int(partition, 31) and _is_int(offset, 63)):
                raise click.UsageError(
                    f"--file: {json.dumps(entry)}: a name and two whole numbers are needed"
                )
            at = TopicPartition(topic, partition)
            if at in found:
                raise click.UsageError(f"--file: {topic} [{partition}] is there twice")
            found[at] = offset
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"--file is not JSON: {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        example = '{"version": 1, "partitions": [{"topic": "t", "partition": 0, "offset": 10}]}'
        raise click.UsageError(f"--file has another form than {example}") from error
    if not found:
        raise click.UsageError("--file names no partition")
    return found


def _is_int(value: object, bits: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and END <= value < 1 << bits


def _question(wanted: Mapping[TopicPartition, int]) -> str:
    named = [
        f"{at.topic} [{at.partition}] " + ("(all)" if offset == END else f"before offset {offset}")
        for at, offset in list(wanted.items())[:MOST_NAMED]
    ]
    others = len(wanted) - len(named)
    return f"Delete the records of {', '.join(named)}{f' and {others} other partitions' if others else ''}?"


def _delete(cluster: Cluster, wanted: Mapping[TopicPartition, int]) -> tuple[list[tuple[object, ...]], int]:
    """Delete; return a row for each partition that was cut, and the number of those that were not."""
    from kafkatx.blocking import Admin

    admin, failed = Admin(cluster), 0
    done: list[tuple[object, ...]] = []
    for at, offset in wanted.items():
        try:
            first = admin.delete_records(at.topic, {at.partition: offset})[at.partition]
        except RequestError as error:  # one partition's; if no broker answers, the command ends
            failed += 1
            say(f"kafkatx: {_reason(cluster, at, offset, error)}")
        else:
            done.append((*at, first))
    return done, failed


def _reason(cluster: Cluster, at: TopicPartition, offset: int, error: RequestError) -> str:
    if error.code is not ErrorCode.OFFSET_OUT_OF_RANGE:
        return str(error)
    end = cluster.offsets(at.topic, {at.partition: -1})[at.partition][0]
    return f"{at.topic} [{at.partition}] ends at offset {end}: {offset} is beyond it, nothing was deleted"


def _print(rows: list[tuple[object, ...]], as_json: bool, header: bool) -> None:
    columns = ["topic", "partition#", "earliest#"]
    if as_json:
        for topic, partition, earliest in rows:
            show_json({"topic": topic, "partition": partition, "earliest": earliest})
    elif not interactive(sys.stdout):
        print_rows(rows, columns if header else ())
    elif rows:
        print_table(columns, rows)
