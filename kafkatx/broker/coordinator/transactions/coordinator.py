"""The transaction coordinator: it connects the machines of transactional ids with requests and records.

A machine (:mod:`kafkatx.transactions`) takes requests and the time, and returns actions; the coordinator
performs them. It writes records to ``__transaction_state``, answers requests, and has markers written
(:mod:`~kafkatx.broker.coordinator.transactions.markers`). What it knows is kept per partition of that topic
(:class:`~kafkatx.broker.coordinator.transactions.shard.TransactionShard`); the runtime tells it which
partitions to load and to forget. It touches the clock, and the disk through the record writer.

Where nothing has to wait (one broker, ``flush.messages`` not set) the decision, its markers and the end of a
transaction are written in one turn, so that no client is told to ask again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterator
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from kafkatx.broker.coordinator.runtime.internal_topic import InternalTopic
from kafkatx.broker.coordinator.runtime.pending_request import PendingRequest
from kafkatx.broker.coordinator.runtime.record_writer import RecordWriter, outcome
from kafkatx.broker.coordinator.runtime.runtime import CoordinatorRuntime, Replay
from kafkatx.broker.coordinator.transactions.late_ends import LateEnds
from kafkatx.broker.coordinator.transactions.shard import TransactionShard
from kafkatx.broker.replica.commit_waiters import CommitTimeouts
from kafkatx.broker.replica.manager import ReplicaManager
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.topics import Topics
from kafkatx.broker.requests.quotation import quoted
from kafkatx.broker.topic_commands import TopicCommands
from kafkatx.config import BrokerConfig
from kafkatx.config.table import groups as t
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import IMetadataStore, Workers
from kafkatx.names import TRANSACTION_STATE
from kafkatx.types import TopicPartition

if TYPE_CHECKING:  # the machines are imported with the first transaction, not at the start
    from kafkatx.broker.coordinator.transactions.markers import MarkerSender
    from kafkatx.transactions.actions import Action, LogLine, Reply
    from kafkatx.transactions.metadata import Producer
    from kafkatx.transactions.records import Record
    from kafkatx.transactions.transaction import Transaction

COMPLETE_AGAIN_S = 1.0
"""Seconds after which the end of a transaction is stored again, if that failed."""

WRITE_TIMEOUT_S = 5.0
"""Seconds that a request waits until its record is on all in-sync replicas."""


class TransactionCoordinator:
    """The transactional ids that this broker coordinates: those of the partitions that it leads.

    :ivar topic: ``__transaction_state``.
    :ivar runtime: follows the partitions that this broker leads.
    :ivar shards: what is known of each loaded partition, by its number.
    :ivar writer: writes records to them, and markers to any partition.
    :ivar used_bytes: the memory of all transactional ids.
    :ivar late_ends: the EndTxn requests that were sent for earlier transactions.
    :ivar raise_producer_ids: raises the ids that the cluster hands out above one that was used.
    :ivar max_timeout_ms: the setting.
    :ivar expiration_ms: the setting.
    :ivar now_ms: the machines' time.
    :ivar wall_ms: the wall clock, for timestamps.
    """

    _log = Logger()

    def __init__(
        self,
        config: BrokerConfig,
        metadata: IMetadataStore,
        topics: Topics,
        topic_commands: TopicCommands,
        replicas: ReplicaManager,
        timeouts: CommitTimeouts,
        clock: IReactorTime,
        workers: Workers,
        wall_ms: Callable[[], int],
        make_markers: Callable[[], MarkerSender],
    ) -> None:
        self.topic = InternalTopic(
            TRANSACTION_STATE, config.get("broker.id"), metadata, topics, topic_commands, clock
        )
        self.shards: dict[int, TransactionShard] = {}
        self.wall_ms = wall_ms
        self.used_bytes = 0
        self.late_ends = LateEnds()
        self._clock = clock
        self._make_markers = make_markers
        self._markers: MarkerSender | None = None
        self.writer = RecordWriter(replicas, clock, wall_ms, timeouts)
        self.writer.timeout_s = WRITE_TIMEOUT_S
        self.runtime = CoordinatorRuntime(
            self.topic, self.writer, self, clock, lambda: workers("transactions")
        )
        topics.role_listeners.append(self.runtime.role_changed)
        self.raise_producer_ids: Callable[[int], Coroutine[Any, Any, None]] = _leave
        self._later: dict[Transaction, IDelayedCall] = {}
        self.use(config)

    def use(self, config: BrokerConfig) -> None:
        """Use other settings from now on."""
        self.max_timeout_ms: int = config[t.TRANSACTION_MAX_TIMEOUT_MS]
        self.expiration_ms: int = config[t.TRANSACTIONAL_ID_EXPIRATION_MS]
        self._max_bytes: int = config[t.TRANSACTIONS_MAX_BYTES]

    @property
    def markers(self) -> MarkerSender:
        """The sender of markers, made when it is first needed."""
        if self._markers is None:
            self._markers = self._make_markers()
        return self._markers

    def now_ms(self) -> int:
        """Return the time of a monotonic clock."""
        return int(self._clock.seconds() * 1000)

    def shard_of(self, transactional_id: str) -> TransactionShard:
        """Return the shard of a transactional id.

        :raises RequestError: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE: this
            broker does not serve it now.
        """
        error = self.runtime.check(transactional_id)
        if error:
            raise RequestError(error)
        shard = self.shards.get(self.topic.partition_of(transactional_id))
        if shard is None:
            raise RequestError(ErrorCode.NOT_COORDINATOR)
        return shard

    def find(self, transactional_id: str) -> Transaction | None:
        """Return what is known of a transactional id; None if nothing is.

        :raises RequestError: as :meth:`shard_of`.
        """
        return self.shard_of(transactional_id).transactions.get(transactional_id)

    def all(self) -> Iterator[Transaction]:
        """Return the transactional ids that this broker coordinates; they must not change meanwhile."""
        for shard in self.shards.values():
            yield from shard.transactions.values()

    # --- requests

    def initialize(
        self, transactional_id: str, expected: Producer | None, timeout_ms: int, new_id: int
    ) -> Reply | Deferred[Reply]:
        """Serve an InitProducerId with a transactional id.

        :param expected: the id and epoch that the producer has; None if it is a new instance.
        :param new_id: an unused producer id, for a new transactional id, and if it ``wants_new_id``.
        :raises RequestError: as :meth:`shard_of`; POLICY_VIOLATION.
        """
        from kafkatx.transactions.metadata import TransactionMetadata
        from kafkatx.transactions.transaction import Transaction

        shard = self.shard_of(transactional_id)
        transaction = shard.transactions.get(transactional_id)
        if transaction is None:
            metadata = TransactionMetadata(new_id, timeout_ms)
            transaction = Transaction(transactional_id, metadata, self.wall_ms, self.now_ms())
            self._check_memory(transaction.held_bytes)
            shard.transactions[transactional_id] = transaction
            self._count(shard, transaction.held_bytes)
        machine = transaction
        return self._ask(
            shard, machine, lambda token, now: machine.initialize(expected, timeout_ms, new_id, token, now)
        )

    def add(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Collection[TopicPartition],
        client_version: int,
        connection: int | None = None,
    ) -> Reply | Deferred[Reply]:
        """Serve an AddPartitionsToTxn or AddOffsetsToTxn over a client's connection, or of a broker.

        :raises RequestError: as :meth:`shard_of`; INVALID_PRODUCER_ID_MAPPING, POLICY_VIOLATION.
        """
        shard = self.shard_of(transactional_id)
        transaction = _known(shard, transactional_id)
        new = sum(partition not in transaction.metadata.partitions for partition in partitions)
        if new:
            self._check_memory(transaction.bytes_of(new))
        return self._ask(
            shard,
            transaction,
            lambda token, now: transaction.add(producer, partitions, client_version, token, now, connection),
        )

    def verify(self, transactional_id: str, producer: Producer, partition: TopicPartition) -> ErrorCode:
        """Return NONE if a partition is in the open transaction of a producer, else the error.

        :raises RequestError: as :meth:`shard_of`; INVALID_PRODUCER_ID_MAPPING.
        """
        return _known(self.shard_of(transactional_id), transactional_id).verify(producer, partition)

    def end(
        self, transactional_id: str, producer: Producer, commit: bool, client_version: int, new_id: int
    ) -> Reply | Deferred[Reply]:
        """Serve an EndTxn.

        :raises RequestError: as :meth:`shard_of`; INVALID_PRODUCER_ID_MAPPING.
        """
        shard = self.shard_of(transactional_id)
        transaction = _known(shard, transactional_id)
        return self._ask(
            shard,
            transaction,
            lambda token, now: transaction.end(producer, commit, client_version, new_id, token, now),
        )

    def _check_memory(self, size: int) -> None:
        if self.used_bytes + size > self._max_bytes:
            raise RequestError(
                ErrorCode.POLICY_VIOLATION,
                f"all transactional ids would take {self.used_bytes + size} bytes, and"
                f" {t.TRANSACTIONS_MAX_BYTES.name}={self._max_bytes}",
            )

    def _ask(
        self,
        shard: TransactionShard,
        transaction: Transaction,
        call: Callable[[object, int], list[Action]],
    ) -> Reply | Deferred[Reply]:
        """Pass a request to a machine, and return its reply, or a Deferred if that has to wait.

        The Deferred fails with RequestError NOT_COORDINATOR if this broker ceases to coordinate the id.
        Cancelling it drops the reply, and changes nothing in the machine.
        """
        asked: PendingRequest[Reply] = PendingRequest()
        self.perform(shard, transaction, call(asked, self.now_ms()))
        if asked.response is not None:
            return asked.response
        if shard.dropped:
            raise RequestError(ErrorCode.NOT_COORDINATOR)
        return asked.wait(shard)

    # --- actions

    def perform(self, shard: TransactionShard, transaction: Transaction, actions: list[Action]) -> None:
        """Perform a machine's actions in order. Waiting requests are answered last."""
        from kafkatx.transactions.actions import Answer, CompleteLater, Remove, Store, WriteMarkers

        before = transaction.held_bytes
        waited: list[tuple[Deferred[Reply], Reply]] = []
        todo = deque(actions)
        while todo and not shard.dropped:
            action = todo.popleft()
            if isinstance(action, Answer):
                asked: PendingRequest[Reply] = action.token
                asked.response = action.reply
                if asked.waiting is not None:
                    asked.leave()
                    waited.append((asked.waiting, action.reply))
            elif isinstance(action, Store):
                error = self._store(shard, transaction, action.record)
                if error is not None:
                    todo.extend(transaction.stored(error, self.now_ms()))
            elif isinstance(action, WriteMarkers):
                if self.markers.write(shard, transaction, action):
                    todo.extend(transaction.markers_written(self.now_ms()))
            elif isinstance(action, CompleteLater):
                self._later[transaction] = self._clock.callLater(
                    COMPLETE_AGAIN_S, self._complete_again, shard, transaction
                )
            elif isinstance(action, Remove):
                self._forget(shard, transaction, before)
            else:
                self._write_log(transaction, action)
        if not shard.dropped and shard.transactions.get(transaction.transactional_id) is transaction:
            self._count(shard, transaction.held_bytes - before)
            if transaction.is_unused:
                self._forget(shard, transaction, transaction.held_bytes)
        for waiting, reply in waited:
            waiting.callback(reply)

    def _forget(self, shard: TransactionShard, transaction: Transaction, size: int) -> None:
        del shard.transactions[transaction.transactional_id]
        self._count(shard, -size)

    def _count(self, shard: TransactionShard, size: int) -> None:
        shard.used_bytes += size
        self.used_bytes += size

    def _store(self, shard: TransactionShard, transaction: Transaction, record: Record) -> ErrorCode | None:
        """Append a record; return NONE or the error, or None if that is known later."""
        try:
            committed = self.writer.append(shard.partition, [record])
        except RequestError as refused:
            return refused.code
        if committed is None:
            return ErrorCode.NONE
        Deferred.fromCoroutine(outcome(committed)).addCallback(self._stored, shard, transaction)
        return None

    def _stored(self, error: ErrorCode, shard: TransactionShard, transaction: Transaction) -> None:
        """Tell a machine the result of a store.

        A record that is written and not committed in time may be committed later: a machine that took it back
        would differ from what the next coordinator reads. So the partition is loaded again, with it.
        """
        if shard.dropped:
            return
        if error == ErrorCode.COORDINATOR_NOT_AVAILABLE:
            self._log.warn(
                "the state of transactional id {id} is late on in-sync replicas: {partition} is loaded again",
                id=quoted(transaction.transactional_id),
                partition=shard.partition.topic_partition,
            )
            self.runtime.reload(shard.partition)
        else:
            self.perform(shard, transaction, transaction.stored(error, self.now_ms()))

    def markers_written(self, shard: TransactionShard, transaction: Transaction) -> None:
        """Continue after all markers of a transaction are written; called by the sender of markers."""
        if not shard.dropped:
            self.perform(shard, transaction, transaction.markers_written(self.now_ms()))

    def _complete_again(self, shard: TransactionShard, transaction: Transaction) -> None:
        del self._later[transaction]
        self.markers_written(shard, transaction)

    def _write_log(self, transaction: Transaction, line: LogLine) -> None:
        write = self._log.warn if line.warn else self._log.info
        write(line.text, id=quoted(transaction.transactional_id), **line.values)

    # --- partitions

    def replay(self, partition: Partition) -> Replay:
        """Return what takes the records of a partition that is being loaded."""
        from kafkatx.broker.coordinator.transactions.replay import TransactionReplayer

        return TransactionReplayer(self, TransactionShard(partition))

    def serve(self, shard: TransactionShard) -> None:
        """Serve the transactional ids of a partition from now on; markers of ended transactions are sent."""
        self.shards[shard.number] = shard
        self._count(shard, sum(one.held_bytes for one in shard.transactions.values()))
        if shard.transactions:
            self._log.info(
                "this broker coordinates {partition} now, with {count} transactional ids",
                count=len(shard.transactions),
                partition=shard.partition.topic_partition,
            )
        for transaction in list(shard.transactions.values()):
            self.perform(shard, transaction, transaction.loaded())
        raising = Deferred.fromCoroutine(self.raise_producer_ids(_highest_producer_id(shard)))
        raising.addErrback(
            lambda failure: self._log.warn(
                "the producer ids could not be raised: {error}", error=failure.value
            )
        )

    def highest_producer_id(self) -> int:
        """Return the highest producer id of all transactional ids; -1 if there is none."""
        return max(map(_highest_producer_id, self.shards.values()), default=-1)

    def unload(self, number: int) -> None:
        """Forget the transactional ids of a partition; waiting requests get NOT_COORDINATOR."""
        shard = self.shards.pop(number, None)
        if shard is None:
            return
        self.used_bytes -= shard.used_bytes
        for transaction in shard.transactions.values():
            self._cancel(transaction)
        shard.drop()
        if self._markers is not None:
            self._markers.drop(shard)

    def _cancel(self, transaction: Transaction) -> None:
        later = self._later.pop(transaction, None)
        if later is not None:
            later.cancel()

    # --- start and stop

    def open(self) -> None:
        """Begin to load the partitions that this broker leads, in the background."""
        self.runtime.open()

    def stop(self) -> Deferred[None]:
        """Stop the timers, the loading and the sending; fires when nothing is under way.

        Open transactions stay open: their producers go on after a restart.
        """
        self.runtime.stop()
        for transaction in list(self._later):
            self._cancel(transaction)
        return succeed(None) if self._markers is None else self._markers.stop()


def _known(shard: TransactionShard, transactional_id: str) -> Transaction:
    transaction = shard.transactions.get(transactional_id)
    if transaction is None or transaction.metadata.producer_epoch < 0:
        raise RequestError(
            ErrorCode.INVALID_PRODUCER_ID_MAPPING, "the transactional id has no producer id, or has expired"
        )
    return transaction


async def _leave(producer_id: int) -> None:
    """Leave the ids that the cluster hands out as they are."""


def _highest_producer_id(shard: TransactionShard) -> int:
    """Return the highest producer id of a partition's transactional ids; -1 if there is none."""
    return max((one.metadata.producer_id for one in shard.transactions.values()), default=-1)
