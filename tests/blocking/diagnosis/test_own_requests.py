"""Requests of kafkatx alone, to each broker."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.diagnosis.own_requests import NotKafkatx, OwnRequests
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.wire.messages.describe_client_metrics import DescribeClientMetricsRequest
from tests.blocking.fake_client_metrics import FakeClientMetrics
from tests.blocking.fakes import LOSE_REPLY


class OwnRequestsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Three brokers."""
        self.fake = FakeClientMetrics(brokers=3)
        self.requests = OwnRequests(self.fake.client(retries=3))

    def ask(self) -> list[int]:
        """Ask all brokers; return their ids as they were passed on."""
        return self.requests.ask_all(DescribeClientMetricsRequest(), lambda node, response: node.id)

    def test_all(self) -> None:
        """Each broker is asked once, in the order of the ids."""
        self.assertEqual(self.ask(), [1, 2, 3])
        asked = [
            node for node, request in self.fake.requests if isinstance(request, DescribeClientMetricsRequest)
        ]
        self.assertEqual(asked, [1, 2, 3])

    def test_lost(self) -> None:
        """A lost reply is asked for again."""
        self.fake.faults[DescribeClientMetricsRequest].append(LOSE_REPLY)
        self.assertEqual(self.ask(), [1, 2, 3])

    def test_foreign(self) -> None:
        """A broker that closes twice is not kafkatx; one that does not answer is told of as such."""
        self.fake.foreign = {2}
        self.assertRaises(NotKafkatx, self.ask)
        self.fake.foreign, self.fake.down = set(), {3}
        self.assertRaises(ConnectionFailed, self.ask)
