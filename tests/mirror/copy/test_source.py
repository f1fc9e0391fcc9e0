"""Tests of kafkatx.mirror.copy.source with real brokers: what the source's faults do."""

from __future__ import annotations

from kafkatx.clientcore.errors import CorruptBatch, LogTruncation
from kafkatx.mirror.copy.source import Source
from kafkatx.mirror.service import MirrorService
from kafkatx.types import TopicPartition
from tests.mirror.brokers import BrokersCase


class SourceTests(BrokersCase):
    def of(self, service: MirrorService) -> Source:
        """Return the source of a mirror."""
        (source,) = service._sources
        return source

    async def copied(self, service: MirrorService) -> None:
        """Wait until everything is copied."""
        ends = await service.source_ends()
        await self.until(lambda: service.copied_up_to(ends))

    async def test_deleted_records(self) -> None:
        """Records that the source deletes before they are copied are counted; the rest is copied."""
        await self.topic("del")
        await self.produce("del", [b"1", b"2"])
        service = await self.mirror("del")
        await self.copied(service)
        await service.stopService()
        await self.produce("del", [b"3", b"4", b"5"])
        await self.admins[0].delete_records({TopicPartition("del", 0): 4})
        service = await self.mirror("del")
        await self.copied(service)
        self.assertEqual(await self.values("dc1.del"), [b"1", b"2", b"5"])
        self.assertEqual(service.totals().deleted, 2)

    async def test_lost_end(self) -> None:
        """A source that has lost its end goes on with the records that it has written since."""
        await self.topic("cut")
        await self.produce("cut", [b"1", b"2", b"3"])
        service = await self.mirror("cut")
        await self.copied(service)
        source = self.of(service)
        source._out_of_range(LogTruncation("cut", 0, 3, 1))
        self.assertEqual(source._consumer._subscriptions[TopicPartition("cut", 0)].position, 1)

    async def test_unreadable(self) -> None:
        """A batch that cannot be read stops its partition, and the status says so."""
        await self.topic("bad")
        await self.produce("bad", [b"1"])
        service = await self.mirror("bad")
        await self.copied(service)
        self.of(service)._unreadable(CorruptBatch("bad", 0, 1, 2, "its CRC is wrong"))
        (status,) = service.status()
        self.assertIn("its CRC is wrong", status.failure)

    async def test_queue(self) -> None:
        """With a buffer that is soon full everything is copied all the same, and nothing stays counted."""
        await self.topic("queue")
        await self.produce("queue", [bytes(1000) for _ in range(1000)])
        service = await self.mirror("queue", buffer_bytes="65536", batch_bytes="10000")
        await self.copied(service)
        self.assertEqual(len(await self.values("dc1.queue")), 1000)
        self.assertEqual(self.of(service)._queued_bytes, 0)
