"""Fetch: the time of the reply, and sessions."""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.fetch import (
    FetchRequest,
)
from tests.broker.fetch.case import FetchTestCase, asking
from tests.broker.running import codes, values


class SessionTests(FetchTestCase):
    def test_session(self) -> None:
        """The first request of a session is answered in full, later ones with what is new or named."""
        self.fill(b"v")
        for version in range(7, 13):
            first = self.fetch(version=version, session_epoch=0)
            self.assertEqual((first.error_code, bool(first.session_id)), (0, True))
            self.assertEqual(values(first.responses[0].partitions[0].records), [b"v"])
            named = self.fetch(asking(1), version=version, session_id=first.session_id, session_epoch=1)
            self.assertFalse(named.responses[0].partitions[0].records)
            again = self.fetch([], version=version, session_id=first.session_id, session_epoch=2)
            self.assertEqual((again.error_code, again.session_id, again.responses), (0, first.session_id, []))

    def test_unknown_session(self) -> None:
        """An unknown session is an error of the whole reply."""
        for version in range(7, 13):
            response = self.fetch(version=version, session_id=5, session_epoch=1)
            self.assertEqual(
                (response.error_code, response.responses), (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, [])
            )

    def test_session_that_ends(self) -> None:
        """A fetch with epoch 0 or -1 is a full fetch, whatever session it ends."""
        self.fill(b"v")
        for epoch in (0, -1):
            self.assertEqual(self.fetch(session_id=5, session_epoch=epoch).error_code, 0)


class WaitTests(FetchTestCase):
    def check_nothing_left(self) -> None:
        """Assert that no timer runs and no fetch is parked."""
        self.assertEqual(self.clock.getDelayedCalls(), [])
        partitions = self.broker.topics.of("t")
        self.assertEqual([p.delayed_fetches for p in partitions], [set()] * len(partitions))

    def test_data_ends_it(self) -> None:
        """A parked fetch is answered as soon as min_bytes can be read."""
        waiting = self.park()
        self.assertNoResult(waiting)
        self.fill(b"v")
        (part,) = self.came(waiting)
        self.assertEqual(values(part.records), [b"v"])
        self.check_nothing_left()

    def test_min_bytes(self) -> None:
        """Fewer bytes than min_bytes do not end the wait; all partitions together count."""
        self.fill(b"v" * 100)
        waiting = self.park(asking(0, 0), min_bytes=300)
        self.fill(b"v", partition=1)
        self.assertNoResult(waiting)
        self.fill(b"v" * 100, partition=1)
        first, second = self.came(waiting)
        self.assertEqual((len(values(first.records)), len(values(second.records))), (1, 2))

    def test_enough_is_answered_at_once(self) -> None:
        """A fetch does not wait if min_bytes are there, or if min_bytes is 0."""
        self.came(self.park(min_bytes=0))
        self.fill(b"v")
        self.came(self.park())

    def test_min_bytes_above_the_limit(self) -> None:
        """A min_bytes above max_bytes is reduced to max_bytes, since no reply could hold more."""
        for _ in range(10):
            self.fill(b"v" * 100)
        (part,) = self.came(self.park(asking(0), min_bytes=10**6, max_bytes=500))
        self.assertTrue(values(part.records))

    def test_time_ends_it(self) -> None:
        """The reply is sent after max_wait_ms with the records available."""
        self.fill(b"v")
        waiting = self.park(min_bytes=10**6)
        self.clock.advance(0.499)
        self.assertNoResult(waiting)
        self.clock.advance(0.001)
        (part,) = self.came(waiting)
        self.assertEqual(values(part.records), [b"v"])
        self.check_nothing_left()

    def test_error_in_one_ends_it(self) -> None:
        """An error of one partition ends the wait, though the other has nothing to read."""
        (waiting, broken) = self.came(self.park(asking(0, 5)))
        self.assertEqual((waiting.error_code, broken.error_code), (0, ErrorCode.OFFSET_OUT_OF_RANGE))

    def test_no_partitions(self) -> None:
        """A fetch without partitions is answered at once."""
        answer = self.answer(1, 12, FetchRequest(max_wait_ms=500, min_bytes=1))
        self.assertNotIsInstance(answer, Deferred)
        self.assertEqual(self.response(1, 12, answer).responses, [])

    def test_cancelled(self) -> None:
        """A cancelled fetch leaves no timer and is not parked any more."""
        waiting = self.park(asking(0, 0))
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        self.check_nothing_left()
        self.fill(b"v")

    def test_deleted_topic_ends_it(self) -> None:
        """A fetch that waits for a topic is answered at once when the topic is deleted."""
        waiting = self.park()
        self.successResultOf(Deferred.fromCoroutine(self.broker.topic_commands.delete("t")))
        self.assertEqual(codes(self.came(waiting)), [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])
        self.check_nothing_left()

    def test_many_wait(self) -> None:
        """All fetches parked at a partition are answered by one write."""
        waiting = [self.park() for _ in range(5)]
        self.fill(b"v")
        for one in waiting:
            (part,) = self.came(one)
            self.assertEqual(values(part.records), [b"v"])
