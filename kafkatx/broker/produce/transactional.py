"""Produce requests with a transactional id: what must be asked before their batches may be written.

A batch of a transaction may be written if its producer has an open transaction in the partition already, or
if the transaction coordinator says so (:mod:`kafkatx.broker.coordinator.transactions.verification`). If it is
validated in a worker before it is written, a marker takes that back (:mod:`kafkatx.broker.produce.verdicts`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from twisted.internet.defer import Deferred

from kafkatx.broker.coordinator.transactions.client_errors import ADDS_SINCE_PRODUCE, produce_error
from kafkatx.broker.coordinator.transactions.verification import Results, TransactionVerifier
from kafkatx.broker.produce.verdicts import producer_of
from kafkatx.broker.replica.topics import Topics
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.transactions.metadata import Producer
from kafkatx.types import FileSlice, TopicPartition
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest

Refusals = Mapping[TopicPartition, ErrorCode]
"""The errors of the partitions whose batches may not be written."""


class _Batches(NamedTuple):
    """The transactional batches of a request.

    :ivar producer: the producer of all of them; None if there are none.
    :ivar unverified: the partitions in which it has no open transaction.
    """

    producer: Producer | None
    unverified: list[TopicPartition]


def verify(
    topics: Topics, verifier: TransactionVerifier, enabled: bool, request: ProduceRequest, version: int
) -> Refusals | Deferred[Refusals]:
    """Return the refusals; a Deferred, which never fails, if the coordinator has to be waited for.

    :param enabled: ask the coordinator, also if the version does not add partitions.
    :raises RequestError: INVALID_PRODUCER_ID_MAPPING: the request has batches of several producers.
    """
    adds = version >= ADDS_SINCE_PRODUCE
    producer, unverified = _look(topics, request)
    if not unverified or producer is None:
        return {}
    if not adds and not enabled:
        return {}
    assert request.transactional_id is not None
    token = verifier.pending.begin(unverified, *producer)

    def finish(results: Results) -> Refusals:
        refusals = {}
        for partition in unverified:
            error = results[partition]
            if not verifier.pending.end(token, partition, producer.id) and not error:
                error = ErrorCode.INVALID_TXN_STATE
            if error:
                refusals[partition] = produce_error(error, version)
        return refusals

    results = verifier.verify(request.transactional_id, producer, unverified, adds)
    return results.addCallback(finish) if isinstance(results, Deferred) else finish(results)


def _look(topics: Topics, request: ProduceRequest) -> _Batches:
    """Look for the batches that must be verified.

    :raises RequestError: INVALID_PRODUCER_ID_MAPPING.
    """
    producer: Producer | None = None
    unverified = []
    for topic in request.topic_data:
        for data in topic.partition_data:
            one = _producer(data)
            if one is None:
                continue
            if producer is not None and one != producer:
                raise RequestError(
                    ErrorCode.INVALID_PRODUCER_ID_MAPPING, "the request has batches of several producers"
                )
            producer = one
            partition = topics.find(topic.name, data.index)
            if partition is not None and partition.is_open and not partition.log.has_transaction(*one):
                unverified.append(TopicPartition(topic.name, data.index))
    return _Batches(producer, unverified)


def _producer(data: PartitionProduceData) -> Producer | None:
    """Return the producer of a transactional batch; None for other records."""
    records = data.records
    if not records or isinstance(records, FileSlice):
        return None
    found = producer_of(records)
    return None if found is None else Producer(*found)
