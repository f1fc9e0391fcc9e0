"""The fetches from one broker: what is asked for when, and what happens between a fetch and its answer."""

from __future__ import annotations

import uuid
from typing import Any

import attrs
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock
from twisted.logger import Logger

from kafkatx.broker.replica.fetcher import replica_fetcher
from kafkatx.broker.replica.fetcher.follower import Follower
from kafkatx.broker.replica.fetcher.replica_fetcher import FetchLimits, ReplicaFetcher
from kafkatx.broker.replica.roles import Following
from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.consumer.fetch_session import FEWEST
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.errors import ErrorCode
from kafkatx.net.limited_log import LimitedLog
from kafkatx.types import BrokerNode, PartitionState
from kafkatx.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from tests.broker.replica.fetcher.case import TOPIC_ID, FollowerCase, batch

LIMITS = FetchLimits(500, 1, 1000, 5000, 30.0)


class FakeConnection:
    """A connection whose requests the test answers.

    :ivar requests: each request for partitions with the Deferred of its answer.
    :ivar hurries: number of requests for nothing.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[FetchRequest, Deferred[FetchResponse]]] = []
        self.hurries = 0
        self.options: dict[str, Any] = {}
        self.closed = False

    def request(self, message: FetchRequest, **options: Any) -> Deferred[FetchResponse]:
        """Send a request."""
        self.options = options
        if not message.topics and message.session_epoch < 0:
            self.hurries += 1
            return Deferred()
        self.requests.append((message, Deferred()))
        return self.requests[-1][1]

    def close(self) -> Deferred[None]:
        """Close the connection."""
        self.closed = True
        return succeed(None)


class FetcherCase(FollowerCase):
    """Broker 1 copies partitions from broker 2."""

    def setUp(self) -> None:
        """Make the fetcher, without a partition."""
        super().setUp()
        self.connection = FakeConnection()
        self.node: BrokerNode | None = BrokerNode(1, "b1", 9101, epoch=11)
        connection: Any = self.connection
        self.fetcher = ReplicaFetcher(
            BrokerNode(2, "b2", 9102, epoch=12),
            connection,
            lambda: self.node,
            LIMITS,
            self.clock,
            Backoff(first_ms=50, longest_ms=1000),
            LimitedLog(Logger(), self.clock),
        )

    def add(self, number: int = 0) -> Follower:
        """Copy one more partition; its topic has the number in its id."""
        self.partition = self.make_partition(self.make_log())
        follower = self.make_follower()
        follower.topic_id = uuid.UUID(int=TOPIC_ID.int + number)
        self.fetcher.add(follower)
        return follower

    def asked(self) -> list[int]:
        """Return the numbers of the partitions of the last request, whose answer is awaited."""
        request, waiting = self.connection.requests[-1]
        self.assertFalse(waiting.called)
        return [topic.topic_id.int - TOPIC_ID.int for topic in request.topics]

    def reply(self, parts: dict[int, PartitionData], code: int = 0) -> None:
        """Answer the last request."""
        topics = [
            FetchableTopicResponse("", uuid.UUID(int=TOPIC_ID.int + number), [part])
            for number, part in parts.items()
        ]
        self.connection.requests[-1][1].callback(FetchResponse(error_code=code, responses=topics))


def found(*batches: bytes, code: int = 0) -> PartitionData:
    """Return the answer for a partition."""
    return PartitionData(0, code, 0, records=memoryview(b"".join(batches)))


class RoundTests(FetcherCase):
    def test_request(self) -> None:
        """A fetch names this broker's epoch, and is of a version that has it; there is one at a time."""
        self.add()
        request, _ = self.connection.requests[0]
        self.assertEqual(self.connection.options, {"version": 15, "timeout_s": 30.0})
        assert request.replica_state is not None
        self.assertEqual((request.replica_state.replica_id, request.replica_state.replica_epoch), (1, 11))
        self.assertEqual((request.max_wait_ms, request.min_bytes, request.max_bytes), (500, 1, 5000))
        self.assertEqual(request.topics[0].partitions[0].partition_max_bytes, 1000)
        self.add(1)
        self.clock.advance(10.0)
        self.assertEqual(len(self.connection.requests), 1)

    def test_again(self) -> None:
        """After an answer the next fetch follows at once, with the new offset and all partitions."""
        self.add()
        self.add(1)
        self.reply({0: found(batch(0, 5), batch(1, 5))})
        self.assertEqual(sorted(self.asked()), [0, 1])
        offsets = {t.topic_id: t.partitions[0].fetch_offset for t in self.connection.requests[-1][0].topics}
        self.assertEqual(offsets[TOPIC_ID], 2)

    def test_turns(self) -> None:
        """Partitions with records go behind the others: a limited answer serves all in turn."""
        for number in range(3):
            self.add(number)
        self.reply({0: found()})
        self.assertEqual(self.asked(), [0, 1, 2])
        self.reply({0: found(batch(0, 5)), 1: found(), 2: found()})
        self.assertEqual(self.asked(), [1, 2, 0])
        self.reply({1: found(batch(0, 5)), 2: found(batch(0, 5)), 0: found()})
        self.assertEqual(self.asked(), [0, 1, 2])

    def test_paused_partition(self) -> None:
        """A partition that pauses is left out of the fetches until its pause has ended."""
        self.add()
        self.add(1)
        self.reply({0: found()})
        self.reply({0: found(code=6), 1: found()})
        self.assertEqual(self.asked(), [1])
        self.clock.advance(0.05)
        self.reply({1: found()})
        self.assertEqual(self.asked(), [0, 1])

    def test_all_pause(self) -> None:
        """Without a partition that is ready no fetch is sent; the first end of a pause wakes."""
        self.add()
        self.reply({0: found(code=6)})
        self.assertEqual(len(self.connection.requests), 1)
        self.clock.advance(0.049)
        self.assertEqual(len(self.connection.requests), 1)
        self.clock.advance(0.002)
        self.assertEqual(self.asked(), [0])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_added_while_all_pause(self) -> None:
        """A partition that comes while all others pause is asked for at once."""
        self.add()
        self.reply({0: found(code=6)})
        self.add(1)
        self.assertEqual(self.asked(), [1])

    def test_unasked_answers(self) -> None:
        """Answers for partitions that were not asked for, or a second one, are left alone."""
        follower = self.add()
        topic = FetchableTopicResponse("", TOPIC_ID, [found(batch(0, 5)), found(batch(1, 5)), found()])
        topic.partitions[2].partition_index = 7
        other = FetchableTopicResponse("", uuid.UUID(int=99), [found(batch(0, 5))])
        self.connection.requests[-1][1].callback(FetchResponse(responses=[other, topic]))
        self.assertEqual(follower.partition.log.log_end_offset, 1)


class SessionTests(FetcherCase):
    """Many partitions are named once."""

    def setUp(self) -> None:
        """Copy as many partitions as begin a session, and let it begin."""
        super().setUp()
        for number in range(FEWEST):
            self.add(number)
        self.connection.requests[-1][1].callback(FetchResponse())
        self.assertEqual(len(self.asked()), FEWEST)
        self.answer()

    def answer(self, code: int = 0, **parts: PartitionData) -> None:
        """Answer the last request with the news of partitions ``p0``, ``p1``..."""
        topics = [
            FetchableTopicResponse("", uuid.UUID(int=TOPIC_ID.int + int(name[1:])), [part])
            for name, part in parts.items()
        ]
        _, waiting = self.connection.requests[-1]
        waiting.callback(FetchResponse(error_code=code, session_id=0 if code else 7, responses=topics))

    def session_epoch(self) -> int:
        """The session's epoch in the last request."""
        return self.connection.requests[-1][0].session_epoch

    def test_only_changes(self) -> None:
        """A fetch names what has got records; without records nothing."""
        self.assertEqual((self.session_epoch(), self.asked()), (1, []))
        self.answer(p3=found(batch(0, 5)))
        self.assertEqual((self.session_epoch(), self.asked()), (2, [3]))
        self.answer()
        self.assertEqual((self.session_epoch(), self.asked()), (3, []))

    def test_paused(self) -> None:
        """A partition that pauses is taken out of the session, and comes back after that."""
        self.answer(p3=found(code=6))
        forgotten = self.connection.requests[-1][0].forgotten_topics_data
        self.assertEqual([topic.topic_id.int - TOPIC_ID.int for topic in forgotten], [3])
        self.clock.advance(0.05)
        self.answer()
        self.assertEqual(self.asked(), [3])

    def test_lost(self) -> None:
        """A leader that has lost the session is asked for all, at once; and so after a lost answer."""
        self.answer(code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        self.assertEqual((self.session_epoch(), len(self.asked())), (0, FEWEST))
        self.answer()
        self.assertEqual((self.session_epoch(), self.asked()), (1, []))
        self.connection.requests[-1][1].errback(ConnectionFailed("gone"))
        self.clock.advance(0.05)
        self.assertEqual((self.session_epoch(), len(self.asked())), (0, FEWEST))
        self.assertEqual(self.connection.requests[-1][0].session_id, 7)

    def test_copied_anew(self) -> None:
        """A partition whose answer was not used, as it is copied anew meanwhile, is named again."""
        follower = next(iter(self.fetcher.followers))
        self.fetcher.remove(follower)
        self.fetcher.followers[self.copied_again(follower)] = None
        self.answer(p0=found())
        self.assertEqual(self.asked(), [0])

    def copied_again(self, follower: Follower) -> Follower:
        """Another follower of the same partition."""
        self.partition = follower.partition
        other = self.make_follower()
        other.topic_id = follower.topic_id
        return other


class HurryTests(FetcherCase):
    """A fetch that waits at the leader is answered at once when more is to be asked for."""

    def hurries(self) -> int:
        """Return the number of requests for nothing, and check that there is one fetch under way."""
        self.clock.advance(0)
        self.assertEqual(len([one for one, waiting in self.connection.requests if not waiting.called]), 1)
        return self.connection.hurries

    def test_added(self) -> None:
        """Partitions that come hurry the fetch under way, all of one turn together, and that only once."""
        self.add()
        self.assertEqual(self.hurries(), 0)
        self.add(1)
        self.add(2)
        self.assertEqual(self.hurries(), 1)
        self.add(3)
        self.assertEqual(self.hurries(), 1)
        self.reply({0: found()})
        self.assertEqual(self.asked(), [0, 1, 2, 3])
        self.assertEqual(self.hurries(), 1)
        self.add(4)
        self.assertEqual(self.hurries(), 2)

    def test_pause_ends(self) -> None:
        """The end of the pause of a partition hurries the fetch of the others."""
        self.add()
        self.add(1)
        self.reply({0: found()})
        self.reply({0: found(code=6), 1: found()})
        self.assertEqual((self.asked(), self.hurries()), ([1], 1))
        self.clock.advance(0.04)
        self.assertEqual(self.hurries(), 1)
        self.clock.advance(0.02)
        self.assertEqual(self.hurries(), 2)

    def test_answered_meanwhile(self) -> None:
        """Nothing is hurried when no fetch is under way, or the broker is not registered."""
        self.add()
        self.reply({0: found(code=6)})
        self.fetcher.wake()
        self.clock.advance(0)
        self.assertEqual(self.connection.hurries, 0)
        self.clock.advance(0.06)
        self.add(1)
        self.node = None
        self.assertEqual(self.hurries(), 0)


class BetweenTests(FetcherCase):
    """Partitions that change between a fetch and its answer (race 6)."""

    def test_removed(self) -> None:
        """Nothing is appended to a partition that is not copied any more."""
        follower = self.add()
        self.fetcher.remove(follower)
        self.reply({0: found(batch(0, 5))})
        self.assertEqual(follower.partition.log.log_end_offset, 0)

    def test_another_epoch(self) -> None:
        """An answer to the fetch of an earlier epoch is not used in the next one, of the same leader."""
        old = self.add()
        self.fetcher.remove(old)
        partition = old.partition
        partition.apply(attrs.evolve(partition.state, leader_epoch=6), acts=True)
        self.partition = partition
        new = self.make_follower()
        self.assertEqual(new.role, Following(2, 6))
        self.fetcher.add(new)
        self.reply({0: found(batch(0, 5))})
        self.assertEqual(partition.log.log_end_offset, 0)
        self.assertEqual(self.connection.requests[-1][0].topics[0].partitions[0].current_leader_epoch, 6)

    def test_role_alone(self) -> None:
        """Nothing is appended after the role has changed, even if the fetcher was not told yet."""
        follower = self.add()
        state = PartitionState(1, 6, (2, 1), (2, 1), revision=101)
        follower.partition.apply(state, acts=True)
        self.reply({0: found(batch(0, 5))})
        self.assertEqual(follower.partition.log.log_end_offset, 0)


class LongAnswerTests(FetcherCase):
    def setUp(self) -> None:
        """Append one batch in a turn; answer with one for each of three partitions."""
        super().setUp()
        self.patch(replica_fetcher, "TURN_BYTES", 10)
        self.three = [self.add(number) for number in range(3)]
        self.reply({0: found()})
        self.reply({number: found(batch(0, 5)) for number in range(3)})

    def ends(self) -> list[int]:
        """Return the log ends."""
        return [follower.partition.log.log_end_offset for follower in self.three]

    def test_turns(self) -> None:
        """A long answer is worked off in turns of the reactor; the next fetch comes after the last."""
        self.assertEqual((self.ends(), len(self.connection.requests)), ([1, 0, 0], 2))
        seen: list[tuple[list[int], int]] = []
        self.clock.callLater(0, lambda: seen.append((self.ends(), len(self.connection.requests))))
        self.clock.advance(0)
        self.assertEqual(seen, [([1, 1, 0], 2)])
        self.assertEqual((self.ends(), len(self.connection.requests)), ([1, 1, 1], 3))

    def test_removed_meanwhile(self) -> None:
        """A partition that goes between two turns gets nothing more."""
        self.fetcher.remove(self.three[1])
        self.clock.pump([0, 0, 0])
        self.assertEqual(self.ends(), [1, 0, 1])

    def test_stopped_meanwhile(self) -> None:
        """After the stop nothing more is appended."""
        self.successResultOf(self.fetcher.stop())
        self.clock.pump([0, 0, 0])
        self.assertEqual(self.ends(), [1, 0, 0])
        self.assertEqual(self.clock.getDelayedCalls(), [])


class FailureTests(FetcherCase):
    def test_connection(self) -> None:
        """A fetch whose connection fails is repeated after a pause, which grows until one succeeds."""
        self.add()
        for pause_s in (0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0):
            count = len(self.connection.requests)
            self.connection.requests[-1][1].errback(ConnectionFailed("it is away"))
            self.clock.advance(pause_s - 0.001)
            self.assertEqual(len(self.connection.requests), count)
            self.clock.advance(0.002)
            self.assertEqual(len(self.connection.requests), count + 1)
        self.reply({0: found()})
        self.connection.requests[-1][1].errback(ConnectionFailed("it is away"))
        count = len(self.connection.requests)
        self.clock.advance(0.051)
        self.assertEqual(len(self.connection.requests), count + 1)

    def test_stale_epoch(self) -> None:
        """A leader that knows another life of this broker is asked again, with the epoch of then."""
        self.add()
        self.reply({}, ErrorCode.STALE_BROKER_EPOCH)
        self.node = BrokerNode(1, "b1", 9101, epoch=13)
        self.clock.advance(0.05)
        state = self.connection.requests[-1][0].replica_state
        self.assertEqual(state and state.replica_epoch, 13)

    def test_not_registered(self) -> None:
        """A broker that is not registered fetches nothing until it is."""
        self.node = None
        self.add()
        self.clock.pump([0.01] * 100)
        self.assertEqual(self.connection.requests, [])
        self.node = BrokerNode(1, "b1", 9101, epoch=13)
        self.clock.advance(1.0)
        self.assertEqual(self.asked(), [0])

    def test_bug(self) -> None:
        """An exception that is a bug is logged, and the fetches go on."""
        self.add()
        self.connection.requests[-1][1].errback(ZeroDivisionError())
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.clock.advance(0.05)
        self.assertEqual(self.asked(), [0])


class StopTests(FetcherCase):
    def check_stopped(self) -> None:
        """Check that a stop leaves nothing behind."""
        self.successResultOf(self.fetcher.stop())
        count = len(self.connection.requests)
        self.clock.pump([1.0] * 10)
        self.assertEqual((len(self.connection.requests), self.clock.getDelayedCalls()), (count, []))
        self.assertTrue(self.connection.closed)

    def test_unused(self) -> None:
        """Without a partition there is nothing but the connection."""
        self.check_stopped()

    def test_while_fetching(self) -> None:
        """A fetch under way is given up."""
        self.add()
        self.check_stopped()

    def test_while_waiting(self) -> None:
        """Waiting for the end of a pause is given up."""
        self.add()
        self.reply({0: found(code=6)})
        self.check_stopped()

    def test_while_pausing(self) -> None:
        """The pause after a failure is given up."""
        self.add()
        self.connection.requests[-1][1].errback(ConnectionFailed("it is away"))
        self.check_stopped()

    def test_by_an_answer(self) -> None:
        """The stop may come from within the answer, as when a log dir fails."""
        follower = self.add()
        stopping: list[Deferred[None]] = []

        def fail() -> None:
            stopping.append(self.fetcher.stop())
            raise OSError(5, "the disk is gone")

        self.patch(follower.partition.log, "write", fail)
        self.reply({0: found(batch(0, 5))})
        self.successResultOf(stopping[0])
        self.assertEqual((len(self.connection.requests), self.clock.getDelayedCalls()), (1, []))


class SlowFlushTests(FetcherCase):
    def test_flushed(self) -> None:
        """A partition that waits for a flush is asked for when that has ended, without a timer."""
        follower = self.add()
        flushing: Deferred[int] = Deferred()
        self.patch(follower.partition.log, "flush", lambda: flushing)
        self.patch(type(follower.partition), "must_flush", property(lambda _: not flushing.called))
        self.reply({0: found(batch(0, 5))})
        follower._on_flushed = self.fetcher.wake
        self.assertEqual(len(self.connection.requests), 1)
        self.assertIsInstance(self.clock, Clock)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        flushing.callback(1)
        self.assertEqual(self.asked(), [0])
