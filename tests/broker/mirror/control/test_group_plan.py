"""The offsets of groups that are copied, and the groups that are left alone."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.mirror.control.group_plan import (
    GroupHere,
    GroupOffsets,
    beyond,
    changes,
    is_used,
    mark_of,
    offsets_in,
)
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.types import TopicPartition
from kafkatx.wire.messages import offset_fetch as m

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
MARK = mark_of("dc1")


def at(offset: int, metadata: str = MARK, epoch: int = -1) -> OffsetAndMetadata:
    """Return an offset with the link's mark."""
    return OffsetAndMetadata(offset, metadata, epoch)


class UsedTests(SynchronousTestCase):
    def used(
        self,
        here: GroupOffsets,
        source: GroupOffsets | None = None,
        written: GroupOffsets | None = None,
        joined: bool = False,
    ) -> bool:
        """Return True if a group with these offsets is used here."""
        source = {T0: OffsetAndMetadata(5)} if source is None else source
        return is_used("dc1", GroupHere(joined, here), source, written or {})

    def test_new(self) -> None:
        """A group that is not here is not used; one that has had members is."""
        self.assertFalse(self.used({}))
        self.assertTrue(self.used({}, joined=True))
        self.assertTrue(self.used({T0: at(1)}, joined=True))

    def test_mark(self) -> None:
        """The link's mark tells its commits, also an earlier controller's; another link's do not count."""
        self.assertFalse(self.used({T0: at(1), T1: at(9)}))
        self.assertTrue(self.used({T0: at(1), T1: at(9, "")}))
        self.assertTrue(self.used({T0: at(1, mark_of("dc2"))}))

    def test_written(self) -> None:
        """An offset that this controller has written must be as it was."""
        self.assertFalse(self.used({T0: at(1, "x")}, written={T0: at(1, "x")}))
        for other in (at(2, "x"), at(1, ""), at(1, "x", 3)):
            self.assertTrue(self.used({T0: other}, written={T0: at(1, "x")}))

    def test_metadata_of_source(self) -> None:
        """Offsets with metadata of their own are the link's if they are not ahead of the source."""
        source = {T0: OffsetAndMetadata(5, "x")}
        self.assertFalse(self.used({T0: at(5, "x")}, source))
        self.assertFalse(self.used({T0: at(4, "older")}, source))
        self.assertTrue(self.used({T0: at(6, "x")}, source))
        self.assertTrue(self.used({T0: at(4, "")}, source))
        self.assertTrue(self.used({T0: at(4, "x")}, {T0: OffsetAndMetadata(5)}))
        self.assertTrue(self.used({T1: at(4, "x")}, source))


class ChangesTests(SynchronousTestCase):
    def test_changes(self) -> None:
        """New and other offsets are committed, with metadata or the mark, and epochs; equal ones are not."""
        source = {T0: OffsetAndMetadata(5, "", 3), T1: OffsetAndMetadata(6, "x", 4), U0: OffsetAndMetadata(7)}
        here = {T0: at(5, MARK, 3), T1: at(6, "x", 3)}
        self.assertEqual(changes("dc1", source, here), {T1: at(6, "x", 4), U0: at(7)})

    def test_back(self) -> None:
        """An offset that was set back at the source is set back here."""
        self.assertEqual(changes("dc1", {T0: OffsetAndMetadata(1)}, {T0: at(5)}), {T0: at(1)})

    def test_beyond(self) -> None:
        """Offsets beyond the ends of promoted topics are set to these; others stay."""
        here = {T0: at(5), T1: at(6), U0: at(7), TopicPartition("t", 9): at(8)}
        self.assertEqual(beyond(here, {"t": (5, 5)}), {T1: OffsetAndMetadata(5)})

    def test_read(self) -> None:
        """Known partitions of wanted topics that have an offset are read from an answer."""
        topics = [
            m.OffsetFetchResponseTopics(
                "t",
                [
                    m.OffsetFetchResponsePartitions(0, 5, 2, None, 0),
                    m.OffsetFetchResponsePartitions(1, -1, -1, "", 0),
                    m.OffsetFetchResponsePartitions(2, 5, -1, "", 0),
                ],
            ),
            m.OffsetFetchResponseTopics("u", [m.OffsetFetchResponsePartitions(0, 5, -1, "", 3)]),
            m.OffsetFetchResponseTopics("v", [m.OffsetFetchResponsePartitions(0, 5, -1, "", 0)]),
        ]
        self.assertEqual(offsets_in(topics, {"t": 2, "u": 1}), {T0: OffsetAndMetadata(5, "", 2)})
