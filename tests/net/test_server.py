"""The limits of a server: the memory of its connections, and their number."""

from __future__ import annotations

from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.logger import LogLevel, capturedLogs

from kafkatx.net.admission.held_off import HeldOff
from kafkatx.net.admission.limits import AdmissionLimits, ListenerLimits
from kafkatx.net.connection import FRAME_BYTES, HELD_BYTES, READ_BYTES, SHORT_READ_BYTES
from kafkatx.net.pool import CHECK_S
from kafkatx.net.requests import Reply
from kafkatx.net.server import KafkaServerFactory, ListenerFactory
from tests.net.fakes import ConnectionTestCase, PullTransport, fetch, framed, produce

BIG = b"x" * (HELD_BYTES // 2)


class BackPressureTests(ConnectionTestCase):
    def test_peer_that_never_reads_is_closed(self) -> None:
        """A peer that reads no reply for connections.max.idle.ms is closed; a slow one is not."""
        self.factory = self.make_factory(max_idle_ms=10_000)
        slow, slow_transport = self.connect()
        never, never_transport = self.connect()
        for connection, transport in ((slow, slow_transport), (never, never_transport)):
            transport.block()
            connection.dataReceived(fetch(b"a"))
        self.clock.advance(6)
        slow_transport.drain()
        slow_transport.block()
        slow.dataReceived(fetch(b"b"))
        self.clock.advance(6)
        self.factory.close_idle()
        self.assertEqual((slow_transport.disconnected, never_transport.disconnected), (False, True))

    def test_reading_pauses_at_held_bytes(self) -> None:
        """Reading pauses while more than HELD_BYTES wait behind the request being served, then resumes."""
        parked = self.requests.script[b"parked"] = Deferred[Reply]()
        connection, transport = self.connect()
        connection.dataReceived(fetch(b"parked", BIG))
        self.assertEqual(transport.producerState, "producing")
        connection.dataReceived(fetch(BIG, b"last"))
        self.assertEqual(transport.producerState, "paused")
        parked.callback(framed(b"parked"))
        self.settle()
        self.assertEqual(transport.producerState, "producing")
        self.assertEqual(transport.replies(), [b"parked", BIG, BIG, b"last"])

    def test_busy_sender_stops_serving(self) -> None:
        """No request of a peer is served while it does not read its replies."""
        connection, transport = self.connect()
        transport.block()
        connection.dataReceived(fetch(b"a"))
        connection.dataReceived(fetch(b"b") + produce(b"c"))
        self.assertEqual(self.requests.events, [b"a"])
        transport.drain()
        self.settle()
        self.assertEqual(transport.replies(), [b"a", b"b", b"c"])

    def test_reading_resumes_when_the_peer_does(self) -> None:
        """A peer that pipelines more than HELD_BYTES before it reads is served again when it reads."""
        connection, transport = self.connect()
        transport.block()
        connection.dataReceived(fetch(b"a"))
        connection.dataReceived(fetch(BIG, BIG, b"last"))
        self.assertEqual(transport.producerState, "paused")
        transport.drain()
        self.settle()
        self.assertEqual(transport.replies(), [b"a", BIG, BIG, b"last"])
        self.assertEqual(transport.producerState, "producing")

    def test_replies_of_one_read_are_bounded(self) -> None:
        """Small requests with large replies are served only as far as the peer reads the replies."""
        reply = framed(b"r" * 100_000)
        names = [b"%d" % number for number in range(100)]
        self.requests.script.update(dict.fromkeys(names, reply))
        connection, transport = self.connect()
        transport.block()
        connection.dataReceived(fetch(*names))
        self.assertLess(len(self.requests.events), 20)
        transport.drain()
        for _ in range(len(names)):
            self.settle()
        self.assertEqual(self.requests.events, names)
        self.assertEqual(len(transport.replies()), len(names))

    def test_violation_behind_a_busy_sender(self) -> None:
        """A broken frame behind unsent replies closes the connection after them."""
        connection, transport = self.connect()
        transport.block()
        connection.dataReceived(fetch(b"a"))
        connection.dataReceived(fetch(b"b") + b"\xff\xff\xff\xff")
        transport.drain()
        self.settle()
        self.assertEqual(transport.replies(), [b"a", b"b"])
        self.assertTrue(transport.disconnecting)


class SentTests(ConnectionTestCase):
    def setUp(self) -> None:
        """Make a connection that records when its replies are sent."""
        super().setUp()
        self.said: list[str] = []
        self.connection, self.transport = self.connect()

    def answer_later(self) -> None:
        """Answer a request, and ask to be told when the reply is sent."""
        parked = self.requests.script[b"parked"] = Deferred[Reply]()
        self.connection.dataReceived(fetch(b"parked"))
        self.connection.peer.when_sent.append(lambda: self.said.append("sent"))
        parked.callback(framed(b"parked"))

    def test_said_at_once(self) -> None:
        """A reply that the peer reads at once is reported as sent at once, and only once."""
        self.answer_later()
        self.assertEqual(self.said, ["sent"])
        self.connection.dataReceived(fetch(b"next"))
        self.lose(self.connection)
        self.assertEqual(self.said, ["sent"])

    def test_said_when_drained(self) -> None:
        """A reply is reported as sent when a slow peer has read all of it."""
        self.transport.block()
        self.answer_later()
        before = self.connection.peer.rounds()
        self.assertEqual(self.said, [])
        self.transport.drain()
        self.assertEqual(self.said, ["sent"])
        self.assertGreater(self.connection.peer.rounds(), before)

    def test_said_when_lost(self) -> None:
        """A lost connection is reported at once to the callers that wait for the reply to be sent."""
        self.transport.block()
        self.answer_later()
        self.lose(self.connection)
        self.assertEqual(self.said, ["sent"])

    def test_abort(self) -> None:
        """A peer can be closed at once for a reason, which is logged."""
        with capturedLogs() as events:
            self.connection.peer.abort("it is in the way")
        self.assertTrue(self.transport.disconnected)
        (event,) = events
        self.assertEqual((event["log_level"], event["reason"]), (LogLevel.warn, "it is in the way"))


class PoolTests(ConnectionTestCase):
    def setUp(self) -> None:
        """Make a small pool, and connections of which the first two are in the middle of a request."""
        super().setUp()
        self.factory = self.make_factory(max_queued_bytes=1000)
        self.first, self.first_transport = self.connect()
        self.second, self.second_transport = self.connect()
        self.small, self.small_transport = self.connect()

    def fill(self) -> None:
        """Make the first two hold more than the pool has, with as much still missing."""
        self.first.dataReceived(fetch(b"x" * 2000)[:600])
        self.second.dataReceived(fetch(b"y" * 2000)[:600])
        self.assertTrue(self.factory.pool.exhausted)

    def states(self) -> list[str]:
        """Return the producer states of the three transports."""
        transports = self.first_transport, self.second_transport, self.small_transport
        return [transport.producerState for transport in transports]

    def test_the_first_goes_on(self) -> None:
        """Only the first of the connections in the middle of a request may read on."""
        self.fill()
        self.assertEqual(self.states(), ["producing", "paused", "producing"])
        self.first.dataReceived(fetch(b"x" * 2000)[600:])
        self.assertEqual(self.first_transport.replies(), [b"x" * 2000])
        self.assertEqual(self.states(), ["producing", "producing", "producing"])

    def test_turn_passes_on(self) -> None:
        """The next connection has its turn when the first has finished and the pool is still exhausted."""
        self.fill()
        third, third_transport = self.connect()
        third.dataReceived(fetch(b"z" * 4000)[:1000])
        self.first.dataReceived(fetch(b"x" * 2000)[600:])
        self.assertTrue(self.factory.pool.exhausted)
        self.assertEqual(self.states(), ["producing", "producing", "producing"])
        self.assertEqual(third_transport.producerState, "paused")

    def test_turn_ends_with_the_request(self) -> None:
        """A connection that sends request after request has a turn for one of them, not for all."""
        self.fill()
        self.requests.script[b"parked"] = Deferred[Reply]()
        self.small.dataReceived(fetch(b"parked", b"z" * 1000))  # memory stays short
        self.first.dataReceived(fetch(b"x" * 2000)[600:] + fetch(b"x" * 2000)[:900])
        self.assertEqual(self.first_transport.replies(), [b"x" * 2000])
        self.assertEqual(self.states(), ["paused", "producing", "paused"])

    def test_small_requests_are_served(self) -> None:
        """Requests that arrive whole are served while the pool is exhausted."""
        self.fill()
        self.small.dataReceived(fetch(b"a"))
        self.assertEqual(self.small_transport.replies(), [b"a"])
        self.assertEqual(self.small_transport.producerState, "producing")

    def test_new_holder_waits(self) -> None:
        """A connection that begins a request while the pool is exhausted is read no further."""
        self.fill()
        self.small.dataReceived(fetch(b"b" * 5000)[:3])
        self.assertEqual(self.small_transport.producerState, "producing")  # its size is not known yet
        self.small.dataReceived(fetch(b"b" * 5000)[3:600])
        self.assertEqual(self.small_transport.producerState, "paused")

    def test_stalled_is_closed(self) -> None:
        """A connection that sends nothing in its turn is closed with one log line."""
        self.fill()
        with capturedLogs() as events:
            for _ in range(3):
                self.clock.advance(CHECK_S)
        (event,) = events
        self.assertIn("0 bytes of a request in 2 s", event["reason"])
        self.assertTrue(self.first_transport.disconnected)
        self.lose(self.first)
        self.assertEqual(self.second_transport.producerState, "producing")

    def test_slow_is_not_stalled(self) -> None:
        """A connection that keeps sending keeps its turn, and is not hurried unless others wait."""
        self.fill()
        self.clock.advance(CHECK_S)
        self.first.dataReceived(fetch(b"x" * 2000)[600:])
        for _ in range(100):
            self.clock.advance(CHECK_S)
        disconnected = self.first_transport.disconnected, self.second_transport.disconnected
        self.assertEqual(disconnected, (False, False))

    def test_waiting_requests_count(self) -> None:
        """Requests that wait behind one being served count as held; they are released when it ends."""
        parked = self.requests.script[b"parked"] = Deferred[Reply]()
        self.small.dataReceived(fetch(b"parked", b"x" * 1000))
        self.assertTrue(self.factory.pool.exhausted)
        parked.callback(framed(b"parked"))
        self.settle()
        self.assertFalse(self.factory.pool.exhausted)

    def test_tiny_requests_count(self) -> None:
        """Many tiny requests that wait count for more than their bytes: each takes an object."""
        self.requests.script[b"parked"] = Deferred[Reply]()
        self.small.dataReceived(fetch(b"parked", *[b"a"] * 10))
        self.assertGreaterEqual(self.factory.pool.held_bytes, 10 * FRAME_BYTES)

    def test_waiting_request_does_not_keep_a_large_read(self) -> None:
        """A small request that waits is copied: it would keep all of the read that it was a part of."""
        self.requests.script[b"parked"] = Deferred[Reply]()
        data = bytearray(fetch(b"x" * 200_000, b"parked", b"a"))
        self.small.dataReceived(bytes(data))
        (waiting,) = self.small._inbox
        self.assertLess(len(bytes(waiting.obj)), 100)

    def test_lost_connection_frees_its_share(self) -> None:
        """A lost connection releases its memory, and those that waited for it read again."""
        self.fill()
        self.lose(self.first)
        self.assertEqual(self.second_transport.producerState, "producing")
        self.lose(self.second)
        self.assertEqual((self.factory.pool.exhausted, self.factory.pool.held_bytes), (False, 0))

    def test_violation_frees_its_share(self) -> None:
        """A connection closed for a violation releases its memory."""
        parked = self.requests.script[b"parked"] = Deferred[Reply]()
        self.small.dataReceived(fetch(b"parked", b"x" * 1000))
        self.small.dataReceived(b"\xff\xff\xff\xff")
        parked.callback(framed(b"parked"))
        self.settle()
        self.assertTrue(self.small_transport.disconnecting)
        self.assertFalse(self.factory.pool.exhausted)


class LoginPoolTests(ConnectionTestCase):
    def test_before_a_login(self) -> None:
        """Before its login a connection is read from in small pieces, and shares a small pool with others."""
        factory = self.make_factory(max_queued_bytes=1000)
        connection, transport = self.connect(factory)
        connection.use(self.requests, 5000, has_login=False)
        connection.dataReceived(fetch(b"x" * 2000)[:600])
        self.assertEqual((factory.pool.held_bytes, factory.login_pool.held_bytes), (0, 600))
        self.assertEqual(transport.bufferSize, SHORT_READ_BYTES)
        other, other_transport = self.connect(factory)
        other.use(self.requests, 5000, has_login=False)
        other.dataReceived(fetch(b"x" * 2000)[:600])
        self.assertEqual((transport.producerState, other_transport.producerState), ("producing", "paused"))

    def test_after_it(self) -> None:
        """With its login it shares the memory of all requests."""
        factory = self.make_factory()
        connection, transport = self.connect(factory)
        connection.use(self.requests, 5000, has_login=False)
        connection.dataReceived(fetch(b"x" * 2000)[:600])
        connection.use(self.requests, 5000)
        self.assertEqual((factory.pool.held_bytes, factory.login_pool.held_bytes), (600, 0))
        self.assertEqual(transport.bufferSize, READ_BYTES)


class AdmissionTests(ConnectionTestCase):
    """The decisions themselves are tested in ``tests.net.admission``."""

    def limited(self, **limits: Any) -> KafkaServerFactory:
        """Return a server with limits of connections."""
        return self.make_factory(admission=AdmissionLimits(**limits))

    def test_refusal(self) -> None:
        """A refused connection is closed; the one warning names the setting, its value and the address."""
        factory = self.limited(max_connections_per_ip=1)
        self.connect(factory)
        with capturedLogs() as events:
            self.assertIsNone(factory.buildProtocol(PullTransport("192.0.2.1").getPeer()))
        (event,) = (e for e in events if e["log_level"] == LogLevel.warn)
        self.assertEqual((event["host"], event["limit"]), ("192.0.2.1", "max.connections.per.ip=1"))

    def test_health_check(self) -> None:
        """A peer that connects and leaves causes no line."""
        with capturedLogs() as events:
            connection, _ = self.connect()
            self.lose(connection)
        self.assertEqual([event for event in events if event["log_level"] != LogLevel.debug], [])

    def test_gone_connections_do_not_count(self) -> None:
        """A connection that ends no longer counts against the limit."""
        factory = self.limited(max_connections=1)
        connection, _ = self.connect(factory)
        self.assertIsNone(factory.buildProtocol(PullTransport("192.0.2.2").getPeer()))
        self.lose(connection)
        self.connect(factory)

    def test_other_limits(self) -> None:
        """Limits that change while the server runs count at once."""
        factory = self.limited(max_connections=1)
        self.connect(factory)
        factory.use(attrs.evolve(factory.limits, admission=AdmissionLimits(max_connections=2)))
        self.connect(factory)

    def test_held_off(self) -> None:
        """A connection above the rate of its address is not read from, closed later, and counts meanwhile."""
        factory = self.limited(max_connections=11)
        factory.admission.limit_addresses({"192.0.2.1": 1.0})
        for _ in range(10):
            self.connect(factory)
        peer = PullTransport("192.0.2.1")
        held = factory.buildProtocol(peer.getPeer())
        assert isinstance(held, HeldOff)
        held.makeConnection(peer)
        self.assertIsNone(factory.buildProtocol(PullTransport("192.0.2.2").getPeer()))
        self.assertEqual((peer.producerState, peer.disconnected), ("paused", False))
        self.clock.advance(1)
        self.assertTrue(peer.disconnected)
        held.connectionLost()
        self.connect(factory, "192.0.2.2")

    def test_stop(self) -> None:
        """The end of the server closes connections that are held off, too."""
        factory = self.limited()
        factory.admission.limit_addresses({None: 0.1})
        self.connect(factory)
        peer = PullTransport("192.0.2.1")
        held = factory.buildProtocol(peer.getPeer())
        assert isinstance(held, HeldOff)
        held.makeConnection(peer)
        factory.close_all()
        self.assertTrue(peer.disconnected)

    def test_room_for_brokers(self) -> None:
        """Another broker gets the place of the client that is idle longest, not that of a broker."""
        factory = self.limited(max_connections=3, protected="INTERNAL")
        clients = ListenerFactory(factory, self.requests, "PLAINTEXT")
        brokers = ListenerFactory(factory, self.requests, "INTERNAL")
        made = []
        for listener in (brokers, clients, clients):
            transport = PullTransport("192.0.2.1")
            connection = listener.buildProtocol(transport.getPeer())
            assert connection is not None
            connection.makeConnection(transport)
            made.append((connection, transport))
            self.clock.advance(1)
        self.assertIsNone(clients.buildProtocol(PullTransport("192.0.2.1").getPeer()))
        self.assertIsNotNone(brokers.buildProtocol(PullTransport("192.0.2.1").getPeer()))
        self.assertEqual([transport.disconnected for _, transport in made], [False, True, False])

    def test_no_room(self) -> None:
        """Brokers that have all connections among themselves get no more."""
        factory = self.limited(max_connections=1, protected="INTERNAL")
        brokers = ListenerFactory(factory, self.requests, "INTERNAL")
        transport = PullTransport("192.0.2.1")
        connection = brokers.buildProtocol(transport.getPeer())
        assert connection is not None
        connection.makeConnection(transport)
        self.assertIsNone(brokers.buildProtocol(transport.getPeer()))

    def test_pauses(self) -> None:
        """A listener whose connections come too fast pauses, and the others do not."""
        factory = self.limited(listeners={"A": ListenerLimits(creation_rate=1)})
        paused: list[float] = []
        for name, count in (("B", 20), ("A", 11)):
            listener = ListenerFactory(factory, self.requests, name)
            listener.pauses.append(paused.append)
            for _ in range(count):
                listener.buildProtocol(PullTransport("192.0.2.1").getPeer())
        self.assertEqual(paused, [1.0])


class ChainTests(ConnectionTestCase):
    CONNECTIONS = 500

    def test_no_recursion(self) -> None:
        """A chain of 500 connections, each woken by the write before it, does not exhaust the stack."""
        made = []
        for number in range(self.CONNECTIONS):
            name = b"parked %d" % number
            self.requests.script[name] = Deferred[Reply]()
            connection, transport = self.connect(port=5000 + number)
            connection.dataReceived(fetch(name) + produce(b"wakes the next"))
            made.append((self.requests.script[name], transport, framed(name)))

        def wake() -> None:
            if made_left:
                deferred, _, reply = made_left.pop()
                self.requests.on_wake.append(wake)
                deferred.callback(reply)

        made_left = made[::-1]
        first, _ = self.connect()
        self.requests.on_wake.append(wake)
        first.dataReceived(produce(b"first"))
        for _ in range(self.CONNECTIONS + 1):
            self.clock.advance(0)
        self.assertEqual(made_left, [])
        self.assertTrue(all(len(transport.replies()) == 2 for _, transport, _ in made))


class SetUpTests(ConnectionTestCase):
    def test_large_reads(self) -> None:
        """A read takes enough bytes for small requests to share a write, if its size can be set."""

        class Socket(PullTransport):
            bufferSize = 1

        transport = Socket()
        connection = self.factory.buildProtocol(transport.getPeer())
        assert connection is not None
        connection.makeConnection(transport)
        self.assertEqual(transport.bufferSize, READ_BYTES)
