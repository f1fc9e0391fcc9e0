"""A running broker with transactions, as a client of either version of transactions sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from twisted.internet.defer import Deferred

from kafkatx.names import CONSUMER_OFFSETS
from kafkatx.records.builder import BatchBuilder
from kafkatx.records.compression import Codec
from kafkatx.records.conversion import iter_any
from kafkatx.transactions.transaction import Transaction
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafkatx.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from kafkatx.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafkatx.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from kafkatx.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.broker.running import BrokerTestCase

TV1_END, TV2_END = 4, 5
TV1_PRODUCE, TV2_PRODUCE = 11, 12


def batch(values: Sequence[bytes], producer: tuple[int, int], sequence: int = 0) -> bytes:
    """A transactional batch of a producer id and epoch."""
    builder = BatchBuilder(Codec.NONE, *producer, sequence, transactional=True)
    for value in values:
        builder.append(None, value, 0)
    return builder.build()


class TransactionsTestCase(BrokerTestCase):
    """A test case with a topic ``t`` of two partitions, and both internal topics."""

    settings: ClassVar[dict[str, str]] = {
        "transaction.state.log.num.partitions": "3",
        "offsets.topic.num.partitions": "3",
    }

    def setUp(self) -> None:
        """Make the topics."""
        super().setUp()
        self.make_topic(partitions=2)
        self.successResultOf(self.broker.transactions.topic.ensure())
        self.successResultOf(self.broker.groups.topic.ensure())

    # --- requests

    def init(
        self,
        name: str = "tx",
        producer: tuple[int, int] = (-1, -1),
        timeout_ms: int = 60_000,
        version: int = 5,
    ) -> InitProducerIdResponse:
        """Ask for a producer id."""
        response: InitProducerIdResponse = self.ask(
            22, version, InitProducerIdRequest(name, timeout_ms, *producer)
        )
        return response

    def producer(self, name: str = "tx", timeout_ms: int = 60_000) -> tuple[int, int]:
        """Return the id and epoch of a new producer."""
        response = self.init(name, timeout_ms=timeout_ms)
        self.assertEqual(response.error_code, 0)
        return response.producer_id, response.producer_epoch

    def add(
        self,
        producer: tuple[int, int],
        *partitions: int,
        name: str = "tx",
        topic: str = "t",
        version: int = 3,
    ) -> list[int]:
        """Add partitions; return their errors."""
        topics = [AddPartitionsToTxnTopic(topic, list(partitions))]
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=producer[0],
            v3_and_below_producer_epoch=producer[1],
            v3_and_below_topics=topics,
        )
        (of_topic,) = self.ask(24, version, request).results_by_topic_v3_and_below
        return [result.partition_error_code for result in of_topic.results_by_partition]

    def add_offsets(self, producer: tuple[int, int], group: str = "g", version: int = 4) -> int:
        """Add the offsets of a group; return the error."""
        error: int = self.ask(25, version, AddOffsetsToTxnRequest("tx", *producer, group)).error_code
        return error

    def write(
        self,
        producer: tuple[int, int],
        *values: bytes,
        partition: int = 0,
        sequence: int = 0,
        version: int = TV1_PRODUCE,
        name: str | None = "tx",
    ) -> int:
        """Produce values as part of a transaction; return the error."""
        return self.produce(
            batch(values, producer, sequence), version, partition=partition, transactional_id=name
        ).error_code

    def end(
        self, producer: tuple[int, int], commit: bool = True, name: str = "tx", version: int = TV1_END
    ) -> EndTxnResponse:
        """End the transaction."""
        response: EndTxnResponse = self.ask(26, version, EndTxnRequest(name, *producer, commit))
        return response

    def commit_offset(
        self,
        producer: tuple[int, int],
        offset: int,
        partition: int = 0,
        version: int = 3,
        group: str = "g",
        **member: Any,
    ) -> int:
        """Commit an offset of a group with a transaction; return the error."""
        partitions = [TxnOffsetCommitRequestPartition(partition, offset)]
        topics = [TxnOffsetCommitRequestTopic("t", partitions)]
        request = TxnOffsetCommitRequest("tx", group, *producer, topics=topics, **member)
        (of_topic,) = self.ask(28, version, request).topics
        (result,) = of_topic.partitions
        error: int = result.error_code
        return error

    def transact(self, *values: bytes, commit: bool = True, name: str = "tx") -> tuple[int, int]:
        """Run one transaction of version 1 in partition 0; return its producer."""
        producer = self.producer(name)
        self.assertEqual(self.add(producer, 0, name=name), [0])
        self.assertEqual(self.write(producer, *values, name=name), 0)
        self.assertEqual(self.end(producer, commit, name).error_code, 0)
        return producer

    # --- what is there

    def transaction(self, name: str = "tx") -> Transaction:
        """Return what the coordinator knows of a transactional id."""
        found = self.broker.transactions.find(name)
        assert found is not None
        return found

    @property
    def state(self) -> str:
        """The state of the transactional id."""
        return self.transaction().metadata.state.value

    def fetched(self, committed: bool = True, partition: int = 0) -> tuple[list[bytes | None], int]:
        """Return the values that a consumer is sent, aborted ones as well, and the last stable offset."""
        asked = FetchPartition(partition, fetch_offset=0, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=0,
            max_bytes=1 << 20,
            isolation_level=int(committed),
            topics=[FetchTopic("t", partitions=[asked])],
        )
        response = self.ask(1, 11, request)
        ((found,),) = [topic.partitions for topic in response.responses]
        values = [record.value for record in iter_any(memoryview(found.records or b""))]
        return values, found.last_stable_offset

    def offset(self, group: str = "g", partition: int = 0, stable: bool = True) -> tuple[int, int]:
        """Return the committed offset of a group, and its error."""
        topics = [OffsetFetchRequestTopics("t", [partition])]
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group, topics=topics)], require_stable=stable
        )
        ((result,),) = [topic.partitions for topic in self.ask(9, 8, request).groups[0].topics]
        return result.committed_offset, result.error_code

    def offsets_partition(self, group: str = "g") -> TopicPartition:
        """Return the partition that has the offsets of a group."""
        return TopicPartition(CONSUMER_OFFSETS, self.broker.groups.topic.partition_of(group))

    def reload(self) -> None:
        """Forget all, and read it again from the logs, as another broker would."""
        for coordinator in (self.broker.transactions, self.broker.groups):
            partitions = list(coordinator.topic.led())
            for leading in (False, True):
                for partition in partitions:
                    coordinator.runtime.role_changed(partition, leading)

    def answered(self, waiting: Any) -> Any:
        """Return the result of a Deferred, or the value itself."""
        return self.successResultOf(waiting) if isinstance(waiting, Deferred) else waiting
