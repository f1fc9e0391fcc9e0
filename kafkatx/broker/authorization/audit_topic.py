"""The topic of denied accesses (``kafkatx.authorizer.audit.topic``): JSON, a record for each line of the log.

``{"time_ms":1,"broker":1,"principal":"User:bob","host":"192.0.2.7","operation":"read","resource_type":"topic",
"resource":"orders","left_out":0}``; ``left_out`` counts denials since the record before that were too many.
The key is the principal. It writes to partitions, here or by other brokers, and touches the clock.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from kafkatx.acls import AclOperation, ResourceType, enum_text
from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import KafkaTXError
from kafkatx.interfaces import IMetadataStore
from kafkatx.net.limited_log import LimitedLog
from kafkatx.records.keyed import build_keyed
from kafkatx.types import BrokerNode, Topic
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafkatx.wire.schema import Message

DELAY_S = 1.0
"""Seconds for which denials are collected."""
MOST_PENDING = 1000
"""Denials that wait at most; more are only counted."""
REQUEST_MS = 10_000

Pairs = Sequence[tuple[bytes, bytes]]


@attrs.frozen(eq=False)
class Ways:
    """The parts of a broker that the topic is written by.

    :ivar ensure: creates a topic unless it exists.
    :ivar find: returns a partition that this broker has.
    :ivar write: writes records to a partition that this broker leads.
    :ivar send: sends a request to another broker.
    """

    ensure: Callable[[str], Awaitable[object]]
    find: Callable[[str, int], Partition | None]
    write: Callable[[Partition, Pairs], Deferred[None] | None]
    send: Callable[[BrokerNode, Message], Deferred[Any]]


class AuditTopic:
    """Writes denials to a topic; what cannot be written is given up with a line in the log."""

    def __init__(
        self,
        topic: str,
        broker_id: int,
        metadata: IMetadataStore,
        ways: Ways,
        clock: IReactorTime,
        now_ms: Callable[[], int],
        limited_log: LimitedLog,
    ) -> None:
        self._topic = topic
        self._broker_id = broker_id
        self._metadata = metadata
        self._ways = ways
        self._clock = clock
        self._now_ms = now_ms
        self._limited_log = limited_log
        self._pending: list[tuple[bytes, bytes]] = []
        self._left_out = 0
        self._scheduled = False

    def note(
        self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType, name: str
    ) -> None:
        """Write a denial, with others of this second."""
        if len(self._pending) >= MOST_PENDING:
            self._left_out += 1
            return
        fields = {
            "time_ms": self._now_ms(),
            "broker": self._broker_id,
            "principal": principal,
            "host": host,
            "operation": enum_text(operation),
            "resource_type": enum_text(resource_type),
            "resource": name,
            "left_out": self._left_out,
        }
        self._left_out = 0
        self._pending.append((principal.encode(), json.dumps(fields, ensure_ascii=False).encode()))
        if not self._scheduled:
            self._scheduled = True
            self._clock.callLater(DELAY_S, self._flush)

    def _flush(self) -> None:
        pending, self._pending = self._pending, []
        Deferred.fromCoroutine(self._write(pending)).addBoth(self._flushed, len(pending))

    def _flushed(self, result: object, count: int) -> None:
        if result is not None:
            self._limited_log.warn(
                "{count} denials could not be written to the audit topic {topic}: {error}",
                count=count,
                topic=self._topic,
                error=getattr(result, "value", result),
            )
        self._scheduled = bool(self._pending)
        if self._pending:
            self._clock.callLater(DELAY_S, self._flush)

    async def _write(self, pairs: Pairs) -> None:
        """Write records to a partition that this broker leads, or to another one.

        :raises KafkaTXError: there is no topic, no leader, or the leader refuses them.
        """
        await self._ways.ensure(self._topic)
        topic: Topic | None = self._metadata.state.topics.get(self._topic)
        if topic is None:
            raise KafkaTXError("the topic is not known here yet")
        leaders = {one.leader: number for number, one in enumerate(topic.partitions) if one.leader >= 0}
        own = leaders.get(self._broker_id)
        partition = None if own is None else self._ways.find(self._topic, own)
        if partition is not None:
            committed = self._ways.write(partition, pairs)
            if committed is not None:
                await committed
            return
        brokers = self._metadata.state.brokers
        for leader, number in leaders.items():
            if leader in brokers and leader != self._broker_id:
                await self._send(brokers[leader], number, pairs)
                return
        raise KafkaTXError("no partition of it has a leader")

    async def _send(self, leader: BrokerNode, number: int, pairs: Pairs) -> None:
        data = [PartitionProduceData(number, build_keyed(pairs, self._now_ms()))]
        request = ProduceRequest(None, -1, REQUEST_MS, [TopicProduceData(self._topic, data)])
        response = await self._ways.send(leader, request)
        for topic in response.responses:
            for partition in topic.partition_responses:
                if partition.error_code:
                    raise KafkaTXError(f"broker {leader.id} answers with error {partition.error_code}")
