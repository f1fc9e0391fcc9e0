"""Tests of kafkatx.mirror.copy.target_log with a real broker."""

from __future__ import annotations

from kafkatx.clientcore.errors import UnknownTopic
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.records.conversion import batches
from kafkatx.types import TopicPartition
from tests.mirror.brokers import BrokersCase


class TargetLogTests(BrokersCase):
    async def test_reads(self) -> None:
        """The ends of a log are told, and its batches come as they are stored, from any offset on."""
        place = TopicPartition(await self.topic("log", 2, at=1), 1)
        for _ in range(3):
            await self.produce("log", [b"a", b"b"], 1, at=1)
        self.assertEqual(await self.log.ends(place), (0, 6))
        self.assertEqual(await self.log.starts([place]), {place: 0})
        self.assertEqual([span.base_offset for span in batches(await self.log.read(place, 0))], [0, 2, 4])
        self.assertEqual([span.base_offset for span in batches(await self.log.read(place, 3))], [2, 4])
        self.assertEqual(len(list(batches(await self.log.read(place, 0, 1)))), 1)
        self.assertEqual(bytes(await self.log.read(place, 6)), b"")

    async def test_errors(self) -> None:
        """An offset that the log does not have is an error, and so is a topic that is not there."""
        place = TopicPartition(await self.topic("short", at=1), 0)
        with self.assertRaises(RequestError) as caught:
            await self.log.read(place, 5)
        self.assertIs(caught.exception.code, ErrorCode.OFFSET_OUT_OF_RANGE)
        with self.assertRaises(UnknownTopic):
            await self.log.ends(TopicPartition("not-there", 0))
