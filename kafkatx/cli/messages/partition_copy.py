"""Fetch ranges of offsets of a topic and print them: ``kafkatx consume`` without a group."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING

from kafkatx.cli.output.progress import ProgressBar
from kafkatx.cli.output.renderer import Renderer
from kafkatx.cli.output.terminal import interactive

if TYPE_CHECKING:
    from kafkatx.blocking import Cluster
    from kafkatx.blocking.consumer.fetcher import Chunk

WRITE_BYTES = 1 << 20


def copy(
    cluster: Cluster,
    topic: str,
    ranges: dict[int, tuple[int, int | None]],
    rows: Renderer,
    count: int | None,
    out: IO[bytes],
    idle_s: float | None = None,
    isolation_level: int = 0,
) -> int:
    """Fetch, render and write until the ranges are read or *count* messages are written.

    :param idle_s: stop after this long without a message.
    :param isolation_level: 1: only committed messages.
    :return: the number of messages.
    :raises BrokenPipeError: the reader of *out* has gone.
    """
    from kafkatx.blocking.consumer.fetcher import Fetcher

    done = 0
    total = _total(ranges, count)
    enabled = None if total is not None and not interactive(sys.stdout) else False
    with ProgressBar(f"from {topic}", total, enabled=enabled) as bar:
        fetcher = Fetcher(cluster, topic, ranges, idle_s=idle_s, isolation_level=isolation_level)
        for chunk in fetcher.chunks():
            left = None if count is None else count - done
            written = _write_chunk(chunk, ranges[chunk.partition], rows, left, out)
            out.flush()
            bar.advance(written)
            done += written
            if done == count:
                break
    return done


def _write_chunk(
    chunk: Chunk, wanted: tuple[int, int | None], rows: Renderer, left: int | None, out: IO[bytes]
) -> int:
    """Write at most *left* messages of a chunk, batch by batch; return their number."""
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
    """Return the number of messages to come, if it is known; in compacted topics there may be fewer."""
    total = 0
    for start, end in ranges.values():
        if end is None:
            return count
        total += max(0, end - start)
    return total if count is None else min(total, count)
