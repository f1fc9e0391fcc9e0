"""Connections that are muted for a while after an answer (KIP-219)."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, fail

from kafkatx.errors import ProtocolViolation
from kafkatx.net.connection import HELD_BYTES, KafkaConnection
from kafkatx.net.pool import GRACE_S
from kafkatx.net.requests import Answer, Peer, Reply
from tests.net.fakes import ConnectionTestCase, ScriptedRequests, fetch, framed, produce

MUTED_MS = 5000


class Throttling(ScriptedRequests):
    """A dispatch that throttles the peer of each request in :attr:`throttled`."""

    def __init__(self) -> None:
        super().__init__()
        self.throttled: set[bytes] = set()

    def answer(self, frame: memoryview, peer: Peer) -> Answer:
        """Answer, and throttle the peer if the request says so."""
        if bytes(frame[2:]) in self.throttled:
            peer.throttle_time_ms = MUTED_MS
        return super().answer(frame, peer)


class MutingTestCase(ConnectionTestCase):
    def setUp(self) -> None:
        """Throttle the peer of each request named "over"."""
        super().setUp()
        self.throttling = self.requests = Throttling()
        self.throttling.throttled = {b"over"}
        self.factory = self.make_factory()

    def assert_muted(self, transport: Any) -> None:
        """Assert that reading is paused for exactly the throttle time."""
        self.assertEqual(transport.producerState, "paused")
        self.clock.advance(MUTED_MS / 1000 - 1)
        self.assertEqual(transport.producerState, "paused")
        self.clock.advance(1)
        self.settle()
        self.assertEqual(transport.producerState, "producing")


class MutingTests(MutingTestCase):
    def test_answer_comes_first(self) -> None:
        """The answer is sent at once; then nothing is read until the throttle time is over."""
        for request in (fetch(b"over"), produce(b"over")):
            connection, transport = self.connect()
            connection.dataReceived(request)
            self.assertEqual(transport.replies(), [b"over"])
            self.assert_muted(transport)
            connection.dataReceived(fetch(b"next"))
            self.assertEqual(transport.replies(), [b"over", b"next"])

    def test_without_a_reply(self) -> None:
        """A request without a reply (acks=0) mutes its connection as well."""
        self.requests.script[b"over"] = None
        connection, transport = self.connect()
        connection.dataReceived(produce(b"over", b"next"))
        self.assertEqual(self.requests.events, [b"over", ("write", [b"over"]), "wake"])
        self.assert_muted(transport)
        self.assertEqual(transport.replies(), [b"next"])

    def test_what_came_waits(self) -> None:
        """Requests already received wait until the throttle time is over, even those of the same round."""
        connection, transport = self.connect()
        connection.dataReceived(produce(b"a", b"over", b"b") + fetch(b"c"))
        self.settle()
        self.assertEqual(transport.replies(), [b"a", b"over"])
        self.assertEqual(self.requests.events, [b"a", b"over", ("write", [b"a", b"over"]), "wake"])
        self.assert_muted(transport)
        self.assertEqual(transport.replies(), [b"a", b"over", b"b", b"c"])

    def test_what_was_on_its_way_waits(self) -> None:
        """Bytes that arrive although reading is paused wait, too."""
        connection, transport = self.connect()
        connection.dataReceived(fetch(b"over"))
        connection.dataReceived(fetch(b"next"))
        self.settle()
        self.assertEqual(transport.replies(), [b"over"])
        self.assert_muted(transport)
        self.assertEqual(transport.replies(), [b"over", b"next"])

    def test_again(self) -> None:
        """A peer that is throttled again is muted again."""
        connection, transport = self.connect()
        connection.dataReceived(fetch(b"over", b"over", b"next"))
        self.assertEqual(transport.replies(), [b"over"])
        self.clock.advance(MUTED_MS / 1000)
        self.assertEqual(transport.replies(), [b"over", b"over"])
        self.assert_muted(transport)
        self.assertEqual(transport.replies(), [b"over", b"over", b"next"])

    def test_answer_that_comes_later(self) -> None:
        """A late answer mutes when it is ready, since a fetch learns late how many bytes it returns."""
        parked = self.requests.script[b"parked"] = Deferred[Reply]()
        connection, transport = self.connect()
        connection.dataReceived(fetch(b"parked", b"next"))
        self.assertEqual(transport.producerState, "producing")
        connection.peer.throttle_time_ms = MUTED_MS
        parked.callback(framed(b"parked"))
        self.settle()
        self.assertEqual(transport.replies(), [b"parked"])
        self.assert_muted(transport)
        self.assertEqual(transport.replies(), [b"parked", b"next"])

    def test_answer_that_comes_later_and_last(self) -> None:
        """A late answer mutes at once, whether or not more requests follow."""
        parked = self.requests.script[b"parked"] = Deferred[Reply]()
        connection, transport = self.connect()
        connection.dataReceived(fetch(b"parked"))
        connection.peer.throttle_time_ms = MUTED_MS
        parked.callback(framed(b"parked"))
        self.assert_muted(transport)

    def test_replies_that_are_owed(self) -> None:
        """Requests received before the mute are answered during it."""
        flushing = self.requests.script[b"flushing"] = Deferred[Reply]()
        connection, transport = self.connect()
        connection.dataReceived(produce(b"flushing", b"over"))
        self.assertEqual((transport.replies(), transport.producerState), ([], "paused"))
        flushing.callback(framed(b"flushing"))
        self.assertEqual(transport.replies(), [b"flushing", b"over"])
        self.assert_muted(transport)

    def test_others(self) -> None:
        """Other connections are served, even those from the same host."""
        connection, _ = self.connect()
        connection.dataReceived(fetch(b"over"))
        other, other_transport = self.connect()
        other.dataReceived(fetch(b"next"))
        self.assertEqual((other_transport.replies(), other_transport.producerState), ([b"next"], "producing"))

    def test_back_pressure_goes_on(self) -> None:
        """A peer that has sent more than may be held for it stays paused after the mute."""
        parked = self.requests.script[b"parked"] = Deferred[Reply]()
        connection, transport = self.connect()
        connection.dataReceived(fetch(b"over", b"parked", b"x" * HELD_BYTES))
        self.clock.advance(MUTED_MS / 1000)
        self.assertEqual((transport.replies(), transport.producerState), ([b"over"], "paused"))
        parked.callback(framed(b"parked"))
        self.settle()
        self.assertEqual(transport.producerState, "producing")


class MutedEndTests(MutingTestCase):
    """The end of muted connections, which leaves no timer behind."""

    def muted(self, data: bytes = b"") -> tuple[KafkaConnection, Any]:
        """Return a muted connection with *data* behind the request that muted it."""
        connection, transport = self.connect()
        connection.dataReceived(fetch(b"over") + data)
        return connection, transport

    def test_peer_goes(self) -> None:
        """A disconnect cancels the timer."""
        connection, _ = self.muted()
        self.lose(connection)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_broker_stops(self) -> None:
        """A stopping broker closes muted connections at once."""
        _, transport = self.muted(fetch(b"next"))
        self.settle()
        self.factory.close_all()
        self.assertTrue(transport.disconnecting)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_violation_in_the_same_round(self) -> None:
        """A request that closes the connection does not mute it."""
        self.requests.finishing[b"over"] = ProtocolViolation("acks=0")
        connection, transport = self.connect()
        connection.dataReceived(produce(b"over"))
        self.assertTrue(transport.disconnecting)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_closed_while_it_is_served(self) -> None:
        """A connection that closes with the answer is no longer muted."""
        self.requests.script[b"over"] = fail(ProtocolViolation("unwritten"))
        connection, transport = self.connect()
        connection.dataReceived(fetch(b"over"))
        self.assertTrue(transport.disconnecting)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_violation_waits(self) -> None:
        """A violation behind waiting requests closes the connection only after those are served."""
        _, transport = self.muted(fetch(b"next") + b"GET / HTTP/1.1\r\n")
        self.settle()
        self.assertFalse(transport.disconnecting)
        self.clock.advance(MUTED_MS / 1000)
        self.assertTrue(transport.disconnecting)
        self.assertEqual(transport.replies(), [b"over", b"next"])

    def test_idle(self) -> None:
        """A muted peer is closed for being idle like any other, since a lost peer would go unnoticed."""
        self.factory = self.make_factory(max_idle_ms=3000)
        _, transport = self.muted()
        self.factory.close_idle()
        self.clock.advance(2.5)
        self.factory.close_idle()
        self.assertFalse(transport.disconnected)
        self.clock.advance(1)
        self.factory.close_idle()
        self.assertTrue(transport.disconnected)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_not_idle_after_it(self) -> None:
        """The time of a mute does not count as idle time once the mute is over."""
        self.factory = self.make_factory(max_idle_ms=int(MUTED_MS * 0.9))
        _, transport = self.muted()
        self.factory.close_idle()
        self.clock.advance(MUTED_MS / 1000)
        self.factory.close_idle()
        self.assertFalse(transport.disconnected)


class MutedPoolTests(MutingTestCase):
    """Muted connections while memory is short (queued.max.request.bytes)."""

    def test_turn_passes_on(self) -> None:
        """A connection muted in the middle of a request does not keep the others waiting for memory."""
        self.factory = self.make_factory(max_queued_bytes=1000)
        unfinished = fetch(b"y" * 5000)[:600]
        first, first_transport = self.connect()
        second, second_transport = self.connect()
        first.dataReceived(fetch(b"over") + unfinished)
        second.dataReceived(unfinished)
        self.assertTrue(self.factory.pool.exhausted)
        self.assertTrue(self.factory.pool.may_read(second))
        self.assertEqual(
            (first_transport.producerState, second_transport.producerState), ("paused", "producing")
        )
        self.clock.advance(MUTED_MS / 1000)
        self.assertEqual(first_transport.producerState, "paused")
        second.dataReceived(fetch(b"y" * 5000)[600:])
        self.assertEqual(first_transport.producerState, "producing")

    def test_not_stalled_after_it(self) -> None:
        """A connection whose turn comes after a long mute is given time to send."""
        self.factory = self.make_factory(max_queued_bytes=500)
        connection, transport = self.connect()
        connection.dataReceived(fetch(b"over") + fetch(b"y" * 5000)[:600])
        self.clock.advance(MUTED_MS / 1000)
        other, _ = self.connect()
        other.dataReceived(fetch(b"z" * 5000)[:600])
        self.assertFalse(self.factory.pool.may_read(other))
        self.clock.advance(GRACE_S)
        self.assertFalse(transport.disconnected)
