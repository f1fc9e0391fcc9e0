"""What a worker does when offsets are gone since the query was planned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Columns, ConnectionFailed, OffsetOutOfRange, UnknownTopic
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.spark import reading
from kafkatx.spark.client_options import ClientSettings
from kafkatx.spark.offsets import OffsetRange
from kafkatx.spark.planning import DataLoss
from tests.spark.fakes import FakeCluster

WANTED = OffsetRange("t", 1, 0, 100)


def columns_from(start: int, end: int) -> Columns:
    """Columns with these offsets, and nothing else that matters."""
    columns = Columns.empty()
    columns.offsets.extend(range(start, end))
    return columns


class Steps:
    """Stands in for the blocking reader: each reading of a range gives columns, then perhaps an error."""

    def __init__(self, *steps: tuple[list[Columns], KafkaTXError | None]) -> None:
        self._steps = iter(steps)
        self.ranges: list[tuple[int, int]] = []

    def columns(self, cluster: object, client: object, wanted: OffsetRange) -> Iterator[Columns]:
        """Take the next step."""
        self.ranges.append((wanted.start, wanted.end))
        columns, error = next(self._steps)
        yield from columns
        if error is not None:
            raise error


class ReaderOfNothing:
    """Stands in for the blocking reader and keeps what it was made with."""

    made_with: ClassVar[dict[str, Any]] = {}

    def __init__(self, cluster: object, topic: str, partition: int, **settings: Any) -> None:
        self.made_with.update(settings, topic=topic, partition=partition)

    def __enter__(self) -> ReaderOfNothing:
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def read_columns(self) -> Iterator[Columns]:
        """Nothing."""
        return iter(())


class SettingsTests(SynchronousTestCase):
    def test_arrive(self) -> None:
        """The range and every setting of a fetch reach the reader."""
        self.patch(reading, "Reader", ReaderOfNothing)
        client = ClientSettings("h:1", fetch_bytes=7, fetch_min_bytes=8, fetch_wait_ms=9, check_crcs=False)
        self.assertEqual(list(reading.surviving(FakeCluster({}), client, WANTED, True)), [])
        self.assertEqual(
            ReaderOfNothing.made_with,
            {
                "topic": "t",
                "partition": 1,
                "start_offset": 0,
                "end_offset": 100,
                "max_bytes": 7,
                "min_bytes": 8,
                "max_wait_ms": 9,
                "check_crcs": False,
            },
        )


class SurvivingTests(SynchronousTestCase):
    def read(self, steps: Steps, fail_on_data_loss: bool) -> list[tuple[int, int]]:
        """Read through the steps; return the first and last offset of each columns that came."""
        self.patch(reading, "_columns", steps.columns)
        client = ClientSettings("127.0.0.1:1")
        found = reading.surviving(FakeCluster({}), client, WANTED, fail_on_data_loss)
        return [(columns.offsets[0], columns.offsets[-1]) for columns in found]

    def lose(self, steps: Steps) -> list[tuple[int, int]]:
        """Read with failOnDataLoss=false; there must be a warning."""
        with self.assertLogs("kafkatx.spark.reading", "WARNING") as logged:
            found = self.read(steps, False)
        self.assertIn("t [1] offsets", logged.output[0])
        return found

    def test_nothing_lost(self) -> None:
        """All of a range is handed on, in order."""
        steps = Steps(([columns_from(0, 50), columns_from(50, 100)], None))
        self.assertEqual(self.read(steps, True), [(0, 49), (50, 99)])

    def test_loss_is_failure(self) -> None:
        """Offsets that went since the planning fail the task; topic, partition and offsets are named."""
        steps = Steps(([columns_from(0, 50)], OffsetOutOfRange("t", 1, 50, 80, 200)))
        error = self.assertRaises(DataLoss, self.read, steps, True)
        self.assertIn("t [1] offsets 50 to 100 cannot be read", str(error))
        self.assertIn("the earliest is 80, the latest 200", str(error))

    def test_goes_on_behind_the_gap(self) -> None:
        """With failOnDataLoss=false reading goes on at the log's new start, and nothing comes twice."""
        steps = Steps(
            ([columns_from(0, 50)], OffsetOutOfRange("t", 1, 50, 80, 200)), ([columns_from(80, 100)], None)
        )
        self.assertEqual(self.lose(steps), [(0, 49), (80, 99)])
        self.assertEqual(steps.ranges, [(0, 100), (80, 100)])

    def test_nothing_left(self) -> None:
        """Where the log now starts behind the range, or ends before it, that was all."""
        for earliest, latest in ((100, 200), (500, 600), (0, 0)):
            steps = Steps(([columns_from(0, 10)], OffsetOutOfRange("t", 1, 10, earliest, latest)))
            self.assertEqual(self.lose(steps), [(0, 9)])

    def test_topic_deleted(self) -> None:
        """A topic that went is data loss: a failure, or the end of what can be read."""
        steps = Steps(([columns_from(0, 10)], UnknownTopic("t")))
        self.assertEqual(self.lose(steps), [(0, 9)])
        error = self.assertRaises(DataLoss, self.read, Steps(([], UnknownTopic("t"))), True)
        self.assertIn("t [1] offsets 0 to 100", str(error))

    def test_other_errors(self) -> None:
        """A broker that cannot be reached, or corrupt records, are no data loss to be passed over."""
        for error in (ConnectionFailed("gone"), RequestError(ErrorCode.CORRUPT_MESSAGE, "bad CRC")):
            self.assertRaises(type(error), self.read, Steps(([], error)), False)
