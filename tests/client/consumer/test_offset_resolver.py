"""Tests of kafkatx.client.consumer.offset_resolver: two brokers that answer as the test says."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.client.consumer.consumer import Consumer
from kafkatx.clientcore.errors import NoOffset
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.list_offsets import ListOffsetsRequest
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.client.consumer.test_fetcher import T0, T1, FetcherTestCase


class OffsetResolverTests(FetcherTestCase):
    def test_out_of_range(self) -> None:
        """A partition whose offset is out of range is reset as settings say."""
        self.logs[0].start = 4
        self.answer(1, self.part(0, error=ErrorCode.OFFSET_OUT_OF_RANGE))
        self.network.run(0.5)
        self.assertEqual(self.asked(1), [(0, 4)])

    def test_asked_until_there_is_an_answer(self) -> None:
        """Offsets that a leader does not return are requested again, with pauses; the others are known."""
        self.brokers.faults[ListOffsetsRequest].extend([ErrorCode.NOT_LEADER_OR_FOLLOWER] * 3)
        self.network.kill(2)
        self.consumer.seek_to_end(T0, T1)
        self.network.run(3)
        self.assertEqual(self.network.result(self.consumer.position(T0)), 10)
        waiting = self.consumer.position(T1)
        self.assertNoResult(waiting)
        self.network.down.clear()
        self.network.run(3)
        self.assertEqual(self.successResultOf(waiting), 10)
        self.assertLess(len(self.network.sent(ListOffsetsRequest)), 30)

    def test_seek_while_it_is_asked(self) -> None:
        """An answer for a position that has changed meanwhile is ignored."""
        held: Deferred[Any] = Deferred()
        self.network.answers[ListOffsetsRequest] = lambda *asked: held
        self.consumer.seek_to_end(T0)
        self.network.pump()
        self.consumer.seek(T0, 3)
        request = self.network.sent(ListOffsetsRequest)[-1]
        held.callback(self.brokers.answer_list_offsets(1, request, 7, 0))
        self.network.run(1)
        self.assertEqual(self.network.result(self.consumer.position(T0)), 3)

    def test_refused(self) -> None:
        """An error of a leader that is not retriable is raised to the application."""
        self.brokers.faults[ListOffsetsRequest].append(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        self.consumer.seek_to_end(T0)
        self.network.pump()
        self.assertRaises(RequestError, self.network.result, self.consumer.position(T0))
        self.assertRaises(RequestError, self.values)
        self.network.run(1)  # the application got the error: it is tried again
        self.assertEqual(self.network.result(self.consumer.position(T0)), 10)

    def test_metadata_is_asked_for(self) -> None:
        """assign() requests the metadata of its topics."""
        self.assertIn("t", {topic.name for topic in self.network.sent(MetadataRequest)[-1].topics})


class CommittedTests(FetcherTestCase):
    def located(self, found: dict[TopicPartition, Any], **settings: Any) -> Consumer:
        """Return a consumer of a group that has committed this; an exception is raised."""

        async def committed(places: Any) -> Any:
            self.asked_group.append(sorted(places))
            result = found.get(T0)
            if isinstance(result, Exception):
                raise result
            if isinstance(result, Deferred):
                await result
                return {T0: OffsetAndMetadata(6), T1: found[T1]}
            return {place: found.get(place) for place in places}

        def prepare(consumer: Consumer) -> None:
            consumer._parts.offset_resolver._committed = committed

        self.asked_group: list[Any] = []
        return self.make(prepare, **settings)

    def test_committed(self) -> None:
        """A position begins at the committed offset, or else as settings say; the group is asked once."""
        consumer = self.located({T0: OffsetAndMetadata(6)}, auto_offset_reset="latest")
        self.assertEqual(self.network.result(consumer.position(T0)), 6)
        self.assertEqual(self.network.result(consumer.position(T1)), 10)
        self.assertEqual(self.asked_group, [[T0, T1]])

    def test_seek_while_the_group_is_asked(self) -> None:
        """A committed offset is ignored for a partition with a seek meanwhile."""
        held: Deferred[Any] = Deferred()
        consumer = self.located({T0: held, T1: OffsetAndMetadata(4)})
        consumer.seek(T0, 3)
        held.callback(None)
        self.network.run(0.5)
        self.assertEqual(self.network.result(consumer.position(T0)), 3)
        self.assertEqual(self.network.result(consumer.position(T1)), 4)

    def test_none(self) -> None:
        """Only committed offsets are used with auto.offset.reset=none."""
        consumer = self.located({T0: OffsetAndMetadata(6)}, auto_offset_reset="none")
        self.assertEqual(self.network.result(consumer.position(T0)), 6)
        self.assertRaises(NoOffset, self.network.result, consumer.position(T1))

    def test_refused(self) -> None:
        """An error of the coordinator that is not retriable is raised to the application."""
        refused = RequestError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
        consumer = self.located({T0: refused})
        self.assertRaises(RequestError, self.network.result, consumer.position(T1))
