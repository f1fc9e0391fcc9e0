"""A broker in memory with ACLs; requests come from users of a test's choice."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any, ClassVar

from twisted.internet.defer import Deferred

from kafkatx.acls import (
    CLUSTER_NAME,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafkatx.config import BrokerConfig
from kafkatx.interfaces import IAuthorizer
from kafkatx.net.requests import Peer, Session
from kafkatx.records.builder import build_values
from kafkatx.security.authorizers.by_acls import AclAuthorizer
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkatx.wire.schema import Message
from tests.broker.running import BrokerTestCase, produce_request

ADMIN, ALICE, BOB = "User:admin", "User:alice", "User:bob"
TOPIC, GROUP, TRANSACTION = "orders", "g", "tx"
NAMES = {
    ResourceType.TOPIC: TOPIC,
    ResourceType.GROUP: GROUP,
    ResourceType.TRANSACTIONAL_ID: TRANSACTION,
    ResourceType.CLUSTER: CLUSTER_NAME,
}
REFUSALS = {29, 30, 31, 53}
"""The errors of Apache Kafka for what a principal may not do."""


def codes_in(value: Any) -> Iterator[int]:
    """Yield all error codes of a response, whatever its shape."""
    if isinstance(value, list):
        for one in value:
            yield from codes_in(one)
    for name in getattr(type(value), "__slots__", ()):
        field = getattr(value, name)
        if name.endswith("error_code"):
            yield field
        else:
            yield from codes_in(field)


class AuthorizedTestCase(BrokerTestCase):
    """A broker with a topic ``orders``, a group ``g`` and a transaction ``tx``; ``admin`` is a super user."""

    settings: ClassVar[dict[str, str]] = {
        "super.users": f"{ADMIN};User:CN=broker,O=x",
        "transaction.state.log.num.partitions": "1",
        "offsets.topic.num.partitions": "1",
        "group.initial.rebalance.delay.ms": "0",
    }

    def setUp(self) -> None:
        """Make what the requests are about."""
        super().setUp()
        self.use(ADMIN)
        self.make_topic(TOPIC, 2)
        self.successResultOf(self.broker.transactions.topic.ensure())
        self.successResultOf(self.broker.groups.topic.ensure())
        self.fill(b"a", topic=TOPIC)
        partition = OffsetCommitRequestPartition(0, 1, committed_metadata="")
        commit = OffsetCommitRequest(GROUP, topics=[OffsetCommitRequestTopic(TOPIC, [partition])])
        self.assertNotIn(True, map(bool, codes_in(self.ask(8, 9, commit))))
        producer = self.ask(22, 4, InitProducerIdRequest(TRANSACTION, 60_000))
        self.producer = producer.producer_id, producer.producer_epoch
        added = AddPartitionsToTxnRequest(
            [], TRANSACTION, *self.producer, [AddPartitionsToTxnTopic(TOPIC, [1])]
        )
        self.assertNotIn(True, map(bool, codes_in(self.ask(24, 3, added))))
        self.use(ALICE)

    def make_authorizer(self, config: BrokerConfig) -> IAuthorizer:
        """Return one that decides by ACLs."""
        return AclAuthorizer(config)

    def use(self, principal: str, host: str = "192.0.2.7") -> None:
        """Send later requests as this principal."""
        self.peer = Peer(host, 40_000, "127.0.0.1", 9092, Session(principal))

    def alter(self, added: set[AclBinding], removed: set[AclBinding]) -> None:
        """Change the ACLs."""
        self.successResultOf(self.broker.metadata.alter_acls(frozenset(added), frozenset(removed)))

    def grant(
        self,
        operation: AclOperation,
        resource_type: ResourceType,
        name: str = "",
        permission: AclPermission = AclPermission.ALLOW,
        pattern_type: PatternType = PatternType.LITERAL,
        principal: str = ALICE,
        host: str = "*",
    ) -> AclBinding:
        """Add an ACL, by default about what the test case has of the type."""
        pattern = ResourcePattern(resource_type, name or NAMES[resource_type], pattern_type)
        binding = AclBinding(pattern, AccessControlEntry(principal, host, operation, permission))
        self.alter({binding}, set())
        return binding

    def revoke_all(self) -> None:
        """Remove all ACLs."""
        acls = self.broker.metadata.state.acls
        self.alter(
            set(), {AclBinding(pattern, entry) for pattern, entries in acls.items() for entry in entries}
        )

    def topic_id(self) -> uuid.UUID:
        """Return the id of the topic ``orders``."""
        return self.broker.metadata.state.topics[TOPIC].topic_id

    def remove_topic(self) -> None:
        """Remove the topic ``orders``."""
        self.successResultOf(self.broker.metadata.delete_topic(TOPIC))

    def expect_followers(self) -> None:
        """Make the broker one of several, which refuses strangers by their epochs."""
        self.patch(self.broker.metadata, "lease_remaining_s", lambda: 1.0)

    def ask_late(self, key: int, version: int, request: Message) -> Any:
        """Return the response to a request that may wait."""
        answer = self.answer(key, version, request)
        if isinstance(answer, Deferred):
            if not answer.called:
                self.clock.advance(10)
            answer = self.successResultOf(answer)
        return self.response(key, version, answer)

    def put(self, topic: str = TOPIC, acks: int = -1) -> Any:
        """Produce a record."""
        return self.ask(0, 9, produce_request(build_values([b"x"], 0), acks, topic))

    def end_offset(self, topic: str = TOPIC) -> int:
        """Return the end of partition 0."""
        found = self.broker.topics.find(*TopicPartition(topic, 0))
        assert found is not None
        return int(found.log.log_end_offset)
