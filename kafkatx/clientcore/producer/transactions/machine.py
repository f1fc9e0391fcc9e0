"""One producer's transactions: its state, and what the coordinator knows of the open one. Pure.

Two protocols (KIP-890)::

    1   each partition is added by AddPartitionsToTxn before its first batch, each group by AddOffsetsToTxn;
        all transactions have one epoch, but for one after an abort that left gaps in the sequence numbers
    2   Produce and TxnOffsetCommit add by themselves; EndTxn gives the next transaction another epoch, so
        that no delayed request can end up in it
"""

from __future__ import annotations

from collections.abc import Iterable

from kafkatx.clientcore.producer.batch import NOT_IDEMPOTENT, ProducerIdAndEpoch
from kafkatx.clientcore.producer.transactions.errors import AbortRequired, TransactionMisuse, fatal_error
from kafkatx.clientcore.producer.transactions.states import TRANSITIONS, Event, State, after
from kafkatx.types import TopicPartition

FEATURE = "transaction.version"
IMPLICIT_VERSION = 2
"""The level of that feature from which requests add partitions by themselves."""


class TransactionMachine:
    """The state of one transactional producer.

    :ivar identity: the producer id and epoch of the open transaction, or of the next one.
    :ivar implicit: True in protocol 2.
    :ivar accepts: True if records may be sent.
    :ivar partitions: the partitions that the coordinator knows to be in the transaction.
    :ivar wanted: the partitions that are to be added next, in protocol 1.
    :ivar groups: the groups whose offsets the coordinator knows to be in the transaction.
    :ivar begun: True if the coordinator may know of the open transaction: then it has to be ended there.
    :ivar needs_epoch: True if sequence numbers have gaps, so that the next transaction needs another epoch.
    :ivar error: why nothing can be committed any more; None in a healthy state.
    """

    def __init__(self, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        self.identity: ProducerIdAndEpoch = NOT_IDEMPOTENT
        self.implicit = False
        self.state = State.UNINITIALIZED
        self.accepts = False
        self.partitions: set[TopicPartition] = set()
        self.wanted: dict[TopicPartition, None] = {}
        self.groups: set[str] = set()
        self.begun = self.needs_epoch = False
        self.error: Exception | None = None

    @property
    def sends(self) -> bool:
        """True if batches may be sent: before the end of the transaction is asked for."""
        return self.state is State.IN_TRANSACTION

    @property
    def open(self) -> bool:
        """True from :meth:`begin` to the end of the transaction, unless the producer has failed for good."""
        return self.state not in (State.UNINITIALIZED, State.READY, State.FATAL_ERROR)

    @property
    def may_abort(self) -> bool:
        """True if :meth:`abort` is possible."""
        return (self.state, Event.ABORT) in TRANSITIONS

    def initialized(self, identity: ProducerIdAndEpoch, implicit: bool) -> None:
        """Take the identity that the coordinator gave at the start."""
        self._move(Event.INITIALIZED)
        self.identity, self.implicit = identity, implicit

    def begin(self) -> None:
        """Open a transaction.

        :raises TransactionMisuse: one is open already, or the producer is not started.
        :raises TransactionsEnded: the producer has failed.
        """
        self._check_fatal()
        self._move(Event.BEGIN)
        self.accepts = True

    def check_open(self) -> None:
        """Raise the error of a record or of offsets that cannot be a part of the transaction.

        :raises TransactionMisuse: no transaction is open, or it is being ended.
        :raises AbortRequired: it has failed.
        :raises TransactionsEnded: the producer has failed.
        """
        if self.accepts:
            return
        self.check()
        raise TransactionMisuse(f"nothing was sent: {self._words()}")

    def check(self) -> None:
        """Raise the error that the transaction or the producer has failed with, if any."""
        if self.error is not None:
            raise self.error

    def commit(self) -> None:
        """Begin to commit, or continue after a commit whose outcome is not known.

        :raises TransactionMisuse: there is nothing to commit.
        """
        self.check()
        self._move(Event.COMMIT)
        self.accepts = False

    def abort(self) -> None:
        """Begin to abort, or continue.

        :raises TransactionMisuse: there is nothing to abort.
        """
        self._check_fatal()
        self._move(Event.ABORT)
        self.accepts = False
        self.wanted.clear()

    def ended(self, identity: ProducerIdAndEpoch | None) -> None:
        """Take the end of the transaction.

        :param identity: that of the next transaction; None: as before.
        """
        self._move(Event.ENDED)
        if identity is not None:
            self.identity = identity
        self.partitions.clear()
        self.wanted.clear()
        self.groups.clear()
        self.begun = self.needs_epoch = False
        self.error = None

    def fail(self, error: BaseException) -> None:
        """Take an error of a batch, of offsets or of the coordinator."""
        fatal = fatal_error(self.transactional_id, error)
        if fatal is not None:
            self._move(Event.FATAL)
            self.error = fatal
        elif (self.state, Event.FAILED) in TRANSITIONS:  # elsewhere there is no transaction that could fail
            self._move(Event.FAILED)
            self.needs_epoch = True
            if self.error is None and self.state is State.ABORTABLE_ERROR:
                self.error = AbortRequired(self.transactional_id, error)
        if self.error is not None:
            self.accepts = False

    # -- what is in the transaction

    def admit(self, places: Iterable[TopicPartition]) -> set[TopicPartition]:
        """Return the partitions among *places* that may be sent to; the others are ``wanted`` from now on."""
        asked = set(places)
        if not self.sends:
            return set()
        if self.implicit:
            self.begun = True
            self.partitions |= asked
            return asked
        for place in asked - self.partitions:
            self.wanted[place] = None
        return asked & self.partitions

    def added(self, places: Iterable[TopicPartition]) -> None:
        """Take the coordinator's word that partitions are in the transaction."""
        for place in places:
            self.wanted.pop(place, None)
            self.partitions.add(place)

    # -- helpers

    def _check_fatal(self) -> None:
        if self.state is State.FATAL_ERROR:
            self.check()

    def _words(self) -> str:
        return (
            self.state.value if self.state is not State.IN_TRANSACTION else "the transaction is being ended"
        )

    def _move(self, event: Event) -> None:
        self.state = after(self.state, event)
