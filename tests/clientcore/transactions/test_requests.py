"""Tests of kafkatx.clientcore.transactions.requests; more are those of the blocking client."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.transactions import requests
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


class RequestsTests(SynchronousTestCase):
    def test_producers(self) -> None:
        """Partitions are grouped by topic."""
        topics = requests.producers_request([T0, U0, T1]).topics
        self.assertEqual([(one.name, one.partition_indexes) for one in topics], [("t", [0, 1]), ("u", [0])])

    def test_filters(self) -> None:
        """Filters are passed on; without them all are asked for."""
        request = requests.list_request(2, ["Ongoing"], [7], 5, "b.*")
        self.assertEqual((request.state_filters, request.producer_id_filters), (["Ongoing"], [7]))
        self.assertEqual((request.duration_filter, request.transactional_id_pattern), (5, "b.*"))
        request = requests.list_request(0)
        self.assertEqual((request.state_filters, request.duration_filter), ([], -1))
        self.assertIsNone(request.transactional_id_pattern)

    def test_unknown_filters(self) -> None:
        """A filter that the broker's version lacks is an error: it would list all."""
        for version, older_ms, pattern in ((0, 5, None), (0, None, "b"), (1, None, "b")):
            error = self.assertRaises(
                RequestError, requests.list_request, version, older_ms=older_ms, pattern=pattern
            )
            self.assertIs(error.code, ErrorCode.UNSUPPORTED_VERSION)
        requests.list_request(1, older_ms=5)
