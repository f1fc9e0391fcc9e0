"""Reading from followers that leaders name."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.consumer.fetcher import Fetcher
from kafkatx.blocking.consumer.read_replicas import AVOID_S, ReadReplicas
from kafkatx.clientcore.errors import OffsetOutOfRange
from kafkatx.errors import ErrorCode
from kafkatx.records.builder import build_values
from kafkatx.wire.messages.fetch import FetchRequest
from tests.blocking.fakes import LOSE_REPLY, FakeCluster, Log

FOLLOWER = 2
END = 9


class RackCluster(FakeCluster):
    """Broker 1 leads and names broker 2 to clients with a rack; that one has a copy.

    :ivar copied: the number of records that the follower has.
    :ivar follower_error: the error of each fetch from it.
    :ivar named: the broker that a replica names.
    :ivar follower_names: True if the follower names a replica, too.
    :ivar follower_s: the time that a fetch from the follower takes.
    """

    copied: int = END
    follower_error: int = 0
    named: int = FOLLOWER
    follower_names: bool = False
    follower_s: float = 0.0

    def _fetched(self, node: int, topic: str, asked: Any, error: int) -> Any:
        log = self.topics[topic][asked.partition]
        request: FetchRequest = self.requests[-1][1]
        if node == FOLLOWER:
            self.now += self.follower_s
            leader, log.leader = log.leader, node
            try:
                answer = super()._fetched(node, topic, asked, error or self.follower_error)
            finally:
                log.leader = leader
            answer.high_watermark = answer.last_stable_offset = self.copied
            if self.follower_names:
                answer.preferred_read_replica = self.named
            if self.follower_names or asked.fetch_offset >= self.copied:
                answer.records = memoryview(b"")
            return answer
        answer = super()._fetched(node, topic, asked, error)
        if request.rack_id == "r2" and not answer.error_code:
            answer.preferred_read_replica = self.named
            answer.records = memoryview(b"")
        return answer


class ReadReplicasTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A partition with offsets 0 to 8 in three batches, of which one fetch returns one."""
        log = Log()
        for _ in range(3):
            log.append(build_values([b"value"] * 3, 1))
        self.log = log
        self.fake = RackCluster({"t": [log]}, brokers=2, fetch_bytes=len(log.batches[0]))

    def read(self, start: int = 0, end: int | None = END, **options: Any) -> int:
        """Read all, with a rack; return the number of batches."""
        options.setdefault("rack", "r2")
        fetcher = Fetcher(self.fake.client(), "t", {0: (start, end)}, **options)
        chunks = list(fetcher.chunks())
        expected = self.log.batches[start // 3 :]
        self.assertEqual([bytes(chunk.data) for chunk in chunks], expected)
        return len(chunks)

    def asked(self) -> list[int]:
        """The brokers of all fetches, in order."""
        return [node for node, message in self.fake.requests if isinstance(message, FetchRequest)]

    def test_from_the_follower(self) -> None:
        """All batches come from the follower; the leader's empty reply skips none."""
        self.assertEqual(self.read(), 3)
        self.assertEqual(self.asked(), [1, 2, 2, 2])

    def test_no_rack(self) -> None:
        """Without a rack the leader is read."""
        self.read(rack="")
        self.assertEqual(set(self.asked()), {1})

    def test_errors_of_the_follower(self) -> None:
        """After any error of the follower the leader is read, without a pause and without a rack."""
        for code in (
            ErrorCode.OFFSET_NOT_AVAILABLE,
            ErrorCode.OFFSET_OUT_OF_RANGE,
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ):
            self.setUp()
            self.fake.follower_error = code
            self.assertEqual(self.read(), 3)
            self.assertEqual(self.asked(), [1, 2, 1, 1, 1])
            self.assertEqual(self.fake.slept, [])

    def test_out_of_range_at_the_leader(self) -> None:
        """An offset that neither has is the error that it was without a rack."""
        fetcher = Fetcher(self.fake.client(), "t", {0: (50, 60)}, rack="r2")
        self.assertRaises(OffsetOutOfRange, list, fetcher.chunks())

    def test_lost_follower(self) -> None:
        """The leader is read if the follower cannot be reached."""
        self.fake.down = {FOLLOWER}
        self.assertEqual(self.read(), 3)
        self.assertEqual(set(self.asked()), {1})

    def test_lost_reply(self) -> None:
        """The leader is read on from the same offset after a reply of the follower was lost."""
        self.fake.faults[FetchRequest].extend([None, None, LOSE_REPLY])
        self.assertEqual(self.read(), 3)
        self.assertEqual(self.asked()[:3], [1, 2, 2])
        self.assertEqual(set(self.asked()[3:]), {1})

    def test_lagging_follower(self) -> None:
        """Records that the follower lacks come from the leader."""
        self.fake.copied = 6
        self.assertEqual(self.read(), 3)
        self.assertEqual(self.asked(), [1, 2, 2, 2, 1])

    def test_max_age(self) -> None:
        """After the maximal age the leader is asked again."""
        client = self.fake.client()
        replicas = ReadReplicas(client, "t", "r2", 60.0)
        client.metadata(["t"])
        replicas.name(0, FOLLOWER)
        node = replicas.follower(0)
        self.assertEqual(node and node.id, FOLLOWER)
        self.fake.now += 60
        self.assertIsNone(replicas.follower(0))
        self.assertEqual(replicas.rack_for([0]), "r2")

    def test_unknown_replica(self) -> None:
        """A replica that the metadata do not have is not read, and the leader is not asked for ever."""
        self.fake.named = 7
        self.assertEqual(self.read(), 3)
        self.assertEqual(self.asked(), [1, 1, 1, 1])

    def test_follower_names_a_replica(self) -> None:
        """A follower that names a replica in place of records is left for the leader."""
        self.fake.follower_names = True
        self.assertEqual(self.read(), 3)
        self.assertEqual(self.asked(), [1, 2, 1, 1, 1])

    def test_max_age_in_flight(self) -> None:
        """A partition whose fetch from a follower is in flight is not fetched from the leader as well."""
        self.fake.follower_s = 60.0
        self.assertEqual(self.read(max_age_s=60.0), 3)
        self.assertEqual(self.asked(), [1, 2, 1, 2, 1, 2])

    def test_avoided_for_a_while(self) -> None:
        """A request that has an avoided partition has no rack, until the time is over."""
        client = self.fake.client()
        client.metadata(["t"])
        replicas = ReadReplicas(client, "t", "r2", 60.0)
        replicas.name(0, FOLLOWER)
        replicas.avoid_all()
        self.assertIsNone(replicas.follower(0))
        self.assertEqual((replicas.rack_for([0, 1]), replicas.rack_for([1])), ("", "r2"))
        self.fake.now += AVOID_S
        self.assertEqual(replicas.rack_for([0, 1]), "r2")
