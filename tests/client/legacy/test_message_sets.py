"""Tests of kafkatx.client.legacy.message_sets, through SimpleConsumer.multifetch."""

from __future__ import annotations

from typing import Any

from kafkatx.clientcore.errors import (
    ConnectionFailed,
    OffsetOutOfRange,
    UnknownTopic,
)
from kafkatx.clientcore.legacy.simple_consumer import FetchRequest
from kafkatx.errors import RequestError
from tests.client.legacy.case import PATIENT_S, SimpleConsumerTestCase


class MultifetchTests(SimpleConsumerTestCase):
    def values(self, requests: list[Any]) -> list[list[bytes]]:
        """Return the values for each request."""
        return [[r.value for r in one] for one in self.result(self.consumer.multifetch(requests), PATIENT_S)]

    def test_order(self) -> None:
        """Answers come in the order of the requests, by one request to each leader."""
        wanted = [("u", 0, 0), FetchRequest("t", 0, 2), ("t", 1, 0, 500)]
        self.assertEqual(self.values(wanted), [[b"z"], [b"c"], [b"x", b"y"]])
        self.assertEqual(sorted(node for node, _ in self.fetches()), [1, 2])

    def test_twice(self) -> None:
        """A partition may be requested at several offsets; no fetch names it twice."""
        self.assertEqual(self.values([("t", 0, 2), ("t", 0, 1), ("t", 0, 2)]), [[b"c"], [b"b", b"c"], [b"c"]])
        self.assertEqual({len(fetch.topics[0].partitions) for _, fetch in self.fetches()}, {1})

    def test_none(self) -> None:
        """An empty list of requests returns an empty list."""
        self.assertEqual(self.values([]), [])

    def test_errors_apart(self) -> None:
        """An error of one request leaves the others' results intact."""
        found = self.result(
            self.consumer.multifetch([("nope", 0, 0), ("t", 0, 99), ("t", 1, 0), ("t", 7, 0)])
        )
        self.assertIsInstance(found[0].error, UnknownTopic)
        self.assertIsInstance(found[1].error, OffsetOutOfRange)
        self.assertEqual(len(found[2]), 2)
        self.assertIsInstance(found[3].error, RequestError)
        self.assertRaises(UnknownTopic, list, found[0])

    def test_only_the_failed_again(self) -> None:
        """Only failed requests are sent again."""
        self.result(self.consumer.multifetch([("t", 0, 0), ("t", 1, 0)]))
        self.network.run(1)
        self.fake.topics["t"][0].leader = 2
        self.network.requests.clear()
        self.assertEqual(self.values([("t", 0, 2), ("t", 1, 1)]), [[b"c"], [b"y"]])
        asked = [[part.partition for part in fetch.topics[0].partitions] for _, fetch in self.fetches()]
        self.assertEqual(sorted(asked), [[0], [0], [1]])

    def test_one_down(self) -> None:
        """The answers of other leaders are returned when the time for one that is down is over."""
        self.result(self.consumer.multifetch([("t", 0, 0), ("t", 1, 0)]))
        self.network.kill(2)
        found = self.result(self.consumer.multifetch([("t", 1, 0), ("t", 0, 0)]), 70)
        self.assertIsInstance(found[0].error, ConnectionFailed)
        self.assertEqual(len(found[1]), 3)
