"""Tests of kafkatx.clientcore.transactions.requests; more are those of the blocking client."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.transactions import requests
from kafkatx.types import TopicPartition

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


class RequestsTests(SynchronousTestCase):
    def test_producers(self) -> None:
        """Partitions are grouped by topic."""
        topics = requests.producers_request([T0, U0, T1]).topics
        self.assertEqual([(one.name, one.partition_indexes) for one in topics], [("t", [0, 1]), ("u", [0])])

    def test_filters(self) -> None:
        """Filters are passed on; without them all are asked for."""
        request = requests.list_request(["Ongoing"], [7])
        self.assertEqual((request.state_filters, request.producer_id_filters), (["Ongoing"], [7]))
        self.assertEqual(requests.list_request().state_filters, [])
