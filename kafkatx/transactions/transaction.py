"""The state machine of one transactional id, without I/O.

A change takes two steps: it is *pending* while its record is being stored, and counts once the record is
committed. The client of EndTxn is answered as soon as the decision is stored. Then the markers are written,
and then the end is stored: until that, the end is pending as well.

While a change is pending all requests get CONCURRENT_TRANSACTIONS, which clients repeat, before their
producer id and epoch are looked at: they may be those after the change, which the answer to EndTxn has told
already. Two are checked for id and epoch first, as in Apache Kafka: an EndTxn of version 4 or less, after
which both stay, and the verification of a partition while markers are being written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from kafkatx.errors import ErrorCode
from kafkatx.transactions.actions import (
    Action,
    Answer,
    CompleteLater,
    LogLine,
    Marker,
    Remove,
    Reply,
    Store,
    WriteMarkers,
)
from kafkatx.transactions.completion import ended_by_tv1, ended_by_tv2, fenced
from kafkatx.transactions.initialization import initialized
from kafkatx.transactions.metadata import LAST_EPOCH, TV2, Producer, TransactionMetadata
from kafkatx.transactions.records import Record, encode_key, encode_value
from kafkatx.transactions.states import Event, State, next_state
from kafkatx.types import TopicPartition

OVERHEAD_BYTES = 1200
PARTITION_BYTES = 150
"""Approximate memory of a transactional id, and of each partition of its transaction."""


class _Pending:
    """A change that is being stored.

    :ivar metadata: the state after it; None for the end of the transactional id.
    :ivar token: the request that caused it; None if none did.
    :ivar reply: what the request is answered if it succeeds.
    """

    __slots__ = ("metadata", "reply", "token")

    def __init__(self, metadata: TransactionMetadata | None, token: object | None, reply: Reply) -> None:
        self.metadata = metadata
        self.token = token
        self.reply = reply


OK = Reply(ErrorCode.NONE)


class Transaction:
    """One transactional id, with its transaction.

    :ivar metadata: the state that is stored; of a new one nothing is.
    :param wall_ms: the wall clock, for the timestamps of records.
    :param now_ms: the time, as of the methods.
    """

    __slots__ = (
        "_first_connection",
        "_key",
        "_pending",
        "_used_ms",
        "_wall_ms",
        "metadata",
        "transactional_id",
    )

    def __init__(
        self, transactional_id: str, metadata: TransactionMetadata, wall_ms: Callable[[], int], now_ms: int
    ) -> None:
        self.transactional_id = transactional_id
        self.metadata = metadata
        self._key = encode_key(transactional_id)
        self._wall_ms = wall_ms
        self._pending: _Pending | None = None
        self._used_ms = now_ms - self._age_ms(metadata)
        self._first_connection: int | None = None  # of those that have added partitions, if all are known

    def _age_ms(self, metadata: TransactionMetadata) -> int:
        """Return the time since the last change; of an open transaction, since its beginning."""
        since_ms = metadata.start_ms if metadata.state is State.ONGOING else metadata.update_ms
        return max(self._wall_ms() - since_ms, 0) if since_ms >= 0 else 0

    @property
    def is_pending(self) -> bool:
        """True if a change is being stored."""
        return self._pending is not None

    @property
    def is_unused(self) -> bool:
        """True if nothing about the transactional id is stored, or being stored."""
        return self._pending is None and self.metadata.producer_epoch < 0

    @property
    def wants_new_id(self) -> bool:
        """True if the next request may need a new producer id."""
        return self.metadata.is_epoch_exhausted

    @property
    def is_idle(self) -> bool:
        """True if no change is under way, and no transaction is ending."""
        return self._pending is None and not self.metadata.state.is_preparing

    @property
    def held_bytes(self) -> int:
        """Approximate memory of the transaction."""
        size = OVERHEAD_BYTES + 4 * len(self.transactional_id)
        return size + PARTITION_BYTES * len(self.metadata.partitions)

    @staticmethod
    def bytes_of(partitions: int) -> int:
        """Return the approximate memory of a number of partitions."""
        return PARTITION_BYTES * partitions

    # --- requests

    def initialize(
        self, expected: Producer | None, timeout_ms: int, new_id: int, token: object, now_ms: int
    ) -> list[Action]:
        """Serve an InitProducerId: give the producer an epoch, and fence the one before.

        :param expected: the producer id and epoch that the producer has; None if it is a new instance.
        :param new_id: an unused producer id, if :attr:`wants_new_id`.
        """
        if self._pending is not None:
            return [_refusal(token, ErrorCode.CONCURRENT_TRANSACTIONS)]
        after = initialized(self.metadata, expected, timeout_ms, new_id, self._wall_ms())
        if isinstance(after, ErrorCode):
            return [_refusal(token, after)]
        if after.state is State.PREPARE_ABORT:
            line = LogLine("the transaction of {id} is aborted: a new producer has its transactional id", {})
            return [line, self._change(after, token, Reply(ErrorCode.CONCURRENT_TRANSACTIONS))]
        return [self._change(after, token, Reply(ErrorCode.NONE, after.producer))]

    def add(
        self,
        producer: Producer,
        partitions: Collection[TopicPartition],
        client_version: int,
        token: object,
        now_ms: int,
        connection: int | None = None,
    ) -> list[Action]:
        """Serve an AddPartitionsToTxn or AddOffsetsToTxn: partitions belong to the transaction from now on.

        :param client_version: the version of transactions that the request has.
        :param connection: the number of the client's connection; None if a broker asks.
        """
        error = self._check(producer) if self.is_idle else ErrorCode.CONCURRENT_TRANSACTIONS
        if error:
            return [_refusal(token, error)]
        added = frozenset(partitions)
        metadata = self.metadata
        if metadata.state is not State.ONGOING:
            self._first_connection = connection
        elif self._first_connection is not None and connection is not None:
            self._first_connection = min(self._first_connection, connection)
        if metadata.state is State.ONGOING and added <= metadata.partitions:
            return [Answer(token, OK)]
        return [self._change(metadata.with_partitions(added, client_version, self._wall_ms()), token, OK)]

    def verify(self, producer: Producer, partition: TopicPartition) -> ErrorCode:
        """Return NONE if a partition is in the open transaction of a producer, else the error."""
        if self._pending is not None:
            return ErrorCode.CONCURRENT_TRANSACTIONS
        error = self._check(producer)
        if error:
            return error
        if self.metadata.state.is_preparing:
            return ErrorCode.CONCURRENT_TRANSACTIONS
        is_in = self.metadata.state is State.ONGOING and partition in self.metadata.partitions
        return ErrorCode.NONE if is_in else ErrorCode.TRANSACTION_ABORTABLE

    def _check(self, producer: Producer) -> ErrorCode:
        """Return NONE if a producer has the transactional id, else the error."""
        if producer.id != self.metadata.producer_id:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        if producer.epoch != self.metadata.producer_epoch or producer.epoch > LAST_EPOCH:
            return ErrorCode.PRODUCER_FENCED
        return ErrorCode.NONE

    def is_late_end(self, producer: Producer, connection: int) -> bool:
        """Return True if an EndTxn over a connection was sent for an earlier transaction than the open one.

        The connection is older than all over which partitions were added. After a load that is not known.
        """
        if self.metadata.state is not State.ONGOING or producer != self.metadata.producer:
            return False
        return self._first_connection is not None and connection < self._first_connection

    def end(
        self, producer: Producer, commit: bool, client_version: int, new_id: int, token: object, now_ms: int
    ) -> list[Action]:
        """Serve an EndTxn: commit the transaction, or abort it."""
        wall_ms = self._wall_ms()
        if client_version < TV2:
            after = ended_by_tv1(self.metadata, producer, commit, wall_ms)
            is_producers = after not in (ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.PRODUCER_FENCED)
            if self._pending is not None and is_producers:
                after = ErrorCode.CONCURRENT_TRANSACTIONS
        elif self._pending is not None:
            after = ErrorCode.CONCURRENT_TRANSACTIONS
        else:
            after = ended_by_tv2(self.metadata, producer, commit, new_id, wall_ms)
        if after is ErrorCode.NONE:
            return [Answer(token, Reply(ErrorCode.NONE, self.metadata.producer))]
        if isinstance(after, ErrorCode):
            return [_refusal(token, after)]
        return [self._change(after, token, Reply(ErrorCode.NONE, after.completed(wall_ms).producer))]

    # --- time

    def abort_if_late(self, now_ms: int) -> list[Action]:
        """Abort an open transaction whose time-out has passed since its beginning; its producer is fenced."""
        metadata = self.metadata
        if self._pending is not None or metadata.state is not State.ONGOING:
            return []
        if now_ms - self._used_ms < metadata.timeout_ms:
            return []
        line = LogLine(
            "the transaction of {id} is aborted, and its producer fenced: it took longer than its "
            "transaction.timeout.ms={timeout_ms} (a broker allows up to transaction.max.timeout.ms)",
            {"timeout_ms": metadata.timeout_ms},
            True,
        )
        return [line, self._change(fenced(metadata, True, self._wall_ms()), None, OK)]

    def expire(self, now_ms: int, expiration_ms: int) -> list[Action]:
        """End a transactional id without a transaction that was not used for some time."""
        metadata = self.metadata
        if self._pending is not None or not metadata.state.may_expire:
            return []
        if now_ms - self._used_ms < expiration_ms:
            return []
        next_state(metadata.state, Event.EXPIRE)
        self._pending = _Pending(None, None, OK)
        return [Store(Record(self._key, None))]

    # --- results

    def _change(self, after: TransactionMetadata, token: object | None, reply: Reply) -> Store:
        self._pending = _Pending(after, token, reply)
        return Store(Record(self._key, encode_value(after)))

    def stored(self, error: ErrorCode, now_ms: int) -> list[Action]:
        """Continue after a :class:`Store`; *error* is NONE, or the reason why it failed."""
        pending, self._pending = self._pending, None
        assert pending is not None
        answers: list[Action] = []
        if pending.token is not None:
            answers.append(Answer(pending.token, Reply(error) if error else pending.reply))
        if error:
            return [*answers, CompleteLater()] if self.metadata.state.is_preparing else answers
        if pending.metadata is None:
            return [*answers, Remove()]
        began = self.metadata.state is not State.ONGOING or pending.metadata.state is not State.ONGOING
        self.metadata = pending.metadata
        if began:
            self._used_ms = now_ms
        return answers + self._markers()

    def loaded(self) -> list[Action]:
        """Continue after the state was read from the log: write the markers of a transaction that ends."""
        return self._markers()

    def _markers(self) -> list[Action]:
        """Return what a decision that is stored asks for; nothing in other states."""
        metadata = self.metadata
        if not metadata.state.is_preparing:
            return []
        if not metadata.partitions:
            return [self._complete()]
        marker = Marker(metadata.producer, metadata.is_commit, metadata.client_version)
        return [WriteMarkers(marker, metadata.partitions)]

    def markers_written(self, now_ms: int) -> list[Action]:
        """Store the end of the transaction: its markers are in all of its partitions."""
        return [self._complete()]

    def _complete(self) -> Store:
        return self._change(self.metadata.completed(self._wall_ms()), None, OK)


def _refusal(token: object, error: ErrorCode) -> Answer:
    return Answer(token, Reply(error))
