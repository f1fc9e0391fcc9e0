"""Fetches that name topics by their ids."""

from __future__ import annotations

import uuid
from typing import Any

import attrs
from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
)
from tests.broker.fetch.case import FetchTestCase, asking
from tests.broker.running import codes, values


class TopicIdTests(FetchTestCase):
    """Version 13 and later, in which topics are given by id."""

    def ask_by_id(self, topic_id: uuid.UUID, *offsets: int, max_wait_ms: int = 0) -> Any:
        """Return the dispatch's answer to a fetch of partitions 0, 1, ... of a topic."""
        (topic,) = asking(*offsets, topic="")
        topic.topic_id = topic_id
        return self.answer(1, 13, FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, topics=[topic]))

    def test_every_version(self) -> None:
        """Versions 13 to 16 read alike, without replica state in requests or addresses in replies."""
        self.fill(b"a")
        (topic,) = asking(0, topic="")
        topic.topic_id = self.topic_id()
        for version in range(13, 17):
            response = self.ask(1, version, FetchRequest(topics=[topic]))
            self.assertEqual((response.error_code, response.node_endpoints), (0, []))
            ((part,),) = (found.partitions for found in response.responses)
            self.assertEqual((part.error_code, values(part.records)), (0, [b"a"]))

    def by_id(self, topic_id: uuid.UUID, *offsets: int) -> FetchableTopicResponse:
        """Return the topic's part of the response."""
        (found,) = self.response(1, 13, self.ask_by_id(topic_id, *offsets)).responses
        part: FetchableTopicResponse = found
        return part

    def topic_id(self) -> uuid.UUID:
        """Return the id of topic t."""
        found: uuid.UUID = self.broker.metadata.state.topics["t"].topic_id
        return found

    def replace(self) -> None:
        """Delete the topic t and make another of that name, with one partition."""
        self.successResultOf(Deferred.fromCoroutine(self.broker.topic_commands.delete("t")))
        self.make_topic("t", 1)

    def test_read(self) -> None:
        """Records are read, and the response has the topic's id, too."""
        self.fill(b"a")
        found = self.by_id(self.topic_id(), 0, 0)
        self.assertEqual((found.topic_id, codes(found.partitions)), (self.topic_id(), [0, 0]))
        self.assertEqual(values(found.partitions[0].records), [b"a"])

    def test_unknown(self) -> None:
        """An unknown or former topic id is refused; so is an unknown partition."""
        old = self.topic_id()
        self.replace()
        for topic_id in (uuid.uuid4(), old):
            found = self.by_id(topic_id, 0)
            self.assertEqual(
                (found.topic_id, codes(found.partitions)), (topic_id, [ErrorCode.UNKNOWN_TOPIC_ID])
            )
        codes_of_new = codes(self.by_id(self.topic_id(), 0, 0).partitions)
        self.assertEqual(codes_of_new, [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])

    def test_several_unknown(self) -> None:
        """Several unknown topics are reported separately."""
        topics = [asking(0, topic="")[0] for _ in range(3)]
        topics[0].topic_id, topics[1].topic_id = uuid.uuid4(), uuid.uuid4()
        topics[2].topic_id = self.topic_id()
        response = self.response(1, 13, self.answer(1, 13, FetchRequest(topics=topics)))
        self.assertEqual([one.topic_id for one in response.responses], [one.topic_id for one in topics])
        unknown = ErrorCode.UNKNOWN_TOPIC_ID
        self.assertEqual([codes(one.partitions) for one in response.responses], [[unknown], [unknown], [0]])

    def test_waits(self) -> None:
        """A fetch by id waits for records like any other."""
        waiting = self.ask_by_id(self.topic_id(), 0, max_wait_ms=500)
        self.assertNoResult(waiting)
        self.fill(b"v")
        (found,) = self.response(1, 13, self.successResultOf(waiting)).responses
        self.assertEqual(values(found.partitions[0].records), [b"v"])

    def test_deleted_while_it_waits(self) -> None:
        """A fetch by id that waits for a topic is answered at once when the topic is deleted."""
        waiting = self.ask_by_id(self.topic_id(), 0, max_wait_ms=500)
        self.replace()
        (found,) = self.response(1, 13, self.successResultOf(waiting)).responses
        self.assertEqual(codes(found.partitions), [ErrorCode.UNKNOWN_TOPIC_ID])

    def test_replaced_while_it_waits(self) -> None:
        """A fetch that waits for a replaced topic gets none of the new topic's records."""
        waiting = self.ask_by_id(self.topic_id(), 0, max_wait_ms=500)
        state = self.broker.metadata.state
        other = attrs.evolve(state.topics["t"], topic_id=uuid.uuid4())
        self.patch(self.broker.metadata, "state", attrs.evolve(state, topics={"t": other}))
        self.fill(b"other")
        (found,) = self.response(1, 13, self.successResultOf(waiting)).responses
        self.assertEqual(codes(found.partitions), [ErrorCode.INCONSISTENT_TOPIC_ID])
        self.assertEqual(values(found.partitions[0].records), [])
