"""Tests of kafkatx.mirror.translation."""

from __future__ import annotations

from kafkatx.mirror.core.offset_map import OffsetMap, Run
from kafkatx.mirror.core.provenance import StreamId
from kafkatx.mirror.translation import Translator, read_translator
from kafkatx.types import TopicPartition
from tests.mirror.brokers import BrokersCase


class TranslationTests(BrokersCase):
    def test_several(self) -> None:
        """A topic may have several copies, a copy several sources."""
        maps = {
            StreamId("C", "a", 0, "x"): OffsetMap([Run(0, 10, 5)]),
            StreamId("C", "a", 0, "y"): OffsetMap([Run(0, 0, 5)]),
            StreamId("D", "b", 0, "x"): OffsetMap([Run(100, 15, 5)]),
            StreamId("D", "b", 1, "x"): OffsetMap(),
        }
        both = Translator(maps)
        self.assertEqual(
            both.to_target("a", 0, 3), [(TopicPartition("x", 0), 13), (TopicPartition("y", 0), 3)]
        )
        self.assertEqual(
            both.to_source("x", 0, 12), [("C", TopicPartition("a", 0), 2), ("D", TopicPartition("b", 0), 100)]
        )
        self.assertEqual((both.to_target("b", 1, 0), both.to_source("z", 0, 0)), ([], []))

    async def test_from_the_target(self) -> None:
        """Offsets are exact to the last copy, also of those that the mirror has not noted yet."""
        await self.topic("moved")
        await self.produce("moved", [b"a%d" % at for at in range(20)])
        even = {"filter": "regex", "kafkatx.plugin.regex.value": "[02468]$"}
        service = await self.mirror("moved", progress_interval_ms="3600000", **even)
        ends = await service.source_ends()
        await self.until(lambda: service.copied_up_to(ends))
        found = await read_translator("dc1", self.admins[1].cluster)
        copy = TopicPartition("dc1.moved", 0)
        wanted = [(at + 1) // 2 for at in range(20)]
        self.assertEqual(
            [found.to_target("moved", 0, at) for at in range(20)], [[(copy, one)] for one in wanted]
        )
        ((_, place, offset),) = found.to_source("dc1.moved", 0, 7)
        self.assertEqual((place, offset), (TopicPartition("moved", 0), 14))
