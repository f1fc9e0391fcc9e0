"""Logs that diverge, at random: a follower ends with the leader's log, byte for byte."""

from __future__ import annotations

from random import Random
from typing import Any

import attrs

from kafkatx.types import PartitionState
from kafkatx.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
)
from tests.broker.cluster import ClusterTestCase
from tests.broker.replica.fetcher.case import FollowerCase, batch, stored

Batches = list[tuple[int, int, bytes]]
"""(base offset, epoch, bytes) of each batch of a log."""

MOST_ROUNDS = 40


class History:
    """Two brokers that lead in turns, and are often cut off from each other.

    A leader appends to what it has. A follower that is not cut off takes over a part of what the leader has
    beyond their common beginning; that is the naive form of truncation.

    :ivar noted: the epoch that the second one leads, if it has written nothing in it.
    """

    def __init__(self, random: Random) -> None:
        self.random = random
        self.logs: tuple[Batches, Batches] = ([], [])
        self.epoch = -1
        self.noted: int | None = None

    def reign(self, leader: int) -> None:
        """Make one of the two the leader of the next epoch."""
        random = self.random
        self.epoch += random.choice((1, 1, 2))
        own, other = self.logs[leader], self.logs[1 - leader]
        count = random.choice((0, 0, 1, 2, 5))
        self.noted = self.epoch if leader == 1 and not count else None
        for _ in range(count):
            offset = end_of(own)
            payloads = [b"%d" % random.randrange(1000) for _ in range(random.randint(1, 3))]
            own.append((offset, self.epoch, batch(offset, self.epoch, *payloads)))
        if random.random() < 0.6:
            common = 0
            while common < min(len(own), len(other)) and own[common] == other[common]:
                common += 1
            del other[common:]
            other += own[common : random.randint(common, len(own))]


def end_of(log: Batches) -> int:
    """Return the end offset of a log."""
    if not log:
        return 0
    base_offset, _, data = log[-1]
    return base_offset + int.from_bytes(data[23:27], "big") + 1


class DivergenceTests(ClusterTestCase, FollowerCase):
    """Broker 1 leads by its handlers; the follower is broker 2's, asked and answered by hand."""

    def setUp(self) -> None:
        """Start the leader."""
        ClusterTestCase.setUp(self)
        self.flushed = 0

    def lead(self, number: int, log: Batches, epoch: int) -> Any:
        """Make a topic whose leader has a log, and leads in an epoch from now on; return its partition."""
        name = f"t{number}"
        self.metadata.put(self.metadata.make_topic(name, [[2, 1]]))
        self.metadata.replicate(name, leader=2, leader_epoch=0)
        partition = self.broker.topics.find(name, 0)
        assert partition is not None
        for base_offset, its_epoch, data in log:
            partition.log.begin_epoch(its_epoch)
            partition.log.append_as_follower(data, its_epoch)
            partition.log.write()
            assert base_offset <= partition.log.log_end_offset
        self.metadata.replicate(name, leader=1, leader_epoch=epoch)
        self.assertEqual(partition.error, 0)
        return partition

    def follow(self, log: Batches, epoch: int, noted: int | None) -> None:
        """Make the follower, with a log and perhaps an epoch that it led without a record."""
        state = PartitionState(2, epoch, (2, 1), (2, 1), revision=100)
        self.partition = self.make_partition(self.make_log())
        for _, _, data in log:
            self.keep(data)
        if noted is not None:
            self.log.begin_epoch(noted)
        self.partition.apply(attrs.evolve(state), acts=True)
        self.follower = self.make_follower()

    def exchange(self, name: str) -> PartitionData:
        """Carry one fetch of the follower to the leader, and the answer back."""
        part: FetchPartition = self.follower.ask(self.max_bytes)
        topic = self.metadata.state.topics[name]
        request = FetchRequest(
            replica_state=ReplicaState(2, self.metadata.state.brokers[2].epoch),
            max_wait_ms=0,
            topics=[FetchTopic("", topic.topic_id, [part])],
        )
        response: FetchResponse = self.ask(1, 15, request)
        (answer,) = response.responses[0].partitions
        self.follower.take(part.fetch_offset, answer)
        return answer

    def test_random(self) -> None:
        """After any history the logs are equal, in few rounds, and what they shared was never cut."""
        for seed in range(300):
            random = Random(seed)
            history = History(random)
            for _ in range(random.randint(1, 12)):
                history.reign(random.randint(0, 1))
            mine, theirs = history.logs
            epoch = history.epoch + 1
            leader = self.lead(seed, mine, epoch)
            self.max_bytes = random.choice((1, 100, 1 << 20))
            self.follow(theirs, epoch, history.noted)
            shared = end_of([one for one, other in zip(mine, theirs, strict=False) if one == other])
            for _ in range(MOST_ROUNDS):
                before = self.log.log_end_offset
                self.exchange(f"t{seed}")
                self.assertTrue(self.follower.is_ready(), seed)
                self.assertGreaterEqual(self.log.log_end_offset, min(before, shared), seed)
                if stored(self.log) == stored(leader.log):
                    break
            self.exchange(f"t{seed}")
            self.assertEqual(stored(self.log), stored(leader.log), seed)
            self.assertEqual(self.log.log_end_offset, end_of(mine))
            self.assertEqual(self.partition.high_watermark, min(leader.high_watermark, end_of(mine)))
            self.metadata.remove(f"t{seed}")

    def test_deleted_records(self) -> None:
        """The same where the leader has deleted its first records, often up to an offset within a batch."""
        within = 0
        for seed in range(300):
            random = Random(seed)
            history = History(random)
            for _ in range(random.randint(1, 6)):
                history.reign(random.randint(0, 1))
            mine, theirs = history.logs
            leader = self.lead(seed, mine, history.epoch + 1)
            start = end_of(theirs) if seed % 4 else random.randint(0, end_of(mine))
            leader.log.advance_log_start(min(start, end_of(mine)))
            self.max_bytes = random.choice((1, 100, 1 << 20))
            self.follow(theirs, history.epoch + 1, history.noted)
            begun = any(one[0] < start < end_of([one]) for one in mine)
            within += begun and start == end_of(theirs)
            for _ in range(MOST_ROUNDS):
                before = (self.log.log_end_offset, self.log.latest_epoch)
                self.exchange(f"t{seed}")
                self.assertTrue(self.follower.is_ready(), seed)
                if before == (end_of(mine), self.log.latest_epoch):
                    break
            self.assertEqual(self.log.log_end_offset, end_of(mine), seed)
            self.log.advance_log_start(max(leader.log.log_start_offset, self.log.log_start_offset))
            leader.log.advance_log_start(self.log.log_start_offset)
            self.assertEqual(stored(self.log), stored(leader.log), seed)
            self.metadata.remove(f"t{seed}")
        self.assertGreater(within, 2)
