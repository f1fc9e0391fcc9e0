"""Tests of kafkatx.mirror.copy.checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkatx.client import OffsetAndMetadata
from kafkatx.mirror.mm2.formats import Checkpoint, Heartbeat, OffsetSync
from kafkatx.types import TopicPartition
from tests.mirror.brokers import BrokersCase


class MirrorMakerTopicsTests(BrokersCase):
    async def decoded(self, topic: str, kind: Any) -> list[Any]:
        """Return the records of one of MirrorMaker 2's topics."""
        if topic not in (await self.admins[1].metadata()).topics:
            return []
        return [kind.decode(record.key, record.value) for record in await self.records(topic)]

    async def last(self, topic: str, kind: Any, holds: Callable[[Any], bool]) -> Any:
        """Wait until the last record of a topic is as wanted; return it."""
        found: list[Any] = []

        async def there() -> bool:
            found[:] = await self.decoded(topic, kind)
            return bool(found) and holds(found[-1])

        await self.until(there)
        return found[-1]

    async def test_topics(self) -> None:
        """Offset syncs, checkpoints and heartbeats are written, with exact offsets, also behind a filter."""
        await self.topic("t")
        await self.produce("t", [b"a%d" % at for at in range(10)])
        await self.admins[0].groups.commit("g", {TopicPartition("t", 0): OffsetAndMetadata(5, metadata="m")})
        await self.admins[0].groups.commit(
            "console-consumer-1", {TopicPartition("t", 0): OffsetAndMetadata(5)}
        )
        even = {"filter": "regex", "kafkatx.plugin.regex.value": "[02468]$"}
        await self.mirror("t", **even)
        sync = await self.last("mm2-offset-syncs.dc1.internal", OffsetSync, lambda one: one.downstream == 4)
        self.assertEqual(sync, OffsetSync("t", 0, 8, 4))
        checkpoint = await self.last("dc1.checkpoints.internal", Checkpoint, lambda one: one.downstream == 3)
        self.assertEqual(checkpoint, Checkpoint("g", "dc1.t", 0, 5, 3, "m"))
        beat = await self.last("dc1.heartbeats", Heartbeat, lambda one: True)
        self.assertEqual(beat[:2], ("dc1", "target"))
        await self.admins[0].groups.commit("g", {TopicPartition("t", 0): OffsetAndMetadata(9)})
        checkpoint = await self.last("dc1.checkpoints.internal", Checkpoint, lambda one: one.upstream == 9)
        self.assertEqual(checkpoint.downstream, 5)
        groups = {one.group for one in await self.decoded("dc1.checkpoints.internal", Checkpoint)}
        self.assertEqual(groups, {"g"})

    async def test_switched_off(self) -> None:
        """Each of them can be left out."""
        await self.topic("u")
        await self.produce("u", [b"1"])
        before = set((await self.admins[1].metadata()).topics)
        service = await self.mirror(
            "u",
            sources="dc9",
            offset_syncs="false",
            checkpoints_interval_ms="0",
            heartbeats_interval_ms="0",
        )
        ends = await service.source_ends()
        await self.until(lambda: service.copied_up_to(ends))
        await service.flush()
        added = set((await self.admins[1].metadata()).topics) - before
        self.assertEqual(added, {"dc9.u", "kafkatx-mirror.dc9.internal"})
