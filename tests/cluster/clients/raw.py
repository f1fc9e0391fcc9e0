"""A producer that sends each record once, and knows which have failed for certain. Plain sockets."""

from __future__ import annotations

import random
import time
from typing import Any

from kafkatx.blocking.connection import Connection
from kafkatx.errors import ErrorCode, KafkaTXError
from kafkatx.records.builder import build_values
from kafkatx.types import BrokerNode
from kafkatx.wire.messages import produce
from kafkatx.wire.schema import Message
from tests.cluster.access import Access
from tests.cluster.checker.history import ProducerHistory
from tests.cluster.clients.load import Producer
from tests.integration.raw import RawClient

PRODUCE, VERSION = 0, 8
TIMEOUT_MS = 5000
ASK_S = 5.0
ANSWER_S = 20.0
DAMAGED = 0.05
"""Share of records that are sent with a byte changed, and must be refused."""

BEFORE_APPEND = {ErrorCode.CORRUPT_MESSAGE, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.INVALID_RECORD}
"""Answers after which a record is not in the log; NOT_LEADER_OR_FOLLOWER may come after the append."""


class SecuredClient:
    """One connection with TLS and a login."""

    def __init__(self, node: BrokerNode, access: Access) -> None:
        self._connection = Connection(
            node.host, node.port, timeout_s=ANSWER_S, connect_timeout_s=ASK_S, dial=access.dial
        )
        self._connection.open()

    def ask(self, key: int, version: int, request: Message) -> Any:
        """Send a request; return the response.

        :raises OSError: there is none.
        """
        try:
            return self._connection.request(request, version)
        except KafkaTXError as error:
            raise OSError(str(error)) from error

    def __exit__(self, *_: object) -> None:
        self._connection.close()


class RawProducer(Producer):
    """Never sends again, so that its records are in the log at most once; knows what has failed."""

    def __init__(
        self,
        history: ProducerHistory,
        name: str,
        topic: str,
        partitions: int,
        rate: float,
        access: Access,
        seed: int,
    ) -> None:
        super().__init__(history, name, topic, partitions, rate)
        self._access = access
        self._random = random.Random(seed)
        self._connections: dict[int, RawClient | SecuredClient] = {}
        self._leaders: dict[int, str] = {}

    def send(self, number: int, partition: int, value: bytes) -> None:
        """Send a record to the leader, and wait for the answer."""
        try:
            connection = self._connection(partition)
        except (OSError, KafkaTXError) as error:
            self.note(error)
            self.history.failed(number)  # it has not left
            self._stopping.wait(0.2)
            return
        records = bytearray(build_values([value], int(time.time() * 1000)))
        if self._random.random() < DAMAGED:
            records[-5] ^= 1
        data = produce.PartitionProduceData(partition, bytes(records))
        request = produce.ProduceRequest(None, -1, TIMEOUT_MS, [produce.TopicProduceData(self.topic, [data])])
        try:
            answer = connection.ask(PRODUCE, VERSION, request).responses[0].partition_responses[0]
        except (OSError, EOFError) as error:
            self.note(error)
            self._forget(partition)
            return
        if not answer.error_code:
            self.delivered(number, partition, answer.base_offset)
            return
        code = ErrorCode(answer.error_code)
        self.note(code.name)
        if code in BEFORE_APPEND:
            self.history.failed(number)
        if code is not ErrorCode.CORRUPT_MESSAGE:
            self._forget(partition)

    def finish(self) -> None:
        """Close the connections."""
        for partition in list(self._connections):
            self._forget(partition)

    def _connection(self, partition: int) -> RawClient | SecuredClient:
        if partition not in self._connections:
            with self._access.cluster(timeout_s=ASK_S, connect_timeout_s=ASK_S, retries=0) as cluster:
                cluster.metadata([self.topic])
                node = cluster.leader_node(self.topic, partition)
            self._connections[partition] = self._connect(node)
        return self._connections[partition]

    def _connect(self, node: BrokerNode) -> RawClient | SecuredClient:
        if self._access.given is None:
            return RawClient(f"{node.host}:{node.port}")
        return SecuredClient(node, self._access)

    def _forget(self, partition: int) -> None:
        connection = self._connections.pop(partition, None)
        if connection is not None:
            connection.__exit__()
