"""``kafkatx consume``: print the messages of a topic, or a group's share of several."""

from __future__ import annotations

import sys
from functools import partial
from typing import IO, TYPE_CHECKING

import click

from kafkatx.cli.messages.group_consume import consume_group
from kafkatx.cli.options.cluster import client_settings, cluster_options, connect
from kafkatx.cli.options.positions import BEGINNING, END, BadPosition, Position, parse, resolve
from kafkatx.cli.output.renderer import (
    BadFormat,
    Clean,
    FormatRenderer,
    JsonRenderer,
    Renderer,
    ValueRenderer,
    as_is,
    unescape,
)
from kafkatx.cli.output.terminal import ProgressBar, interactive, readable, stdout_bytes

if TYPE_CHECKING:
    from kafkatx.blocking import Cluster
    from kafkatx.blocking.consumer.fetcher import Chunk

WRITE_BYTES = 1 << 20

FORMAT_HELP = """\b
The letters of FORMAT (kcat's):
  %t topic      %p partition       %o offset
  %k key        %K key's length    %s value      %S value's length
  %T timestamp in ms               %h headers    %R value's length, binary
  %% \\n \\r \\t \\xNN
\b
The positions of -o:
  beginning  end  OFFSET  -COUNT (the last ones)
  s@MS (start at a time in ms)     e@MS (stop before it)
"""


@click.command(epilog=FORMAT_HELP)
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC...")
@click.option(
    "-G",
    "--group",
    metavar="GROUP",
    help="Join this group: share the topics with its other members, and commit what is printed.",
)
@click.option(
    "-o",
    "--offset",
    "positions",
    metavar="POSITION",
    multiple=True,
    help="Where to start; see below. Else: beginning.",
)
@click.option("-c", "--count", type=click.IntRange(min=0), help="Stop after so many messages.")
@click.option("-e", "--exit", "stop_at_end", is_flag=True, help="Stop at the end that there is now.")
@click.option(
    "-p",
    "--partition",
    "wanted",
    type=click.IntRange(min=0),
    multiple=True,
    help="Only this; repeatable.",
)
@click.option("-f", "--format", "format_text", metavar="FORMAT", help="How to print a message: see below.")
@click.option("-J", "--json", "as_json", is_flag=True, help="One JSON object a message.")
@click.option("-K", "--key-delimiter", metavar="SEP", help="Print the key and this before each value.")
@click.option("-D", "--delimiter", metavar="SEP", default="\\n", help="Print this after each message. [\\n]")
@click.option(
    "--audit-interval-ms",
    metavar="MS",
    type=click.IntRange(0, 86_400_000),
    default=0,
    help="With a group: announce so often how much was printed, for kafkatx audit --group.",
)
@click.option("--audit-topic", default="kafkatx-audit", show_default=True, help="Where that is announced.")
@cluster_options
def consume(
    topics: tuple[str, ...],
    group: str | None,
    positions: tuple[str, ...],
    count: int | None,
    stop_at_end: bool,
    wanted: tuple[int, ...],
    format_text: str | None,
    as_json: bool,
    key_delimiter: str | None,
    delimiter: str,
    audit_interval_ms: int,
    audit_topic: str,
    bootstrap: str,
    timeout: float,
) -> None:
    """Print the messages of TOPIC: of all partitions, as they come, and those still to come.

    With a group there may be several topics, and -o (beginning or end) says where to start in what the group
    has not committed yet.
    """
    topic = topics[0]
    try:
        start, stop_ms = parse(positions)
        rows = renderer(topic, format_text, key_delimiter, delimiter)
    except BadPosition as error:
        raise click.UsageError(f"--offset {error}") from error
    except BadFormat as error:
        raise click.UsageError(f"--format {error}") from error
    if as_json and format_text is not None:
        raise click.UsageError("--json and --format exclude each other")
    if group is not None:
        _check_group(start, stop_ms, wanted)
        make = (
            None if as_json else partial(renderer, format_text=format_text, key=key_delimiter, end=delimiter)
        )
        audit = {"audit.interval.ms": audit_interval_ms, "audit.topic": audit_topic}
        settings = {**client_settings(bootstrap, timeout), "group.id": group, **audit}
        consume_group(settings, topics, start == END, make, count, stop_at_end, stdout_bytes())
        return
    if audit_interval_ms:
        raise click.UsageError("--audit-interval-ms: only a group's members announce what they read (-G)")
    if len(topics) > 1:
        raise click.UsageError("several topics: only a group reads them (-G), or `kafkatx tail`")
    with connect(bootstrap, timeout) as cluster:
        state = cluster.topic(topic)
        missing = set(wanted) - set(state.partitions)
        if missing:
            known = len(state.partitions)
            raise click.UsageError(f"topic {topic} has no partition {min(missing)}: it has 0 to {known - 1}")
        if as_json:
            rows = JsonRenderer(topic, {p: partition.leader for p, partition in state.partitions.items()})
        partitions = sorted(set(wanted)) or list(state.partitions)
        ranges = resolve(cluster, topic, partitions, start, stop_ms, stop_at_end)
        if count != 0:
            copy(cluster, topic, ranges, rows, count, stdout_bytes())


def _check_group(start: Position, stop_ms: int | None, wanted: tuple[int, ...]) -> None:
    """What a group decides cannot be asked for.

    :raises click.UsageError: it is.
    """
    if start not in (BEGINNING, END) or stop_ms is not None:
        raise click.UsageError(
            "--offset: with a group there are beginning and end; or `kafkatx groups reset`"
        )
    if wanted:
        raise click.UsageError("--partition and --group exclude each other: a group divides the partitions")


def renderer(
    topic: str, format_text: str | None, key: str | None, end: str, clean: Clean | None = None
) -> Renderer:
    """How messages of a topic are printed: by the format, else (the key and its delimiter), value and end.

    :param clean: what a record's bytes pass through on their way to a terminal; None: all but newlines and
        tabs is escaped. Anywhere else bytes are printed as they are.
    :raises BadFormat: a letter of the format stands for nothing.
    """
    chosen = (clean or readable) if interactive(sys.stdout) else as_is
    if format_text is not None:
        return FormatRenderer(format_text, topic, chosen)
    if key is None:
        return ValueRenderer(unescape(end), chosen)
    literal = [text.replace("%", "%%") for text in (key, end)]
    return FormatRenderer(f"%k{literal[0]}%s{literal[1]}", topic, chosen)


def copy(
    cluster: Cluster,
    topic: str,
    ranges: dict[int, tuple[int, int | None]],
    rows: Renderer,
    count: int | None,
    out: IO[bytes],
) -> None:
    """Fetch, render and write until the ranges are read or *count* messages are written.

    :raises BrokenPipeError: the reader of *out* has gone.
    """
    from kafkatx.blocking.consumer.fetcher import Fetcher

    left = count
    total = _total(ranges, count)
    enabled = None if total is not None and not interactive(sys.stdout) else False
    with ProgressBar(f"from {topic}", total, enabled=enabled) as bar:
        for chunk in Fetcher(cluster, topic, ranges).chunks():
            written = _write_chunk(chunk, ranges[chunk.partition], rows, left, out)
            out.flush()
            bar.advance(written)
            if left is not None:
                left -= written
                if not left:
                    return


def _write_chunk(
    chunk: Chunk, wanted: tuple[int, int | None], rows: Renderer, left: int | None, out: IO[bytes]
) -> int:
    """Write at most *left* messages of a chunk, batch by batch; return how many it were."""
    from kafkatx.clientcore.consumer.columns import Columns, append_batch
    from kafkatx.records.conversion import batches

    written, pieces, size = 0, [], 0
    for span in batches(chunk.data):
        columns = Columns.empty()
        append_batch(
            chunk.data[span.position : span.position + span.size], columns, with_headers=rows.wants_headers
        )
        columns.trim(0, *wanted)
        if left is not None:
            columns.truncate(left - written)
        written += len(columns.offsets)
        pieces.append(rows.render(chunk.partition, columns))
        size += len(pieces[-1])
        if size >= WRITE_BYTES or written == left:
            out.write(b"".join(pieces))
            pieces, size = [], 0
        if written == left:
            break
    out.write(b"".join(pieces))
    return written


def _total(ranges: dict[int, tuple[int, int | None]], count: int | None) -> int | None:
    """How many messages there are to come, if that is known; with compaction there may be fewer."""
    total = 0
    for start, end in ranges.values():
        if end is None:
            return count
        total += max(0, end - start)
    return total if count is None else min(total, count)
