"""The rights that each API needs, beside Apache Kafka 4: the same requests with the same ACLs at both.

The cases are those of the table of demands (:mod:`tests.broker.authorization.cases`), each in the oldest and
the newest version that both brokers have. A user without rights, with wrong ones and with just the right ones
sends them; the refusals in the answers, and what they show, are compared. :data:`DIFFERENCES` has those that
are meant. ``make authorization`` runs it, in some minutes.
"""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.acls import CLUSTER_NAME, AclPermission, PatternType
from kafkatx.blocking import Cluster
from kafkatx.blocking.security import dial_with
from kafkatx.broker.authorization import demands as d
from kafkatx.broker.authorization.demands import ROWS, Row
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.security.jaas import PLAIN
from kafkatx.testing import EmbeddedBroker
from kafkatx.wire.messages import create_acls, delete_acls, describe_acls
from kafkatx.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from kafkatx.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkatx.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkatx.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkatx.wire.schema import Message, Struct
from tests.broker.authorization.authorized import GROUP, NAMES, REFUSALS, TOPIC, TRANSACTION, codes_in
from tests.broker.authorization.cases import CASES, Case
from tests.broker.authorization.steps import Grant, Step, steps
from tests.clients.brokers import ApacheBroker
from tests.clients.toolchains import prepare
from tests.until import until

ADMIN, ALICE = "admin", "alice"
SETTINGS = {
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "security.inter.broker.protocol": "SASL_PLAINTEXT",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        f'{PLAIN} required username="{ADMIN}" password="p" user_{ADMIN}="p" user_{ALICE}="p";'
    ),
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": f"User:{ADMIN};User:ANONYMOUS",  # Apache Kafka's controller has no logins here
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
MAP = {"listener.security.protocol.map": "CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT"}
PASSING = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.CONCURRENT_TRANSACTIONS,
}
DIFFERENCES: Mapping[tuple[str, str], str] = {
    ("Fetch", d.OF_FOLLOWERS): (
        "Apache Kafka refuses each topic, with the error of topics; a broker of kafkatx that is alone has no"
        " followers, whatever their rights"
    ),
    ("DescribeUserScramCredentials", ""): (
        "Apache Kafka 4.3 closes the connection if the refused request is about all users"
    ),
}
"""APIs, and conditions of demands, with another outcome, and why."""


class Side:
    """One of the brokers, with a topic, a group and a transaction for each step, whose names have a number.

    :ivar producer: producer id and epoch of the transaction.
    """

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self.admin = self._client(ADMIN)
        self.alice = self._client(ALICE)
        self.producer = -1, -1
        self._number = 0

    def _client(self, user: str) -> Cluster:
        settings = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": user,
            "sasl.password": "p",
        }
        return Cluster(self._bootstrap, dial=dial_with(settings))

    def close(self) -> None:
        """Close the connections."""
        self.admin.close()
        self.alice.close()

    def has(self, request: type[Message], version: int) -> bool:
        """Return True if the broker has a version of an API."""
        try:
            return self.admin.any_broker().version_for(request, version) == version
        except RequestError:
            return False

    # --- what the cases need

    def ask_late(self, key: int, version: int, request: Message) -> Any:
        """Return the response to a request of the administrator; a member that joins gets partitions."""
        response = self._restored(self.admin.any_broker().request(self._named(request), version))
        return self._assigned(response) if isinstance(request, ConsumerGroupHeartbeatRequest) else response

    def _assigned(self, joined: Any) -> Any:
        """Send heartbeats until a member has partitions."""
        found = [joined]

        def has_partitions() -> bool:
            last = found[-1]
            if last.assignment is not None and last.assignment.topic_partitions:
                return True
            beat = ConsumerGroupHeartbeatRequest(self._name(GROUP), last.member_id or "m", last.member_epoch)
            found.append(self.admin.any_broker().request(beat, 1))
            return False

        until(has_partitions, "the member has partitions")
        return found[-1]

    def topic_id(self) -> uuid.UUID:
        """Return the id of the topic."""
        (topic,) = self._metadata().topics
        found: uuid.UUID = topic.topic_id
        return found

    def remove_topic(self) -> None:
        """Remove the topic."""
        self.ask_late(20, 6, DeleteTopicsRequest([DeleteTopicState(TOPIC)], [TOPIC], 10_000))
        until(lambda: self._metadata().topics[0].error_code, "the topic is gone")

    def expect_followers(self) -> None:
        """Do nothing."""

    def _metadata(self) -> Any:
        return self.ask_late(3, 12, MetadataRequest([MetadataRequestTopic(name=TOPIC)], False))

    # --- a world for each step

    def renew(self) -> None:
        """Make a new topic, and a group and a transaction with it."""
        self._number += 1
        self._settled(19, 5, CreateTopicsRequest([CreatableTopic(TOPIC, 2, 1)], 10_000))
        until(lambda: not self._metadata().topics[0].error_code, "the topic is there")
        partition = OffsetCommitRequestPartition(0, 1, committed_metadata="")
        self._settled(10, 4, FindCoordinatorRequest("", 0, [GROUP]))
        self._settled(8, 8, OffsetCommitRequest(GROUP, topics=[OffsetCommitRequestTopic(TOPIC, [partition])]))
        self._settled(10, 4, FindCoordinatorRequest("", 1, [TRANSACTION]))
        made = self._settled(22, 4, InitProducerIdRequest(TRANSACTION, 60_000))
        self.producer = made.producer_id, made.producer_epoch
        topics = [AddPartitionsToTxnTopic(TOPIC, [1])]
        self._settled(24, 3, AddPartitionsToTxnRequest([], TRANSACTION, *self.producer, topics))

    def _settled(self, key: int, version: int, request: Message) -> Any:
        """Return the response, once it has no error that passes."""
        answers: list[Any] = []

        def asked() -> bool:
            answers.append(self.ask_late(key, version, request))
            codes = {ErrorCode.of(code) for code in codes_in(answers[-1])} - {ErrorCode.NONE}
            if codes - PASSING:
                raise AssertionError(f"{type(request).__name__}: {codes}")
            return not codes

        until(asked, type(request).__name__)
        return answers[-1]

    def grant(self, grants: tuple[Grant, ...]) -> None:
        """Give alice these rights and no others, and wait until they count."""
        wanted = {
            (one.resource_type, self._name(one.name or NAMES[one.resource_type]), one.operation)
            for one in grants
        }
        found = self._rights()
        if found - wanted:
            everything = delete_acls.DeleteAclsFilter(1, None, 1, None, None, 1, 1)
            self.admin.any_broker().request(delete_acls.DeleteAclsRequest([everything]))
            found = set()
        creations = [
            create_acls.AclCreation(
                kind, name, PatternType.LITERAL, f"User:{ALICE}", "*", operation, AclPermission.ALLOW
            )
            for kind, name, operation in wanted - found
        ]
        if creations:
            self.admin.any_broker().request(create_acls.CreateAclsRequest(creations))
        until(lambda: self._rights() == wanted, "the ACLs count")

    def _rights(self) -> set[tuple[int, str, int]]:
        told = self.admin.any_broker().request(
            describe_acls.DescribeAclsRequest(1, None, 1, None, None, 1, 1)
        )
        return {
            (resource.resource_type, resource.resource_name, acl.operation)
            for resource in told.resources
            for acl in resource.acls
        }

    def outcome(self, case: Case, request: Message) -> tuple[list[str], bool | None]:
        """Send a request as alice; return the refusals, by name, and whether it shows what it may hide."""
        try:
            answer = self.alice.any_broker().request(self._named(request), case.version)
        except ConnectionFailed:
            self.alice.close()
            self.alice = self._client(ALICE)
            return ["the connection is closed"], None
        response = self._restored(answer)
        refusals = sorted(ErrorCode.of(code).name for code in set(codes_in(response)) & REFUSALS)
        return refusals, None if case.shows is None else case.shows(response)

    # --- names

    def _name(self, name: str) -> str:
        return name if name == CLUSTER_NAME else f"{name}-{self._number}"

    def _named(self, request: Message) -> Message:
        named: Message = _renamed(request, {name: self._name(name) for name in (TOPIC, GROUP, TRANSACTION)})
        return named

    def _restored(self, response: Any) -> Any:
        return _renamed(response, {self._name(name): name for name in (TOPIC, GROUP, TRANSACTION)})


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Replace names in all fields of a message."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, list):
        return [_renamed(one, names) for one in value]
    if isinstance(value, Struct):
        for name in getattr(type(value), "__slots__", ()):
            setattr(value, name, _renamed(getattr(value, name), names))
    return value


def chosen(sides: tuple[Side, Side]) -> Iterator[tuple[Row, Case]]:
    """Yield the cases: of those that differ in nothing but the version, the oldest and the newest."""
    for row in ROWS:
        groups: dict[tuple[object, ...], list[Case]] = {}
        for case in CASES[row.api.key]:
            if row.demands and all(side.has(row.api.request, case.version) for side in sides):
                groups.setdefault((case.whens, case.shows is None), []).append(case)
        for cases in groups.values():
            yield row, cases[0]
            if len(cases) > 1:
                yield row, cases[-1]


class AuthorizationTests(SynchronousTestCase):
    timeout = 1800

    def setUp(self) -> None:
        """Start both brokers."""
        prepare("java-4")
        ours = EmbeddedBroker({**SETTINGS, "listeners": "SASL_PLAINTEXT://127.0.0.1:0"}, run_in="process")
        self.addCleanup(ours.close)
        theirs = ApacheBroker("4", {**SETTINGS, **MAP}, protocol="SASL_PLAINTEXT")
        self.addCleanup(theirs.close)
        ours.start()
        theirs.start()
        self.sides = Side(ours.bootstrap), Side(theirs.bootstrap)
        for side in self.sides:
            self.addCleanup(side.close)

    def test_same(self) -> None:
        """Both refuse and show the same, but for the differences that are known."""
        begun_s = time.monotonic()
        count, found = 0, []
        known = dict.fromkeys(DIFFERENCES, 0)
        for row, case in chosen(self.sides):
            for step in steps(row, case):
                count += 1
                ours, theirs = (self.outcome(side, case, step) for side in self.sides)
                if ours == theirs:
                    continue
                difference = row.api.name, ", ".join(case.whens)
                if difference in known:
                    known[difference] += 1
                    continue
                text = " ".join((row.api.name, f"v{case.version}", *case.whens, step.label))
                found.append(f"{text}: kafkatx {ours}, Apache Kafka {theirs}")
        sys.stdout.write(
            f"{count} requests at each, {sum(known.values())} differ as known, {len(found)} otherwise; "
            f"{time.monotonic() - begun_s:.0f} s\n"
        )
        self.assertEqual(found, [], "\n".join(found))
        self.assertNotIn(0, known.values(), "a difference that is none any more")

    def outcome(self, side: Side, case: Case, step: Step) -> tuple[list[str], bool | None]:
        """Try a step at one of the brokers."""
        side.renew()
        case.prepare(side)
        request = case.make(side)
        side.grant(step.grants)
        return side.outcome(case, request)
