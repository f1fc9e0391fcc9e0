"""Tests of kafkatx.networkclient.protocol."""

from __future__ import annotations

import socket
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.errors import ClientClosed, ClosedByPeer, ConnectionFailed, RequestTimedOut
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.networkclient.protocol import CLOSE_S, READ_BYTES, BrokerProtocol, ConnectionLimits
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafkatx.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkatx.wire.messages.produce import ProduceRequest
from tests.client.fakes import NOTHING, Endpoint, Link, Network
from tests.networkclient.case import NEWEST


def ask(key: str) -> FindCoordinatorRequest:
    """Return a request that differs from others by its key."""
    return FindCoordinatorRequest(key=key, coordinator_keys=[key])


class ProtocolTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Connect to a broker that answers with the length of the group's name as the coordinator's port."""
        self.network = Network()
        self.network.answers[FindCoordinatorRequest] = self.answer
        self.network.answers[ListGroupsRequest] = lambda *_: ListGroupsResponse()
        self.network.answers[ProduceRequest] = lambda *_: NOTHING
        self.held: dict[str, Deferred[Any]] = {}
        self.lost = 0
        self.connect(ConnectionLimits(request_s=30.0))

    def connect(self, limits: ConnectionLimits) -> None:
        """Make another connection."""
        clock: Clock = self.network.clock
        self.protocol = BrokerProtocol(clock, "broker1:9092", "me", limits)
        self.protocol.on_lost = self.count

        class ToIt:
            def buildProtocol(_, address: Any) -> BrokerProtocol:
                return self.protocol

        self.successResultOf(Endpoint(self.network, "broker1", 9092).connect(ToIt()))
        self.link: Link = self.network.links[-1]
        self.protocol.wire.negotiate(self.link.versions(0))

    def count(self) -> None:
        """Count a lost connection."""
        self.lost += 1

    def answer(self, node: int, request: Any, version: int) -> Any:
        """Answer at once, unless the name says to hold it."""
        if request.key.startswith("hold"):
            self.held[request.key] = Deferred()
            return self.held[request.key]
        return FindCoordinatorResponse(port=len(request.key))

    def ask(self, key: str, **options: Any) -> Deferred[Any]:
        """Send a request in a version that has one key."""
        return self.protocol.request(ask(key), at_most=3, **options)

    def test_pipelined(self) -> None:
        """Requests are sent without waiting for responses, and each gets its own."""
        waiting = [self.ask("a" * size) for size in range(1, 4)]
        self.assertEqual(self.protocol.in_flight, 3)
        self.assertEqual(self.network.requests, [])
        self.network.pump()
        self.assertEqual([self.successResultOf(one).port for one in waiting], [1, 2, 3])
        self.assertEqual(self.protocol.in_flight, 0)
        self.assertEqual(self.link.client_id, "me")

    def test_time_out(self) -> None:
        """A late response ends the connection: its request times out, and those after it fail."""
        late, patient = self.ask("hold"), self.ask("behind", timeout_s=60)
        self.network.pump(29.9)
        self.assertNoResult(late)
        self.network.pump(0.2)
        error = self.failureResultOf(late, RequestTimedOut).value
        self.assertIn("did not answer FindCoordinator within 30 s", str(error))
        self.assertIn("broker1:9092", str(error))
        behind = self.failureResultOf(patient).value
        self.assertIs(type(behind), ConnectionFailed)
        self.assertEqual((self.lost, self.link.gone), (1, True))
        self.failureResultOf(self.ask("after"), ConnectionFailed)
        self.assertEqual(self.network.clock.getDelayedCalls(), [])

    def test_own_time_out(self) -> None:
        """A request may have a shorter or longer time-out than those before it."""
        long, short = self.ask("hold", timeout_s=100), self.ask("short", timeout_s=5)
        self.network.pump(5.1)
        self.failureResultOf(short, RequestTimedOut)
        self.failureResultOf(long, ConnectionFailed)

    def test_next_time_out(self) -> None:
        """The next deadline is watched after a response."""
        self.network.result(self.ask("now"))
        long, short = self.ask("hold", timeout_s=60), self.ask("short", timeout_s=45)
        self.network.pump(30)
        self.network.pump(15.1)
        self.failureResultOf(short, RequestTimedOut)
        self.failureResultOf(long, ConnectionFailed)

    def test_longer_time_out(self) -> None:
        """A late response within a longer time-out is accepted, and the connection stays open."""
        long = self.ask("hold", timeout_s=100)
        self.network.run(99, step=9)
        self.held["hold"].callback(FindCoordinatorResponse(port=9))
        self.network.pump()
        self.assertEqual(self.successResultOf(long).port, 9)
        self.assertEqual(self.lost, 0)

    def test_cancel(self) -> None:
        """The response of a cancelled request is dropped, and the next ones get theirs."""
        first, second = self.ask("a"), self.ask("bb")
        first.cancel()
        self.failureResultOf(first, CancelledError)
        self.network.pump()
        self.assertEqual(self.successResultOf(second).port, 2)

    def test_throttled(self) -> None:
        """The throttle time of a broker extends the time-outs of later requests (KIP-219)."""
        self.network.answers[ListGroupsRequest] = lambda *_: ListGroupsResponse(throttle_time_ms=20_000)
        told, behind = self.protocol.request(ListGroupsRequest()), self.ask("hold")
        self.network.pump()
        self.successResultOf(told)
        self.network.run(49, step=7)
        self.assertNoResult(behind)
        self.network.pump(1.1)
        self.failureResultOf(behind, RequestTimedOut)

    def test_unsupported(self) -> None:
        """An unsupported request, or one with an invalid field, fails by itself."""
        self.network.newest[ListGroupsRequest] = -1
        self.connect(ConnectionLimits())
        error = self.failureResultOf(self.protocol.request(ListGroupsRequest()), RequestError).value
        self.assertIs(error.code, ErrorCode.UNSUPPORTED_VERSION)
        self.failureResultOf(self.protocol.request(FindCoordinatorRequest(key_type=1000)), ValueError)
        good = self.ask("good")
        self.network.pump()
        self.assertEqual(self.successResultOf(good).port, 4)
        self.assertEqual(self.protocol.version_for(FindCoordinatorRequest), NEWEST)
        self.assertEqual(self.protocol.version_for(FindCoordinatorRequest, 2), 2)
        self.assertRaises(RequestError, self.protocol.version_for, ListGroupsRequest)

    def test_lost(self) -> None:
        """A lost connection calls on_lost first, then fails all waiting requests."""
        waiting = self.ask("hold")
        waiting.addErrback(lambda failure: (self.lost, failure.value))
        self.network.pump()
        self.link.lose()
        lost, error = self.successResultOf(waiting)
        self.assertEqual(lost, 1)
        self.assertIsInstance(error, ClosedByPeer)
        self.assertIn("broker1:9092 closed the connection", str(error))
        self.assertEqual(self.network.clock.getDelayedCalls(), [])

    def test_answered_twice(self) -> None:
        """A repeated response ends the connection with a warning, and waiting requests fail."""
        answered, waiting = self.ask("x"), self.ask("hold")
        said: list[bytes] = []
        receive = self.link.protocol.dataReceived

        def received(data: bytes) -> None:
            said.append(data)
            receive(data)

        self.link.protocol.dataReceived = received
        self.network.pump()
        self.successResultOf(answered)
        with capturedLogs() as events:
            receive(said[0])
        self.assertIn("broker1:9092 cannot be used", str(self.failureResultOf(waiting).value))
        (event,) = [event for event in events if event["log_level"] is LogLevel.warn]
        self.assertIn("came where", formatEvent(event))

    def test_nonsense(self) -> None:
        """Responses without a request, and those that are too large, end the connection."""
        self.link.protocol.dataReceived(b"\0\0\0\4\0\0\0\7")
        self.assertIn("does not speak Kafka's protocol", str(self.protocol.error))
        self.connect(ConnectionLimits(response_bytes=100))
        waiting = self.ask("x")
        self.link.protocol.dataReceived(b"\0\0\0\x65")
        self.failureResultOf(waiting, ConnectionFailed)
        self.assertEqual(self.lost, 2)

    def test_answer_sent_twice(self) -> None:
        """A second response to one request ends the connection, fails waiting requests, and is logged."""
        answer = b"\0\0\0\x1a" + b"\0\0\0\0" + b"\0" * 22
        first = self.ask("a")
        self.network.pump()
        self.successResultOf(first)
        second = self.ask("hold")
        with capturedLogs() as events:
            self.link.protocol.dataReceived(answer)
        self.failureResultOf(second, ConnectionFailed)
        (line,) = [event for event in events if event["log_level"] is LogLevel.warn]
        self.assertIn("broker1:9092", formatEvent(line))

    def test_idle(self) -> None:
        """An idle connection is closed after its time, without an error for any request."""
        self.connect(ConnectionLimits(idle_s=10.0))
        self.network.run(9, step=3)
        answered = self.ask("a")
        self.network.run(9, step=3)
        self.successResultOf(answered)
        held = self.ask("hold")
        self.network.run(20, step=3)
        self.assertEqual(self.lost, 0)
        self.held["hold"].callback(FindCoordinatorResponse())
        self.network.run(15, step=1)
        self.successResultOf(held)
        self.assertEqual((self.lost, self.link.gone), (1, True))
        self.assertIsInstance(self.protocol.error, ClientClosed)
        self.assertEqual(self.network.clock.getDelayedCalls(), [])

    def test_never_idle(self) -> None:
        """No timer runs between requests without a limit."""
        self.assertEqual(self.network.clock.getDelayedCalls(), [])

    def test_no_reply(self) -> None:
        """A request without a response fires once the socket accepts it."""
        free = self.protocol.request(ProduceRequest(), expect_reply=False)
        self.assertIsNone(self.successResultOf(free))
        self.assertIs(self.link.producer, self.protocol)
        self.protocol.pauseProducing()
        full = self.protocol.request(ProduceRequest(), expect_reply=False)
        self.assertNoResult(full)
        self.protocol.resumeProducing()
        self.assertIsNone(self.successResultOf(full))
        self.network.pump()
        self.assertEqual(len(self.network.sent(ProduceRequest)), 2)
        self.assertEqual(self.protocol.in_flight, 0)

    def test_full_for_too_long(self) -> None:
        """A broker that does not read for the time of a request is given up."""
        self.protocol.pauseProducing()
        full = self.protocol.request(ProduceRequest(), expect_reply=False)
        self.network.pump(30.1)
        self.assertIn("read nothing for 30 s", str(self.failureResultOf(full, ConnectionFailed).value))
        self.assertTrue(self.link.gone)

    def test_close(self) -> None:
        """A close sends the remaining bytes, fails waiting requests, and fires once the socket is closed."""
        waiting = self.ask("x")
        closed = self.protocol.close(ClientClosed("enough"))
        self.failureResultOf(waiting, ClientClosed)
        self.assertIsNone(self.link.producer)  # else the transport would wait for it
        self.assertNoResult(closed)
        self.network.pump()
        self.successResultOf(closed)
        self.assertEqual(len(self.network.sent(FindCoordinatorRequest)), 1)
        self.successResultOf(self.protocol.close(ClientClosed("again")))
        self.assertEqual(self.network.clock.getDelayedCalls(), [])

    def test_close_in_vain(self) -> None:
        """A close of a connection to a broker that does not read ends after a while."""
        closed = self.protocol.close(ClientClosed("enough"))
        self.network.clock.advance(CLOSE_S - 0.1)
        self.assertNoResult(closed)
        self.network.clock.advance(0.2)
        self.network.clock.advance(0)
        self.successResultOf(closed)

    def test_buffers(self) -> None:
        """The socket's buffers are set only if settings have a size."""
        self.connect(ConnectionLimits())
        self.assertEqual(self.link.options, [])
        self.assertEqual(self.link.bufferSize, READ_BYTES)
        self.connect(ConnectionLimits(send_buffer_bytes=1000, receive_buffer_bytes=2000))
        self.assertEqual(
            self.link.options,
            [(socket.SOL_SOCKET, socket.SO_SNDBUF, 1000), (socket.SOL_SOCKET, socket.SO_RCVBUF, 2000)],
        )
