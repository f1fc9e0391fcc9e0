"""A worker's reads when offsets are gone since the query was planned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pyarrow as pa
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import ConnectionFailed, OffsetOutOfRange, UnknownTopic
from kafkatx.errors import CorruptRecords, ErrorCode, KafkaTXError, RequestError
from kafkatx.records.batch import CRC_AT
from kafkatx.spark.offsets import OffsetRange
from kafkatx.spark.options.client import ClientSettings
from kafkatx.spark.source import range_reader
from kafkatx.spark.source.plan import DataLoss
from tests.records.strategies import SAMPLE, built
from tests.spark.fakes import FakeCluster

WANTED = OffsetRange("t", 1, 0, 100)


def rows(start: int, end: int) -> Any:
    """An Arrow batch with these offsets, and nothing else that matters."""
    return pa.record_batch({"offset": list(range(start, end))})


class Steps:
    """Stands in for the blocking reader: each reading of a range gives batches, then perhaps an error."""

    def __init__(self, *steps: tuple[list[Any], KafkaTXError | None]) -> None:
        self._steps = iter(steps)
        self.ranges: list[tuple[int, int]] = []

    def batches(
        self, cluster: object, client: object, wanted: OffsetRange, include_headers: bool
    ) -> Iterator[Any]:
        """Take the next step."""
        self.ranges.append((wanted.start, wanted.end))
        batches, error = next(self._steps)
        yield from batches
        if error is not None:
            raise error


class OneBatch:
    """Stands in for the blocking reader: gives one batch, and keeps what it was made with."""

    batch: ClassVar[bytes] = b""
    made_with: ClassVar[dict[str, Any]] = {}

    def __init__(self, cluster: object, topic: str, partition: int, **settings: Any) -> None:
        self.made_with.update(settings, topic=topic, partition=partition)

    def __enter__(self) -> OneBatch:
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def chunks(self) -> Iterator[memoryview]:
        """The batch."""
        yield memoryview(self.batch)


class SettingsTests(SynchronousTestCase):
    def read(self, batch: bytes, include_headers: bool = False, **settings: Any) -> list[Any]:
        """Read a range of which the broker gives this batch."""
        self.patch(range_reader, "Reader", OneBatch)
        self.patch(OneBatch, "batch", batch)
        client = ClientSettings("h:1", **settings)
        return list(range_reader.surviving(FakeCluster({}), client, WANTED, include_headers, True))

    def test_arrive(self) -> None:
        """The range and every setting of a fetch reach the reader."""
        self.assertEqual(
            self.read(b"", fetch_bytes=7, fetch_min_bytes=8, fetch_wait_ms=9, rack="r", max_age_s=10.0), []
        )
        self.assertEqual(
            OneBatch.made_with,
            {
                "topic": "t",
                "partition": 1,
                "start_offset": 0,
                "end_offset": 100,
                "max_bytes": 7,
                "rack": "r",
                "max_age_s": 10.0,
                "min_bytes": 8,
                "max_wait_ms": 9,
                "isolation_level": 0,
            },
        )

    def test_crcs(self) -> None:
        """A batch whose CRC is wrong is refused, unless CRCs are not to be checked."""
        batch = bytearray(built(SAMPLE))
        batch[CRC_AT] ^= 1
        self.assertRaises(CorruptRecords, self.read, bytes(batch))
        (read,) = self.read(bytes(batch), check_crcs=False)
        self.assertEqual(read.column("offset").to_pylist(), [0, 1, 2, 3])

    def test_headers(self) -> None:
        """There is a column of headers only where they are wanted."""
        for include_headers in (False, True):
            (read,) = self.read(built(SAMPLE), include_headers)
            self.assertEqual("headers" in read.schema.names, include_headers)


class SurvivingTests(SynchronousTestCase):
    def read(self, steps: Steps, fail_on_data_loss: bool) -> list[tuple[int, int]]:
        """Read through the steps; return the first and last offset of each batch that came."""
        self.patch(range_reader, "_batches", steps.batches)
        client = ClientSettings("127.0.0.1:1")
        found = range_reader.surviving(FakeCluster({}), client, WANTED, False, fail_on_data_loss)
        offsets = (batch.column("offset").to_pylist() for batch in found)
        return [(column[0], column[-1]) for column in offsets]

    def lose(self, steps: Steps) -> list[tuple[int, int]]:
        """Read with failOnDataLoss=false; there must be a warning."""
        with self.assertLogs("kafkatx.spark.source.range_reader", "WARNING") as logged:
            found = self.read(steps, False)
        self.assertIn("t [1] offsets", logged.output[0])
        return found

    def test_nothing_lost(self) -> None:
        """All of a range is handed on, in order."""
        steps = Steps(([rows(0, 50), rows(50, 100)], None))
        self.assertEqual(self.read(steps, True), [(0, 49), (50, 99)])

    def test_loss_is_failure(self) -> None:
        """Offsets that went since the planning fail the task; topic, partition and offsets are named."""
        steps = Steps(([rows(0, 50)], OffsetOutOfRange("t", 1, 50, 80, 200)))
        error = self.assertRaises(DataLoss, self.read, steps, True)
        self.assertIn("t [1] offsets 50 to 100 cannot be read", str(error))
        self.assertIn("the earliest is 80, the latest 200", str(error))

    def test_goes_on_behind_the_gap(self) -> None:
        """With failOnDataLoss=false reading goes on at the log's new start, and nothing comes twice."""
        steps = Steps(([rows(0, 50)], OffsetOutOfRange("t", 1, 50, 80, 200)), ([rows(80, 100)], None))
        self.assertEqual(self.lose(steps), [(0, 49), (80, 99)])
        self.assertEqual(steps.ranges, [(0, 100), (80, 100)])

    def test_nothing_left(self) -> None:
        """The read is at its end if the log now starts behind the range, or ends before it."""
        for earliest, latest in ((100, 200), (500, 600), (0, 0)):
            steps = Steps(([rows(0, 10)], OffsetOutOfRange("t", 1, 10, earliest, latest)))
            self.assertEqual(self.lose(steps), [(0, 9)])

    def test_topic_deleted(self) -> None:
        """A topic that went is data loss: a failure, or the end of what can be read."""
        steps = Steps(([rows(0, 10)], UnknownTopic("t")))
        self.assertEqual(self.lose(steps), [(0, 9)])
        error = self.assertRaises(DataLoss, self.read, Steps(([], UnknownTopic("t"))), True)
        self.assertIn("t [1] offsets 0 to 100", str(error))

    def test_other_errors(self) -> None:
        """A broker that cannot be reached, or corrupt records, are no data loss to be passed over."""
        for error in (ConnectionFailed("gone"), RequestError(ErrorCode.CORRUPT_MESSAGE, "bad CRC")):
            self.assertRaises(type(error), self.read, Steps(([], error)), False)
