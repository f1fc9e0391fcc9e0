"""Tests of kafkatx.client.legacy.simple_consumer."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError

from kafkatx.client.legacy.simple_consumer import SimpleConsumer
from kafkatx.clientcore.errors import (
    ClientClosed,
    ConnectionFailed,
    OffsetOutOfRange,
    RequestTimedOut,
    Undecodable,
    UnknownTopic,
)
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.fetch import FetchRequest as Fetch
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkatx.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.blocking.fakes import LOSE_REQUEST
from tests.client.legacy.case import PATIENT_S, SimpleConsumerTestCase, log


class FetchTests(SimpleConsumerTestCase):
    def test_fetch(self) -> None:
        """A fetch returns the leader's records from the offset on, and the next offset."""
        found = self.result(self.consumer.fetch("t", 1, 1))
        self.assertEqual([(r.topic, r.partition, r.offset, r.value) for r in found], [("t", 1, 1, b"y")])
        self.assertEqual((found.next_offset, found.high_watermark), (2, 2))
        self.assertEqual(list(self.result(self.consumer.fetch("t", 1, 2))), [])

    def test_stateless(self) -> None:
        """A fetch depends on its arguments alone: it is repeatable, and no group is used."""
        for _ in range(2):
            self.assertEqual(len(self.result(self.consumer.fetch("t", 0, 1))), 2)
        self.assertEqual([f.topics[0].partitions[0].fetch_offset for _, f in self.fetches()], [1, 1])
        self.assertEqual(self.network.sent(FindCoordinatorRequest), [])

    def test_request(self) -> None:
        """Limits and waiting times are those of the settings unless the call has its own."""
        self.result(self.consumer.fetch("t", 0, 0))
        self.result(self.consumer.fetch("t", 0, 0, 70, min_bytes=0, max_wait_ms=7))
        (_, usual), (_, special) = self.fetches()
        self.assertEqual((usual.min_bytes, usual.max_wait_ms, usual.max_bytes), (1, 500, 52_428_800))
        self.assertEqual(usual.topics[0].partitions[0].partition_max_bytes, 1 << 20)
        self.assertEqual((special.min_bytes, special.max_wait_ms), (0, 7))
        self.assertEqual(special.topics[0].partitions[0].partition_max_bytes, 70)

    def test_large(self) -> None:
        """A fetch size above fetch.max.bytes raises the limit of the whole response, too."""
        self.result(self.consumer.fetch("t", 0, 0, 60_000_000))
        self.assertEqual(self.fetches()[0][1].max_bytes, 60_000_000)

    def test_out_of_range(self) -> None:
        """An offset out of range is an error at once, with the log's range."""
        error = self.error(OffsetOutOfRange, self.consumer.fetch("t", 0, 9))
        self.assertEqual((error.earliest, error.latest), (0, 3))

    def test_unknown(self) -> None:
        """An unknown topic or partition is an error at once, and no topic is created."""
        self.error(UnknownTopic, self.consumer.fetch("nope", 0, 0))
        error = self.error(RequestError, self.consumer.fetch("t", 2, 0))
        self.assertEqual(error.code, ErrorCode.INVALID_PARTITIONS)
        self.assertNotIn("nope", self.fake.topics)

    def test_undecodable(self) -> None:
        """A fetch fails if its first record cannot be decoded; a later one fails the next fetch."""
        self.fake.topics["t"] = [log(1, b"1", b"x")]
        consumer = self.made(value_deserializer=lambda data: int(data))
        self.result(consumer.start())
        found = self.result(consumer.fetch("t", 0, 0))
        self.assertEqual([record.value for record in found.records], [1])
        self.assertRaises(Undecodable, list, found)
        self.error(Undecodable, consumer.fetch("t", 0, found.next_offset))
        self.result(consumer.close())

    def test_leader_moved(self) -> None:
        """The new leader is found, and remembered."""
        self.result(self.consumer.fetch("t", 0, 0))
        self.network.run(1)
        self.fake.topics["t"][0].leader = 2
        self.assertEqual(len(self.result(self.consumer.fetch("t", 0, 0), PATIENT_S)), 3)
        self.assertEqual([node for node, _ in self.fetches()], [1, 1, 2])
        asked = len(self.network.sent(MetadataRequest))
        self.result(self.consumer.fetch("t", 0, 0))
        self.assertEqual(len(self.network.sent(MetadataRequest)), asked)

    def test_lost(self) -> None:
        """A lost connection is reopened; a leader that is down is waited for within the time of a call."""
        self.fake.faults[Fetch].append(LOSE_REQUEST)
        self.assertEqual(len(self.result(self.consumer.fetch("t", 0, 0), PATIENT_S)), 3)
        self.network.kill(2)
        self.error(ConnectionFailed, self.consumer.fetch("t", 1, 0), 70)

    def test_mute(self) -> None:
        """A silent leader is given up after the request's time-out and its waiting time."""
        self.result(self.consumer.fetch("t", 0, 0))
        self.network.run(1)
        links = self.network.live()
        self.network.mute.update((1, 2))
        waiting = self.consumer.fetch("t", 0, 0, max_wait_ms=20_000)
        self.network.run(49)
        self.assertEqual(self.network.live(), links)
        self.error(RequestTimedOut, waiting, 20)

    def test_cancelled(self) -> None:
        """A cancelled call leaves nothing behind, and a close ends pending calls."""
        self.network.mute.add(1)
        waiting, other = self.consumer.fetch("t", 0, 0), self.consumer.fetch("t", 0, 0)
        self.network.pump()
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        self.result(self.consumer.close())
        self.error(ClientClosed, other)

    def test_shared(self) -> None:
        """Another client's cluster is used and left open."""
        other = SimpleConsumer(cluster=self.consumer.cluster)
        self.result(other.start())
        self.assertEqual(len(self.result(other.fetch("u", 0, 0))), 1)
        self.result(other.close())
        self.assertEqual(len(self.result(self.consumer.fetch("u", 0, 0))), 1)


class OffsetsBeforeTests(SimpleConsumerTestCase):
    def test_segments(self) -> None:
        """Version 0 returns the first offsets of segments, as many as requested."""
        asked: list[Any] = []

        def answer(node: int, request: Any, version: int) -> ListOffsetsResponse:
            part = request.topics[0].partitions[0]
            asked.append((node, version, part.timestamp, part.max_num_offsets))
            found = ListOffsetsPartitionResponse(1, 0, [9, 5, 0])
            return ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", [found])])

        self.network.answers[ListOffsetsRequest] = answer
        self.assertEqual(self.result(self.consumer.offsets_before("t", 1, -1, 3)), [9, 5, 0])
        self.assertEqual(asked, [(2, 0, -1, 3)])

    def test_without_version_0(self) -> None:
        """Brokers without version 0 return the ends, or the offset of the time."""
        for link in self.network.live():
            link.lose()
        self.network.oldest[ListOffsetsRequest] = 1
        for time, expected in ((-1, [3, 0]), (-2, [0]), (1000, [1, 0])):
            found = self.result(self.consumer.offsets_before("t", 0, time, 10), PATIENT_S)
            self.assertEqual(found, expected, time)

    def test_errors(self) -> None:
        """A leader that has moved is found; an unknown topic or partition is an error."""
        self.result(self.consumer.fetch("t", 0, 0))
        self.fake.topics["t"][0].leader = 2
        self.fake.faults[ListOffsetsRequest].append(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.result(self.consumer.offsets_before("t", 0, -1), PATIENT_S)
        self.error(UnknownTopic, self.consumer.offsets_before("nope", 0, -1))
