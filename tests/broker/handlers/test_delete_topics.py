"""DeleteTopics: by name and by id."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, ClassVar

from twisted.logger import capturedLogs, formatEvent

from kafkatx.broker.requests.slices import STEP
from kafkatx.errors import ErrorCode
from kafkatx.names import CONSUMER_OFFSETS
from kafkatx.wire.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicState
from tests.broker.running import BrokerTestCase

VERSIONS = range(7)


class DeleteTopicsTestCase(BrokerTestCase):
    def delete(self, *names: str, version: int = 6) -> list[DeletableTopicResult]:
        """Return the results for topics given by name."""
        if version >= 6:
            return self.delete_states(*(DeleteTopicState(name) for name in names))
        response: Any = self.ask(20, version, DeleteTopicsRequest(topic_names=list(names)))
        results: list[DeletableTopicResult] = response.responses
        return results

    def delete_states(self, *states: DeleteTopicState) -> list[DeletableTopicResult]:
        """Return the results of version 6."""
        results: list[DeletableTopicResult] = self.ask(20, 6, DeleteTopicsRequest(list(states))).responses
        return results


class DeleteTopicsTests(DeleteTopicsTestCase):
    def test_every_version(self) -> None:
        """Topics are deleted by name in every version; an unknown one does not affect the others."""
        for version in VERSIONS:
            self.make_topic("t", 2)
            results = self.delete("unknown", "t", version=version)
            self.assertEqual(
                [(r.name, r.error_code) for r in results],
                [("unknown", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), ("t", 0)],
            )
            self.assertEqual(dict(self.broker.store.logs), {})
            self.assertEqual(results[0].error_message is None, version < 5)

    def test_logged(self) -> None:
        """The log has the number of deleted partitions, segments and bytes."""
        self.make_topic("t", 2)
        self.fill(b"v")
        size = sum(log.size_bytes for log in self.broker.store.logs.values())
        with capturedLogs() as events:
            self.delete("t")
        self.assertEqual(
            [formatEvent(event) for event in events],
            [f"deleted topic t by DeleteTopics: 2 partitions, 2 segments, {size} bytes"],
        )

    def test_many(self) -> None:
        """A long list is processed with pauses, in which other requests are served."""
        names = [f"t{number}" for number in range(STEP + 1)]
        answer = self.answer(20, 5, DeleteTopicsRequest(topic_names=names))
        self.assertFalse(answer.called)
        self.clock.advance(0)
        response = self.response(20, 5, self.successResultOf(answer))
        self.assertEqual([result.name for result in response.responses], names)

    def test_twice(self) -> None:
        """A topic that occurs twice is not deleted, as in Apache Kafka."""
        self.make_topic("a")
        results = self.ask(20, 5, DeleteTopicsRequest(topic_names=["a", "b", "a"])).responses
        self.assertEqual([result.name for result in results], ["a", "b"])
        self.assertEqual(results[0].error_code, ErrorCode.INVALID_REQUEST)
        self.assertIn("a", self.broker.topics.partitions)

    def test_by_id(self) -> None:
        """A topic may be given by its id from version 6 on; the reply has name and id."""
        self.make_topic("t")
        topic_id = self.broker.metadata.state.topics["t"].topic_id
        (result,) = self.delete_states(DeleteTopicState(None, topic_id))
        self.assertEqual((result.name, result.topic_id, result.error_code), ("t", topic_id, 0))
        self.assertEqual(self.broker.topics.partitions, {})

    def test_internal(self) -> None:
        """Internal topics are not deleted, neither by name nor by id."""
        self.successResultOf(self.broker.groups.topic.ensure())
        topic_id = self.broker.metadata.state.topics[CONSUMER_OFFSETS].topic_id
        for version in VERSIONS:
            (result,) = self.delete(CONSUMER_OFFSETS, version=version)
            self.assertEqual(result.error_code, ErrorCode.INVALID_TOPIC_EXCEPTION)
        (result,) = self.delete_states(DeleteTopicState(None, topic_id))
        self.assertEqual(
            (result.name, result.error_code), (CONSUMER_OFFSETS, ErrorCode.INVALID_TOPIC_EXCEPTION)
        )
        self.assertTrue(self.broker.groups.topic.exists)

    def test_neither_or_both(self) -> None:
        """A topic without name and id is refused, and so is one with both, even if both are right."""
        self.make_topic("t")
        topic_id = self.broker.metadata.state.topics["t"].topic_id
        asked = DeleteTopicState(None), DeleteTopicState("t", topic_id), DeleteTopicState("", topic_id)
        found = self.delete_states(*asked)
        self.assertEqual([one.error_code for one in found], [ErrorCode.INVALID_REQUEST] * 3)
        self.assertIn("t", self.broker.metadata.state.topics)

    def test_unknown_id(self) -> None:
        """An unknown id is refused."""
        other = uuid.UUID(int=5)
        (result,) = self.delete_states(DeleteTopicState(None, other))
        self.assertEqual(
            (result.name, result.topic_id, result.error_code), (None, other, ErrorCode.UNKNOWN_TOPIC_ID)
        )

    def test_id_in_the_reply(self) -> None:
        """The reply to a deletion by name has the id from version 6 on."""
        self.make_topic("t")
        topic_id = self.broker.metadata.state.topics["t"].topic_id
        self.assertEqual(self.delete("t")[0].topic_id, topic_id)

    def test_bad_names(self) -> None:
        """A name that could be a path deletes nothing."""
        self.make_topic("t")
        for name in ("../x", "", "..", "t/../t", "x" * 250):
            (result,) = self.delete(name)
            self.assertEqual(result.error_code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self.assertEqual(list(self.broker.topics.partitions), ["t"])


class DisabledTests(DeleteTopicsTestCase):
    settings: ClassVar[Mapping[str, str]] = {"delete.topic.enable": "false"}

    def test_disabled(self) -> None:
        """No topic is deleted with delete.topic.enable=false; the error has its own code since version 3."""
        self.make_topic("t")
        for version in VERSIONS:
            (result,) = self.delete("t", version=version)
            code = ErrorCode.TOPIC_DELETION_DISABLED if version >= 3 else ErrorCode.INVALID_REQUEST
            self.assertEqual((result.name, ErrorCode.of(result.error_code)), ("t", code))
        self.assertEqual(list(self.broker.topics.partitions), ["t"])
