"""On the driver: reading, storing and carrying out decisions about micro-batches."""

from __future__ import annotations

import attrs

from kafkatx.blocking import Cluster
from kafkatx.blocking.admin.groups import Groups
from kafkatx.blocking.admin.transactions import Transactions
from kafkatx.blocking.producer.transaction import Transaction
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.spark.sink.exactly_once.decision import Decision, Part, Stored, decode, encode, task_id
from kafkatx.types import TopicPartition

_ENDED = (
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
)
"""Errors that mean that a transaction is not open any more."""


class BatchTorn(KafkaTXError):
    """A batch was decided, and some of its transactions were aborted before they were committed."""

    def __init__(self, transactional_id: str, decision: Decision, lost: list[Part]) -> None:
        tasks = ", ".join(str(part.task) for part in lost)
        super().__init__(
            f"batch {decision.batch_id} of query {decision.query_id} is committed in part: the transactions"
            f" of {len(lost)} of {len(decision.parts)} tasks (task {tasks}) were aborted after the decision"
            " to commit: kafka.transaction.timeout.ms was over before the query came back, or a task of an"
            " older run came back to life. To write the batch again, with the committed part twice, give"
            f" another kafka.transactional.id than {transactional_id!r}"
        )


def read_decision(cluster: Cluster, transactional_id: str) -> Stored | None:
    """Return the last decision; waits until a transaction that may change it has ended."""
    return decode(transactional_id, Groups(cluster).offsets(transactional_id, stable=True))


def complete(cluster: Cluster, driver: Transaction, stored: Stored) -> Stored:
    """Commit the transactions of a decided batch, and store that this is done.

    Each step may be repeated, by any run of the query.

    :raises BatchTorn: not all of them can be committed.
    """
    decision, lost = stored.decision, []
    for part in decision.parts:
        handle = part.handle(driver.transactional_id)
        try:
            Transaction.resumed(cluster, handle).end(True)
        except RequestError as error:
            if error.code not in _ENDED:
                raise
            if not _is_committed(cluster, handle.transactional_id, decision):
                lost.append(part)
    if lost:
        raise BatchTorn(driver.transactional_id, decision, lost)
    done = attrs.evolve(decision, parts=())
    store(driver, done, stored.place)
    return attrs.evolve(stored, decision=done)


def store(driver: Transaction, decision: Decision, place: TopicPartition) -> None:
    """Store a decision, unless another run of the query has begun.

    :raises KafkaTXError: one has; or the outcome is not known.
    """
    try:
        driver.send_offset(driver.transactional_id, place, encode(decision))
        driver.end(True)
    except RequestError as error:
        if error.code not in _ENDED:
            raise
        raise KafkaTXError(
            f"batch {decision.batch_id} was not committed: another run of the query has begun, or another"
            f" query has the same kafka.transactional.id {driver.transactional_id!r} ({error.code.name})"
        ) from error


def _is_committed(cluster: Cluster, name: str, decision: Decision) -> bool:
    """Return True if a task's transaction, which is not open any more, was committed: by what it has stored.

    A copy of the task that came late may have another transaction of this id open, which does not matter.
    """
    offsets = Groups(cluster).offsets(name)
    return any((at, query) == (decision.batch_id, decision.query_id) for at, query, _ in offsets.values())


def check_open(cluster: Cluster, transactional_id: str, parts: tuple[Part, ...]) -> None:
    """Check that transactions can still be committed, before that is decided.

    :raises KafkaTXError: one was aborted.
    """
    tool = Transactions(cluster)
    for part in parts:
        name = task_id(transactional_id, part.task, part.attempt)
        try:
            found = tool.describe(name)
        except RequestError as error:
            if error.code is ErrorCode.UNSUPPORTED_VERSION:  # before Kafka 3.0
                return
            if error.code not in _ENDED:
                raise
            found = None
        if found is None or (found.state, found.producer_id, found.producer_epoch) != (
            "Ongoing",
            part.producer_id,
            part.epoch,
        ):
            raise KafkaTXError(
                f"nothing of the batch was committed: the transaction {name!r} was aborted meanwhile. If the"
                " batch takes longer than kafka.transaction.timeout.ms, raise that, and the brokers'"
                " transaction.max.timeout.ms; if Spark runs tasks twice, leave spark.speculation off"
            )
