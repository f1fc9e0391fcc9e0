"""A cluster in memory whose producers have transactions, in both protocols; a client may die at a request."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import attrs

from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.clientcore.producer.transactions.machine import FEATURE
from kafkatx.errors import ErrorCode
from kafkatx.records.batch import iter_records, parse_header
from kafkatx.types import TopicPartition
from kafkatx.wire.messages import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    describe_transactions,
    end_txn,
    find_coordinator,
    init_producer_id,
    list_transactions,
    offset_fetch,
    produce,
    txn_offset_commit,
)
from tests.blocking.fakes import FakeChannel, FakeCluster, Log

MAX_TIMEOUT_MS = 900_000


class Killed(BaseException):
    """The process of the client was killed."""


@attrs.define
class Known:
    """A transactional id and its open transaction.

    :ivar ended: the epoch and outcome of the last EndTxn, until the next transaction begins.
    """

    producer_id: int
    epoch: int = 0
    state: str = "Empty"
    partitions: set[TopicPartition] = attrs.Factory(set)
    groups: set[str] = attrs.Factory(set)
    values: list[bytes] = attrs.Factory(list)
    offsets: list[tuple[str, TopicPartition, OffsetAndMetadata]] = attrs.Factory(list)
    ended: tuple[int, bool] | None = None


class TransactionalCluster(FakeCluster):
    """Broker 1 has two topics, and coordinates everything.

    :ivar committed: the values that readers of committed records get.
    :ivar ids: the transactional ids.
    :ivar groups: committed offsets.
    :ivar die_at: the number of the request at which the client dies, counted down.
    :ivar dies_after: True if the broker carries that request out.
    """

    def __init__(self, implicit: bool = True) -> None:
        super().__init__({"t": [Log(), Log()], "u": [Log()]})
        self.implicit = implicit
        self.committed: list[bytes] = []
        self.ids: dict[str, Known] = {}
        self.groups: defaultdict[str, dict[TopicPartition, OffsetAndMetadata]] = defaultdict(dict)
        self.die_at: int | None = None
        self.dies_after = False

    def connect(self, host: str, port: int) -> FakeChannel:
        """A channel that knows of the protocol."""
        channel = super().connect(host, port)
        channel.features = {FEATURE: 2 if self.implicit else 1}
        return channel

    def answer(self, node: int, request: Any, version: int) -> Any:
        """Answer, unless the client dies."""
        if self.die_at is not None:
            self.die_at -= 1
            if self.die_at == 0:
                if self.dies_after:
                    super().answer(node, request, version)
                raise Killed
        return super().answer(node, request, version)

    def open_ids(self) -> list[str]:
        """The transactional ids with an open transaction."""
        return [name for name, known in self.ids.items() if known.state == "Ongoing"]

    def expire(self, name: str) -> None:
        """Abort an open transaction by its time-out, which fences its producer."""
        known = self.ids[name]
        known.epoch += 1
        self._end(known, False)

    def answer_find_coordinator(self, node: int, request: Any, version: int, error: int) -> Any:
        """It is broker 1."""
        return find_coordinator.FindCoordinatorResponse(
            error_code=error, node_id=1, host="broker1", port=9092
        )

    def answer_init_producer_id(self, node: int, request: Any, version: int, error: int) -> Any:
        """Fence the producer before; an open transaction is aborted first."""
        if request.transactional_id is None:
            return super().answer_init_producer_id(node, request, version, error)
        known = self.ids.setdefault(request.transactional_id, Known(1000 + len(self.ids), -1))
        if not error and request.transaction_timeout_ms > MAX_TIMEOUT_MS:
            error = ErrorCode.INVALID_TRANSACTION_TIMEOUT
        if not error and known.state == "Ongoing":
            self.expire(request.transactional_id)
            error = ErrorCode.CONCURRENT_TRANSACTIONS
        if error:
            return init_producer_id.InitProducerIdResponse(error_code=error)
        known.epoch, known.ended = known.epoch + 1, None
        return init_producer_id.InitProducerIdResponse(
            producer_id=known.producer_id, producer_epoch=known.epoch
        )

    def _checked(self, request: Any, name: str, producer_id: int, epoch: int) -> tuple[Known | None, int]:
        known = self.ids.get(name)
        if known is None or known.producer_id != producer_id:
            return None, ErrorCode.INVALID_PRODUCER_ID_MAPPING
        if known.epoch != epoch:
            return None, ErrorCode.PRODUCER_FENCED
        return known, 0

    def answer_add_partitions_to_txn(self, node: int, request: Any, version: int, error: int) -> Any:
        """Add partitions, in protocol 1."""
        assert not self.implicit
        name, epoch = request.v3_and_below_transactional_id, request.v3_and_below_producer_epoch
        known, code = self._checked(request, name, request.v3_and_below_producer_id, epoch)
        results = []
        for topic in request.v3_and_below_topics:
            parts = []
            for number in topic.partitions:
                if known is not None and not error:
                    self._begin(known).partitions.add(TopicPartition(topic.name, number))
                result = add_partitions_to_txn.AddPartitionsToTxnPartitionResult(number, error or code)
                parts.append(result)
            results.append(add_partitions_to_txn.AddPartitionsToTxnTopicResult(topic.name, parts))
        return add_partitions_to_txn.AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)

    def answer_add_offsets_to_txn(self, node: int, request: Any, version: int, error: int) -> Any:
        """Add a group, in protocol 1."""
        assert not self.implicit
        known, code = self._checked(
            request, request.transactional_id, request.producer_id, request.producer_epoch
        )
        if known is not None and not error:
            self._begin(known).groups.add(request.group_id)
        return add_offsets_to_txn.AddOffsetsToTxnResponse(error_code=error or code)

    def answer_txn_offset_commit(self, node: int, request: Any, version: int, error: int) -> Any:
        """Keep offsets until the transaction ends."""
        known, code = self._checked(
            request, request.transactional_id, request.producer_id, request.producer_epoch
        )
        if not error and known is not None and not self.implicit and request.group_id not in known.groups:
            code = ErrorCode.INVALID_TXN_STATE
        topics = []
        for topic in request.topics:
            parts = []
            for part in topic.partitions:
                if known is not None and not (error or code):
                    offset = OffsetAndMetadata(part.committed_offset, part.committed_metadata or "")
                    place = TopicPartition(topic.name, part.partition_index)
                    self._begin(known).offsets.append((request.group_id, place, offset))
                result = txn_offset_commit.TxnOffsetCommitResponsePartition(
                    part.partition_index, error or code
                )
                parts.append(result)
            topics.append(txn_offset_commit.TxnOffsetCommitResponseTopic(topic.name, parts))
        return txn_offset_commit.TxnOffsetCommitResponse(topics=topics)

    def answer_end_txn(self, node: int, request: Any, version: int, error: int) -> Any:
        """End the transaction; a repeated request has the same answer."""
        name, epoch = request.transactional_id, request.producer_epoch
        known = self.ids.get(name)
        repeated = known is not None and known.ended == (epoch, request.committed)
        code = 0
        if known is None or not repeated:
            known, code = self._checked(request, name, request.producer_id, epoch)
        if known is not None and not repeated and not error:
            if known.state != "Ongoing":
                code = ErrorCode.INVALID_TXN_STATE
            else:
                known.ended = (epoch, request.committed)
                known.epoch += self.implicit
                self._end(known, request.committed)
        if error or code or known is None:
            return end_txn.EndTxnResponse(error_code=error or code)
        if not self.implicit:
            return end_txn.EndTxnResponse()
        return end_txn.EndTxnResponse(producer_id=known.producer_id, producer_epoch=known.epoch)

    def answer_produce(self, node: int, request: Any, version: int, error: int) -> Any:
        """Append batches of the open transaction alone."""
        topic = request.topic_data[0]
        part = topic.partition_data[0]
        data = bytes(part.records)
        header = parse_header(data)
        known, code = self._checked(
            request, request.transactional_id, header.producer_id, header.producer_epoch
        )
        place = TopicPartition(topic.name, part.index)
        if known is not None and not self.implicit and place not in known.partitions:
            code = ErrorCode.INVALID_TXN_STATE
        if not error and code:
            code = ErrorCode.INVALID_PRODUCER_EPOCH if code == ErrorCode.PRODUCER_FENCED else code
            answer = produce.PartitionProduceResponse(part.index, code, -1)
            return produce.ProduceResponse([produce.TopicProduceResponse(topic.name, [answer])])
        assert known is not None and header.transactional
        log = self.topics[topic.name][part.index]
        if header.base_sequence == 0 and log.sequences.get(-known.producer_id) != [header.producer_epoch]:
            log.sequences.pop(known.producer_id, None)
            log.sequences[-known.producer_id] = [header.producer_epoch]
        end = log.end
        response = super().answer_produce(node, request, version, error)
        if log.end > end:
            self._begin(known).partitions.add(place)
            known.values += [record.value or b"" for record in iter_records(memoryview(data))]
        return response

    def answer_offset_fetch(self, node: int, request: Any, version: int, error: int) -> Any:
        """All offsets of one group; pending ones are waited for if the client asks for that."""
        (group,) = request.groups
        pending = any(group.group_id == name for one in self.ids.values() for name, _, _ in one.offsets)
        unstable = ErrorCode.UNSTABLE_OFFSET_COMMIT if pending and request.require_stable else 0
        topics = [
            offset_fetch.OffsetFetchResponseTopics(
                place.topic,
                [
                    offset_fetch.OffsetFetchResponsePartitions(
                        place.partition, offset.offset, -1, offset.metadata, 0
                    )
                ],
            )
            for place, offset in self.groups.get(group.group_id, {}).items()
        ]
        found = offset_fetch.OffsetFetchResponseGroup(group.group_id, topics, error or unstable)
        return offset_fetch.OffsetFetchResponse(groups=[found])

    def answer_list_transactions(self, node: int, request: Any, version: int, error: int) -> Any:
        """The ids in the states that are asked for."""
        found = [
            list_transactions.TransactionState(name, known.producer_id, known.state)
            for name, known in self.ids.items()
            if known.state in request.state_filters
        ]
        return list_transactions.ListTransactionsResponse(error_code=error, transaction_states=found)

    def answer_describe_transactions(self, node: int, request: Any, version: int, error: int) -> Any:
        """The state of one id."""
        (name,) = request.transactional_ids
        known = self.ids.get(name)
        if error or known is None:
            code = error or ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
            state = describe_transactions.TransactionState(code, name)
        else:
            state = describe_transactions.TransactionState(
                0, name, known.state, 60_000, 0, known.producer_id, known.epoch, []
            )
        return describe_transactions.DescribeTransactionsResponse(0, [state])

    def _begin(self, known: Known) -> Known:
        if known.state != "Ongoing":
            known.state, known.ended = "Ongoing", None
        return known

    def _end(self, known: Known, committed: bool) -> None:
        if committed:
            self.committed += known.values
            for group, place, offset in known.offsets:
                self.groups[group][place] = offset
        known.state = "CompleteCommit" if committed else "CompleteAbort"
        known.partitions, known.groups = set(), set()
        known.values, known.offsets = [], []
