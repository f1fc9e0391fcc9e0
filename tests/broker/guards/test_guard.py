"""Guards beside the table: parts of requests, sessions, revoked rights, super users."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.acls import AclOperation, AclPermission, ResourceType
from kafkatx.errors import ErrorCode, ProtocolViolation
from kafkatx.records.builder import build_values
from kafkatx.types import QuotaEntity
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkatx.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.broker.authorization.authorized import ADMIN, ALICE, BOB, TOPIC, AuthorizedTestCase

_O, _R = AclOperation, ResourceType
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
OTHER = "other"


class PartTests(AuthorizedTestCase):
    """Requests of which a part is allowed."""

    def setUp(self) -> None:
        """Make another topic, which alice may not touch."""
        super().setUp()
        self.use(ADMIN)
        self.make_topic(OTHER)
        self.use(ALICE)

    def produce_both(self, acks: int) -> Any:
        """Produce to both topics."""
        data = [PartitionProduceData(0, build_values([b"x"], 0))]
        topics = [TopicProduceData(OTHER, data), TopicProduceData(TOPIC, list(data))]
        return self.ask(0, 9, ProduceRequest(None, acks, 1000, topics))

    def test_produce(self) -> None:
        """The allowed part of a produce request is written, and the other one is not."""
        self.grant(_O.WRITE, _R.TOPIC)
        found = {topic.name: topic.partition_responses for topic in self.produce_both(-1).responses}
        self.assertEqual([one.error_code for one in found[TOPIC]], [0])
        self.assertEqual([(one.error_code, one.base_offset) for one in found[OTHER]], [(DENIED, -1)])
        self.assertIn("User:alice may not write this topic", found[OTHER][0].error_message)
        self.assertEqual((self.end_offset(), self.end_offset(OTHER)), (2, 0))

    def test_produce_without_reply(self) -> None:
        """With acks=0 the connection is closed, the only way to tell; the allowed part is written."""
        self.grant(_O.WRITE, _R.TOPIC)
        self.assertRaises(ProtocolViolation, self.produce_both, 0)
        self.assertEqual((self.end_offset(), self.end_offset(OTHER)), (2, 0))

    def test_throttled(self) -> None:
        """A produce request that was refused in part is throttled as others are."""
        self.grant(_O.WRITE, _R.TOPIC)
        self.use(ADMIN)
        entity: QuotaEntity = (("client-id", "tests"),)
        self.successResultOf(self.broker.metadata.alter_client_quotas({entity: {"producer_byte_rate": 1.0}}))
        self.use(ALICE)
        self.assertGreater(self.produce_both(1).throttle_time_ms, 0)

    def test_offsets(self) -> None:
        """Each topic has its own answer."""
        self.grant(_O.READ, _R.TOPIC)
        asked = [ListOffsetsTopic(name, [ListOffsetsPartition(0, timestamp=-1)]) for name in (OTHER, TOPIC)]
        response = self.ask(2, 7, ListOffsetsRequest(-1, 0, asked))
        self.assertEqual(
            {topic.name: topic.partitions[0].error_code for topic in response.topics},
            {TOPIC: 0, OTHER: DENIED},
        )


class FetchTests(AuthorizedTestCase):
    """Fetches: sessions, and rights that are given and taken meanwhile."""

    def fetch(
        self, session: tuple[int, int] = (0, -1), topics: bool = True, wait_ms: int = 0
    ) -> FetchRequest:
        """Return a request for two topics."""
        asked = [FetchPartition(0, partition_max_bytes=1000)]
        named = [FetchTopic(TOPIC, partitions=asked), FetchTopic("missing", partitions=list(asked))]
        return FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            session_id=session[0],
            session_epoch=session[1],
            topics=named if topics else [],
        )

    def codes(self, response: Any) -> dict[str, int]:
        """Return the error codes by topic."""
        return {topic.topic: topic.partitions[0].error_code for topic in response.responses}

    def test_session(self) -> None:
        """A right that is taken away counts for the topics of a session at once, without their names."""
        binding = self.grant(_O.READ, _R.TOPIC)
        first = self.ask(1, 11, self.fetch((0, 0)))
        self.assertEqual(self.codes(first), {TOPIC: 0, "missing": DENIED})
        self.alter(set(), {binding})
        second = self.ask(1, 11, self.fetch((first.session_id, 1), topics=False))
        self.assertEqual(self.codes(second)[TOPIC], DENIED)
        self.assertEqual(self.end_offset(), 1)

    def test_revoked_while_waiting(self) -> None:
        """A fetch that waits for records gets none that came after its right was taken away."""
        binding = self.grant(_O.READ, _R.TOPIC)
        asked = FetchTopic(TOPIC, partitions=[FetchPartition(0, fetch_offset=1, partition_max_bytes=1000)])
        waiting = self.answer(1, 11, FetchRequest(max_wait_ms=1000, min_bytes=1, topics=[asked]))
        assert isinstance(waiting, Deferred)
        self.assertNoResult(waiting)
        self.alter(set(), {binding})
        self.use(ADMIN)
        self.put()
        self.clock.advance(1)
        (topic,) = self.response(1, 11, self.successResultOf(waiting)).responses
        self.assertEqual((topic.partitions[0].error_code, topic.partitions[0].records), (DENIED, b""))

    def test_other_principal(self) -> None:
        """Decisions about one principal do not count for another one at the same address."""
        self.grant(_O.READ, _R.TOPIC)
        self.assertEqual(self.codes(self.ask(1, 11, self.fetch()))[TOPIC], 0)
        self.use(BOB)
        self.assertEqual(self.codes(self.ask(1, 11, self.fetch()))[TOPIC], DENIED)

    def test_host(self) -> None:
        """A right from one address is none from another."""
        self.grant(_O.READ, _R.TOPIC, host="192.0.2.7")
        self.assertEqual(self.codes(self.ask(1, 11, self.fetch()))[TOPIC], 0)
        self.use(ALICE, "192.0.2.8")
        self.assertEqual(self.codes(self.ask(1, 11, self.fetch()))[TOPIC], DENIED)


class SuperUserTests(AuthorizedTestCase):
    def test_super_users(self) -> None:
        """A super user needs no ACL, and no ACL denies it anything; names may have commas."""
        self.grant(_O.ALL, _R.TOPIC, "*", AclPermission.DENY, principal="User:*")
        for principal in (ADMIN, "User:CN=broker,O=x"):
            self.use(principal)
            (topic,) = self.put().responses
            self.assertEqual(topic.partition_responses[0].error_code, 0)
        for principal in ("User:CN=broker", "User:CN=broker,O=X", "User:ADMIN", "User:"):
            self.use(principal)
            (topic,) = self.put().responses
            self.assertEqual(topic.partition_responses[0].error_code, DENIED)
