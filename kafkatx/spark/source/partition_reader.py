"""The work of one Spark task: an offset range as Spark's input partition, and the function that reads it.

Batch and stream readers share both. A :class:`TopicRange` is made on the driver and pickled to a worker.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from kafkatx.spark.offsets import OffsetRange
from kafkatx.spark.one_sentence import one_sentence
from kafkatx.spark.options.options import SourceOptions

if TYPE_CHECKING:
    from pyarrow import RecordBatch


class TopicRange(InputPartition):  # type: ignore[misc]  # pyspark is not type-checked (pyproject.toml)
    """The offsets that one task reads."""

    def __init__(self, wanted: OffsetRange) -> None:
        super().__init__(wanted)
        self.value: OffsetRange | None


def read_partition(options: SourceOptions, partition: TopicRange) -> Iterator[RecordBatch]:
    """Yield the records of one range; runs in a worker.

    :raises KafkaTXError: as :func:`kafkatx.spark.source.range_reader.read_range`.
    """
    from kafkatx.spark.source.range_reader import read_range

    wanted = partition.value
    if wanted is None:  # Spark's replacement for an empty list of partitions
        return
    with one_sentence():
        yield from read_range(options.client, wanted, options.include_headers, options.fail_on_data_loss)
