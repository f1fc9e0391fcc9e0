"""Requests that name much, or the same again and again: replies, effort and silence out of all proportion."""

from __future__ import annotations

import time

from kafkatx.records.builder import build_values
from kafkatx.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkatx.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafkatx.wire.schema import Message
from tests.attack.case import FULL, AttackCase
from tests.integration.raw import request_frame
from tests.measured import check_below

NAMES = 190_000 if FULL else 5000
TOO_MANY = 2_500_000 if FULL else 201_000
SEARCHES = 150 if FULL else 10
RECORDS = 40_000 if FULL else 1000
ANSWERED_S = 5.0


class RepeatedNamesTests(AttackCase):
    def setUp(self) -> None:
        """Start a broker with a topic of many partitions, one batch of many records in each."""
        super().setUp()
        self.honest = self.connect()
        self.honest.ask(19, 4, CreateTopicsRequest([CreatableTopic("t", SEARCHES + 1, 1)]))

    def reply_bytes(self, key: int, version: int, request: Message) -> int:
        """Send a request; return the size of its reply."""
        client = self.connect()
        client.send(request_frame(key, version, request))
        return len(client.receive())

    def test_one_name_many_times(self) -> None:
        """A name that is repeated is answered once."""
        topics = [MetadataRequestTopic(name="t")] * NAMES
        with self.beside():
            groups = FindCoordinatorRequest(coordinator_keys=["g"] * NAMES)
            size = self.reply_bytes(3, 9, MetadataRequest(topics, False))
            once = self.reply_bytes(3, 9, MetadataRequest(topics[:1], False))
            self.assertEqual(size, once)
            self.assertLess(self.reply_bytes(10, 4, groups), 200)

    def test_many_names(self) -> None:
        """A request with the largest number of names is answered, and others are in between."""
        names = [f"{number:06}" for number in range(NAMES)]
        with self.beside():
            topics = [MetadataRequestTopic(name=name) for name in names]
            self.reply_bytes(3, 9, MetadataRequest(topics, False))
            self.reply_bytes(10, 4, FindCoordinatorRequest(coordinator_keys=names))

    def test_too_many_names(self) -> None:
        """A request with more elements than it may have ends its connection, before they are made."""
        with self.beside():
            client = self.connect()
            client.send(
                request_frame(3, 9, MetadataRequest([MetadataRequestTopic(name="t")] * TOO_MANY, False))
            )
            self.assertTrue(client.closed())

    def test_searches_of_a_client_that_leaves(self) -> None:
        """Searches by time end with their client: another's begins, and the broker stops, within seconds."""
        now_ms = int(time.time() * 1000)
        batch = build_values([b"v"] * RECORDS, now_ms)
        for number in range(SEARCHES + 1):
            data = [TopicProduceData("t", [PartitionProduceData(number, batch)])]
            self.honest.ask(0, 9, ProduceRequest(None, 1, 30_000, data))

        def search(*numbers: int) -> ListOffsetsRequest:
            parts = [ListOffsetsPartition(number, timestamp=now_ms) for number in numbers]
            return ListOffsetsRequest(topics=[ListOffsetsTopic("t", parts)])

        with self.beside():
            for _ in range(3):
                leaving = self.connect()
                leaving.send(request_frame(2, 5, search(*range(SEARCHES))))
                time.sleep(0.1)
                leaving.__exit__()
            started_s = time.perf_counter()
            response = self.honest.ask(2, 5, search(SEARCHES))
            self.assertEqual(response.topics[0].partitions[0].offset, 0)
            check_below(self, time.perf_counter() - started_s, ANSWERED_S, "seconds")
        leaving = self.connect()
        leaving.send(request_frame(2, 5, search(*range(SEARCHES))))
        time.sleep(0.1)
        started_s = time.perf_counter()
        self.broker.stop()
        check_below(self, time.perf_counter() - started_s, ANSWERED_S, "seconds")
