"""Tests of kafkatx.networkclient.wait_warning, and of the clients that use it when they start."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client import Admin, Consumer, Producer, SimpleConsumer
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.networkclient.wait_warning import WaitWarning
from tests.client.fakes import Network
from tests.networkclient.case import ClusterTestCase


class WaitWarningTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a clock that does not begin at 0."""
        self.clock = Clock()
        self.clock.advance(1000)

    def test_intervals(self) -> None:
        """Warnings come after 5, 10, 20 and 40 s, each with the last error."""
        seconds: list[int] = []
        with capturedLogs() as events, WaitWarning(self.clock, "a:1, b:2") as waiting:
            for second in range(60):
                self.clock.advance(1)
                seconds += [second + 1] * (len(events) - len(seconds))
                waiting.error = ConnectionFailed("refused")
        self.assertEqual(seconds, [5, 10, 20, 40])
        self.assertEqual(
            formatEvent(events[0]), "no broker at a:1, b:2 for 5 s; trying until one answers: refused"
        )
        self.assertEqual(formatEvent(events[-1]), "a broker has answered after 60 s")

    def test_silence(self) -> None:
        """A broker that neither refuses nor answers has a message of its own."""
        with capturedLogs() as events, WaitWarning(self.clock, "a:1"):
            self.clock.advance(5)
        self.assertEqual(formatEvent(events[0]), "no broker at a:1 for 5 s; still waiting for an answer")

    def test_quick_answer(self) -> None:
        """An answer within 5 s logs nothing, and leaves no timer."""
        with capturedLogs() as events, WaitWarning(self.clock, "a:1"):
            self.clock.advance(4.9)
        self.assertEqual((events, self.clock.getDelayedCalls()), ([], []))

    def test_failure(self) -> None:
        """A wait that ends with an exception logs no answer, and leaves no timer."""
        with capturedLogs() as events:
            try:
                with WaitWarning(self.clock, "a:1"):
                    self.clock.advance(6)
                    raise ConnectionFailed("no")
            except ConnectionFailed:
                pass
        self.assertEqual([event["log_level"] for event in events], [LogLevel.warn])
        self.assertEqual(self.clock.getDelayedCalls(), [])


class StartTests(SynchronousTestCase):
    """Every client warns while its start waits for a broker that accepts connections and is silent."""

    def check(self, make: Any, **settings: Any) -> None:
        """Start a client; check that its warning names the server, and comes once in seven seconds."""
        network = Network()
        network.mute.add(1)
        client = make(
            {"bootstrap_servers": "broker1:9092", "kafkatx_endpoint": network.endpoint, **settings},
            reactor=network.clock,
        )
        with capturedLogs() as events:
            starting = client.start()
            network.run(7, step=0.5)
        self.assertNoResult(starting)
        self.assertEqual(
            [formatEvent(event) for event in events if event["log_level"] is LogLevel.warn],
            ["no broker at broker1:9092 for 5 s; still waiting for an answer"],
        )
        closing = client.close()
        network.pump(6)
        self.failureResultOf(starting)
        self.successResultOf(closing)

    def test_producer(self) -> None:
        """A producer warns."""
        self.check(Producer)

    def test_consumer(self) -> None:
        """A consumer of a group warns."""
        self.check(Consumer, group_id="g")

    def test_admin(self) -> None:
        """An admin client warns."""
        self.check(Admin)

    def test_simple_consumer(self) -> None:
        """A SimpleConsumer warns."""
        self.check(SimpleConsumer)


class RetryTests(ClusterTestCase):
    def test_refusals(self) -> None:
        """A call that brokers refuse repeatedly is logged seldom, with the reason."""

        async def attempt() -> None:
            raise RequestError(ErrorCode.NOT_CONTROLLER, "not the controller")

        with capturedLogs() as events:
            waiting = Deferred.fromCoroutine(self.cluster.retrying(attempt))
            self.network.run(14)
        warnings = [formatEvent(event) for event in events if event["log_level"] is LogLevel.warn]
        self.assertEqual(len(warnings), 2)
        self.assertRegex(warnings[0], "^still trying after [56] s: not the controller$")
        waiting.cancel()
        self.failureResultOf(waiting)
