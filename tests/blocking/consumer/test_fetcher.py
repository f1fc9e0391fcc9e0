"""Tests of kafkatx.blocking.consumer.fetcher."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.consumer.fetcher import Fetcher
from kafkatx.clientcore.errors import ConnectionFailed, OffsetOutOfRange
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.records.builder import build_values
from kafkatx.wire.messages.fetch import FetchRequest
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.blocking.fakes import LOSE_REPLY, LOSE_REQUEST, FakeCluster, Log


def log(*sizes: int, leader: int = 1) -> Log:
    """A log with batches of so many records."""
    made = Log(leader)
    for size in sizes:
        made.append(build_values([b"value"] * size, 1))
    return made


class FetcherTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A partition with offsets 0 to 8 in three batches."""
        self.fake = FakeCluster({"t": [log(3, 3, 3)]})

    def fetcher(self, ranges: dict[int, tuple[int, int | None]], **options: Any) -> Fetcher:
        """A fetcher of the topic."""
        return Fetcher(self.fake.client(), "t", ranges, **options)

    def offsets_asked(self) -> list[int]:
        """The offset of every fetch, in order."""
        return [
            partition.fetch_offset
            for request in self.fake.sent(FetchRequest)
            for partition in request.topics[0].partitions
        ]

    def test_reads_to_the_end(self) -> None:
        """All batches come, and nothing is asked for after the end."""
        chunks = list(self.fetcher({0: (0, 9)}).chunks())
        self.assertEqual(b"".join(chunk.data for chunk in chunks), b"".join(self.fake.topics["t"][0].batches))
        self.assertEqual(chunks[-1].next_offset, 9)
        self.assertEqual(self.offsets_asked(), [0])

    def test_whole_batches_around_a_range(self) -> None:
        """Batches that lie wholly outside of the range do not come, those at its borders are not cut."""
        chunks = list(self.fetcher({0: (4, 5)}).chunks())
        self.assertEqual([bytes(chunk.data) for chunk in chunks], [self.fake.topics["t"][0].batches[1]])

    def test_empty_range(self) -> None:
        """An empty range needs no request."""
        self.assertEqual(list(self.fetcher({0: (4, 4)}).chunks()), [])
        self.assertEqual(self.fake.requests, [])

    def test_reads_ahead(self) -> None:
        """The next fetch has been sent when the first chunk is yielded."""
        self.fake.fetch_bytes = len(self.fake.topics["t"][0].batches[0])
        chunks = self.fetcher({0: (0, 9)}).chunks()
        next(chunks)
        self.assertEqual(self.offsets_asked(), [0, 3])
        self.assertEqual(len(list(chunks)), 2)
        self.assertEqual(self.offsets_asked(), [0, 3, 6])

    def test_truncated_batch(self) -> None:
        """A batch that is cut off at the end of a reply is fetched again from its start."""
        self.fake.fetch_bytes = len(self.fake.topics["t"][0].batches[0]) + 20
        chunks = list(self.fetcher({0: (0, 9)}).chunks())
        self.assertEqual([chunk.next_offset for chunk in chunks], [3, 6, 9])

    def test_batch_larger_than_asked(self) -> None:
        """More is requested until a batch is whole that an old broker cuts off."""
        self.fake.topics["t"][0] = log(400)
        chunks = list(self.fetcher({0: (0, 400)}, max_bytes=100).chunks())
        self.assertEqual([chunk.next_offset for chunk in chunks], [400])
        asked = [r.topics[0].partitions[0].partition_max_bytes for r in self.fake.sent(FetchRequest)]
        self.assertEqual(asked, [100, 400, 1600, 6400])

    def test_lost_connections(self) -> None:
        """Nothing is lost or doubled when connections break before or after the broker answers."""
        self.fake.fetch_bytes = len(self.fake.topics["t"][0].batches[0])
        self.fake.faults[FetchRequest].extend([LOSE_REQUEST, None, LOSE_REPLY, LOSE_REQUEST])
        chunks = list(self.fetcher({0: (0, 9)}).chunks())
        self.assertEqual([chunk.next_offset for chunk in chunks], [3, 6, 9])
        self.assertEqual(self.fake.slept, [0.1, 0.1, 0.2])

    def test_patience_ends(self) -> None:
        """A broker that does not come back is given up after retry_timeout_s."""
        self.fake.fetch_bytes = len(self.fake.topics["t"][0].batches[0])
        chunks = self.fetcher({0: (0, 9)}, retry_timeout_s=5).chunks()
        next(chunks)
        self.fake.down = {1}
        for channel in self.fake.channels:
            channel.close()
        self.assertRaises(ConnectionFailed, next, chunks)
        self.assertGreater(sum(self.fake.slept), 3)

    def test_new_leader(self) -> None:
        """After NOT_LEADER_OR_FOLLOWER the new leader is asked."""
        self.fake.brokers = 2
        fetcher = self.fetcher({0: (0, 9)})
        self.fake.faults[FetchRequest].append(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.fake.on_sleep = lambda: setattr(self.fake.topics["t"][0], "leader", 2)
        self.assertEqual([chunk.next_offset for chunk in fetcher.chunks()], [9])
        self.assertEqual(self.fake.requests[-1][0], 2)

    def test_named_leader(self) -> None:
        """A leader that the refusal names is asked at once, without new metadata (KIP-951)."""
        self.fake.brokers = 2
        partition = self.fake.topics["t"][0]
        partition.epoch = 4
        fetcher = self.fetcher({0: (0, 9)}, max_bytes=1)
        chunks = fetcher.chunks()
        self.fake.fetch_bytes = len(partition.batches[0])
        self.assertEqual(next(chunks).next_offset, 3)
        partition.leader, partition.epoch = 2, 5
        asked = len(self.fake.sent(MetadataRequest))
        self.assertEqual([chunk.next_offset for chunk in chunks][-1], 9)
        self.assertEqual(self.fake.requests[-1][0], 2)
        self.assertEqual((self.fake.slept, len(self.fake.sent(MetadataRequest))), ([], asked))

    def test_wrongly_named_leader(self) -> None:
        """A refusal that names no later leader is followed by a pause and a request for metadata."""
        self.fake.topics["t"][0].epoch = 4
        self.fake.faults[FetchRequest].append(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        chunks = self.fetcher({0: (0, 9)}).chunks()
        self.assertEqual([chunk.next_offset for chunk in chunks], [9])
        self.assertEqual(len(self.fake.slept), 1)

    def test_out_of_range(self) -> None:
        """An offset that is not there is an error that tells what is there."""
        self.fake.topics["t"][0].start = 3
        for offset in (1, 12):
            error = self.assertRaises(OffsetOutOfRange, list, self.fetcher({0: (offset, 20)}).chunks())
            self.assertEqual((error.earliest, error.latest), (3, 9))
            self.assertIn("the earliest is 3, the latest 9", str(error))

    def test_refused(self) -> None:
        """An error that does not pass is raised at once."""
        self.fake.faults[FetchRequest].append(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        error = self.assertRaises(RequestError, list, self.fetcher({0: (0, 9)}).chunks())
        self.assertEqual(error.code, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        self.assertEqual(self.fake.slept, [])

    def test_gap_before_the_end(self) -> None:
        """The end counts as reached though compaction has removed the last records."""
        del self.fake.topics["t"][0].batches[2]
        self.assertEqual([chunk.next_offset for chunk in self.fetcher({0: (0, 9)}).chunks()], [6])
        self.assertEqual(self.offsets_asked(), [0, 6, 6])

    def test_end_beyond_the_log(self) -> None:
        """An end that is never written is not waited for for ever."""
        self.fake.on_sleep = lambda: None
        client = self.fake.client()
        client.clock = self._hurried
        error = self.assertRaises(RequestError, list, Fetcher(client, "t", {0: (0, 12)}).chunks())
        self.assertIn("t [0] ends at offset 9, and 12 was not reached", str(error))

    def _hurried(self) -> float:
        self.fake.now += 1
        return self.fake.now

    def test_follows(self) -> None:
        """Without an end the reader waits for what is written later."""
        chunks = self.fetcher({0: (9, None)}).chunks()
        fetches = len(self.fake.sent(FetchRequest))
        self.fake.topics["t"][0].append(build_values([b"new"], 1))
        self.assertEqual(next(chunks).next_offset, 10)
        self.assertEqual(fetches, 0)

    def test_several_leaders(self) -> None:
        """Each leader has a connection of its own and is asked for its partitions only."""
        self.fake.brokers = 2
        self.fake.topics["t"] = [log(3), log(4, leader=2), log(5)]
        waited = []

        def last(channels: Any, timeout_s: float) -> int:
            waited.append([channel.host for channel in channels])
            return len(channels) - 1

        chunks = list(self.fetcher({0: (0, 3), 1: (0, 4), 2: (0, 5)}, wait=last).chunks())
        self.assertEqual([(chunk.partition, chunk.next_offset) for chunk in chunks], [(1, 4), (0, 3), (2, 5)])
        self.assertEqual(waited, [["broker1", "broker2"]])
        asked = [(node, [p.partition for p in request.topics[0].partitions])
                 for node, request in self.fake.requests if isinstance(request, FetchRequest)]  # fmt: skip
        self.assertEqual(asked, [(1, [0, 2]), (2, [1])])

    def test_partitions_take_turns(self) -> None:
        """The partition that a reply is filled with first is not always the same one."""
        self.fake.topics["t"] = [log(*[1] * 4), log(*[1] * 4)]
        self.fake.fetch_bytes = len(self.fake.topics["t"][0].batches[0])
        list(self.fetcher({0: (0, 4), 1: (0, 4)}).chunks())
        first = {request.topics[0].partitions[0].partition for request in self.fake.sent(FetchRequest)[:2]}
        self.assertEqual(first, {0, 1})

    def test_close(self) -> None:
        """A reader that is left in the middle closes its connections."""
        self.fake.fetch_bytes = len(self.fake.topics["t"][0].batches[0])
        chunks = self.fetcher({0: (0, 9)}).chunks()
        next(chunks)
        chunks.close()  # type: ignore[attr-defined]  # it is a generator
        self.assertTrue(self.fake.channels[-1].closed)
