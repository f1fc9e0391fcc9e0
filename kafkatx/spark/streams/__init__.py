"""Counting and joining what topics hold, in a few lines each: Structured Streaming under Kafka's names.

Every function takes DataFrames and gives one, batch or streaming, so that a computation is tried on what a
topic holds and then run on what comes. Nothing here reads or writes: sources and sinks are the caller's.

=====================  ======================================================================================
:func:`tumbling`       counts and sums in windows that follow each other
:func:`sliding`        the same in windows that overlap
:func:`session`        the same in windows that end when nothing came for a while
:func:`join_within`    two streams, where their times lie within an interval
:func:`join_table`     a stream and a table: Parquet, or :func:`latest` of a compacted topic
:func:`top`            the largest rows of each window
:func:`deduplicate`    the first record of each key
:func:`in_partitions`  counts and sums of a topic that is partitioned by what is counted, without a shuffle
=====================  ======================================================================================

Source: section 6 of the 2011 Kafka paper names these as what people do with their streams. Docs:
``docs/streams.md``.
"""

from kafkatx.spark.streams.deduplication import deduplicate
from kafkatx.spark.streams.joins import join_table, join_within, latest
from kafkatx.spark.streams.partitioned import in_partitions
from kafkatx.spark.streams.top_rows import top
from kafkatx.spark.streams.windows import session, sliding, tumbling

__all__ = [
    "deduplicate",
    "in_partitions",
    "join_table",
    "join_within",
    "latest",
    "session",
    "sliding",
    "top",
    "tumbling",
]
