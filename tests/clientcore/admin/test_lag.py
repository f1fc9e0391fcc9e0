"""Tests of kafkatx.clientcore.admin.lag."""

from __future__ import annotations

import struct

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.admin.group_description import CLASSIC, GroupDescription, Member
from kafkatx.clientcore.admin.lag import (
    MOST_MARKERS,
    Progress,
    almost_read,
    partitions_of,
    progress,
    read_to_end,
    tail_request,
    with_leader,
)
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.clientcore.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
from kafkatx.records.builder import build_values
from kafkatx.records.control import build_marker
from kafkatx.types import BrokerNode, Marker, TopicPartition
from kafkatx.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


class LagTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a group with one member, which has t [1]."""
        self.member = Member("m", None, "c", "/h", (T1,))
        node = BrokerNode(1, "h", 9092)
        self.group = GroupDescription(
            "g", CLASSIC, "Stable", "consumer", "range", node, members=(self.member,)
        )

    def test_partitions(self) -> None:
        """Partitions with an offset and those of members are returned sorted, each once."""
        found = partitions_of(self.group, [U0, T0, T1])
        self.assertEqual(list(found.items()), [(T0, None), (T1, self.member), (U0, None)])
        self.assertEqual(partitions_of(self.group, []), {T1: self.member})

    def test_led(self) -> None:
        """Deleted topics and partitions, and those without a leader, are left out."""
        partitions = {0: PartitionMetadata(0, 1), 1: PartitionMetadata(1, -1)}
        metadata = ClusterMetadata(topics={"t": TopicMetadata("t", partitions)})
        self.assertEqual(with_leader([T0, T1, TopicPartition("t", 2), U0], metadata), [T0])

    def test_progress(self) -> None:
        """Each partition has its offset, end and member, and a lag if offset and end are known."""
        found = progress(
            {T0: None, T1: self.member, U0: None},
            {T0: OffsetAndMetadata(5), U0: OffsetAndMetadata(9)},
            {T0: 12, T1: 3},
        )
        self.assertEqual(
            found,
            [
                Progress(T0, OffsetAndMetadata(5), 12, None),
                Progress(T1, None, 3, self.member),
                Progress(U0, OffsetAndMetadata(9), None, None),
            ],
        )
        self.assertEqual([one.lag for one in found], [7, None, None])

    def test_recreated(self) -> None:
        """An offset beyond the end has a negative lag."""
        self.assertEqual(Progress(T0, OffsetAndMetadata(5), 2, None).lag, -3)


class MarkerTests(SynchronousTestCase):
    """Ends of transactions after the last record."""

    def at(self, offset: int, batch: bytes) -> bytes:
        """Return a batch at an offset."""
        return struct.pack(">q", offset) + batch[8:]

    def row(self, committed: int, end: int) -> Progress:
        """Return the progress in t [0]."""
        return Progress(T0, OffsetAndMetadata(committed), end, None)

    def lag(self, row: Progress, *batches: bytes, error: int = 0) -> int | None:
        """Return the lag after the last offsets were fetched."""
        answer = PartitionData(0, error, records=b"".join(batches))
        return read_to_end(
            [row], FetchResponse(responses=[FetchableTopicResponse("t", partitions=[answer])])
        )[0].lag

    def test_asked(self) -> None:
        """Only partitions that are almost read are looked at, from their committed offset on."""
        rows = [self.row(3, 4), Progress(T1, OffsetAndMetadata(0), MOST_MARKERS + 1, None)]
        rows += [Progress(U0, OffsetAndMetadata(7), 7, None), Progress(U0, None, 7, None)]
        self.assertEqual(almost_read(rows), [T0])
        (topic,) = tail_request(rows, [T0]).topics
        self.assertEqual([(one.partition, one.fetch_offset) for one in topic.partitions], [(0, 3)])

    def test_lag(self) -> None:
        """The lag is 0 if there are markers alone up to the end; a record, or an unknown offset, counts."""
        marker = build_marker(7, 0, Marker(True, 0), 0)
        record = build_values([b"x"], 0)
        for committed, end, batches, expected in (
            (3, 4, [self.at(3, marker)], 0),
            (3, 5, [self.at(3, marker), self.at(4, marker)], 0),
            (3, 5, [self.at(2, record), self.at(3, marker), self.at(4, marker)], 0),
            (3, 5, [self.at(3, marker), self.at(4, record)], 2),
            (3, 5, [self.at(3, record), self.at(4, marker)], 2),
            (3, 5, [self.at(3, marker)], 2),
            (3, 4, [], 1),
        ):
            self.assertEqual(self.lag(self.row(committed, end), *batches), expected, (committed, end))
        self.assertEqual(self.lag(self.row(3, 4), self.at(3, marker), error=29), 1)
