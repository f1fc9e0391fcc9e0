"""Samples of this broker and of others."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import attrs
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.console.cluster.log_ends import PATIENCE_S
from kafkatx.broker.console.cluster.samples import FORGOTTEN_S, KEPT_S, SILENT_S, ClusterSamples
from kafkatx.broker.history.packed import pack
from kafkatx.broker.history.samples import Samples
from kafkatx.broker.history.window import Window
from kafkatx.errors import KafkaTXError
from kafkatx.types import BrokerNode, ClusterState
from kafkatx.wire.messages.describe_samples import (
    DescribeSamplesRequest,
    DescribeSamplesResponse,
    LatestSample,
    SampledSeries,
)

WINDOW = Window(1000, 100, 3)


class SamplesTests(SynchronousTestCase):
    """Broker 1 asks broker 2, a fake, which tells ``cpu`` 2, and 7 at all times."""

    def setUp(self) -> None:
        """Make the brokers."""
        self.clock = Clock()
        self.asked: list[DescribeSamplesRequest] = []
        self.answers: Any = self.told
        self.broker: Any = Mock(clock=self.clock, node_id=1, samples=Samples())
        nodes = {1: BrokerNode(1, "a", 1), 2: BrokerNode(2, "b", 2)}
        self.broker.metadata.state = ClusterState("c", 1, nodes, {})
        for second in (100, 101, 102):
            self.broker.samples.history.add(1000 * second, {"cpu": 1.0})
        self.samples = ClusterSamples(self.broker, Mock(request=self.request))

    def request(self, node: BrokerNode, message: DescribeSamplesRequest, version: int) -> Deferred[Any]:
        """Answer for broker 2; ApiVersions does not list the request."""
        self.assertEqual((node.id, version), (2, 0))
        self.asked.append(message)
        answer: Deferred[Any] = self.answers(message)
        return answer

    def told(self, message: DescribeSamplesRequest) -> Deferred[Any]:
        """Return samples."""
        series = [SampledSeries(name, pack([7.0] * message.count)) for name in message.series]
        return succeed(DescribeSamplesResponse(latest=[LatestSample("cpu", 2.0)], series=series))

    def latest(self) -> Any:
        """Return the newest samples; wait as long as an answer may take."""
        asked = Deferred.fromCoroutine(self.samples.latest())
        if not asked.called:
            self.clock.advance(PATIENCE_S)
        return self.successResultOf(asked)

    def columns(self, only: int | None = None) -> Any:
        """Return the values of ``cpu`` by broker."""
        asked = Deferred.fromCoroutine(self.samples.over_time(["cpu"], WINDOW, only))
        if not asked.called:
            self.clock.advance(PATIENCE_S)
        return {broker_id: list(one["cpu"]) for broker_id, one in self.successResultOf(asked).items()}

    def test_latest(self) -> None:
        """The newest samples of all brokers are told; another broker is asked each two seconds."""
        both = {1: {"cpu": 1.0}, 2: {"cpu": 2.0}}
        self.assertEqual([self.latest(), self.latest()], [both, both])
        self.assertEqual(len(self.asked), 1)
        self.clock.advance(KEPT_S)
        self.assertEqual(self.latest(), both)
        self.assertEqual(len(self.asked), 2)

    def test_first(self) -> None:
        """A broker of which nothing is known is waited for: the first page is whole."""
        late: Deferred[Any] = Deferred()
        self.answers = lambda message: late
        asked = Deferred.fromCoroutine(self.samples.latest())
        self.assertNoResult(asked)
        self.told(DescribeSamplesRequest([], 0, 0, 0)).chainDeferred(late)
        found = self.successResultOf(asked)
        self.assertEqual(list(found), [1, 2])

    def test_over_time(self) -> None:
        """All brokers tell their values in the same window, or one does."""
        self.assertEqual(self.columns(), {1: [1.0] * 3, 2: [7.0] * 3})
        self.assertEqual(self.asked, [DescribeSamplesRequest(["cpu"], 1000, 100, 3)])
        self.assertEqual(self.columns(1), {1: [1.0] * 3})
        self.assertEqual(self.columns(2), {2: [7.0] * 3})
        self.assertEqual(self.columns(3), {})

    def test_silent(self) -> None:
        """A broker that does not answer is waited for once in a while; its last samples go on for a time."""
        self.latest()
        self.answers = lambda message: Deferred()
        self.clock.advance(KEPT_S)
        self.assertIn(2, self.latest())  # it is not waited for
        self.clock.advance(PATIENCE_S)
        self.assertEqual(self.columns(), {1: [1.0] * 3})
        self.assertEqual(len(self.asked), 2)
        self.clock.advance(FORGOTTEN_S)
        self.assertEqual(self.columns(), {1: [1.0] * 3})
        self.assertEqual(len(self.asked), 3)
        self.assertNotIn(2, self.latest())
        self.answers = self.told
        self.clock.advance(SILENT_S)
        self.assertIn(2, self.latest())

    def test_failures(self) -> None:
        """No connection, a refusal and wrong samples are no samples; the log tells of the latter two."""
        wrong = DescribeSamplesResponse(
            latest=[LatestSample("cpu", 2.0)], series=[SampledSeries("cpu", b"?")]
        )
        other = DescribeSamplesResponse(latest=wrong.latest, series=[SampledSeries("x", pack([1.0] * 3))])
        for answer, lines in (
            (fail(KafkaTXError("no connection")), 0),
            (succeed(DescribeSamplesResponse(error_code=31, error_message="not allowed")), 1),
            (succeed(DescribeSamplesResponse()), 0),
            (succeed(wrong), 1),
            (succeed(other), 1),
        ):
            self.broker.limited_log.reset_mock()
            self.answers = lambda message, answer=answer: answer
            self.assertEqual(self.columns(), {1: [1.0] * 3})
            self.assertEqual(self.broker.limited_log.warn.call_count, lines)
            self.clock.advance(SILENT_S)

    def test_gone(self) -> None:
        """A broker that has left, or has registered again, has told nothing."""
        self.latest()
        state = self.broker.metadata.state
        self.broker.metadata.state = attrs.evolve(state, brokers={1: state.brokers[1]})
        self.assertEqual(list(self.latest()), [1])
        self.broker.metadata.state = attrs.evolve(state, brokers={**state.brokers, 2: BrokerNode(2, "c", 3)})
        self.answers = lambda message: Deferred()
        self.assertEqual(list(self.latest()), [1])

    def test_none(self) -> None:
        """A broker that has not sampled yet is not among them."""
        self.broker.samples = Samples()
        self.assertEqual((list(self.latest()), list(self.columns())), ([2], [2]))
