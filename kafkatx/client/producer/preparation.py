"""The line of records that cannot be encoded yet, because their encoder has to ask a server first."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as TimedOut
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from kafkatx.client.plugins import coder
from kafkatx.client.producer.buffer_pool import OnEnqueued
from kafkatx.client.producer.receipts import AnyReceipt, LostRecords, cancelled, reject_records
from kafkatx.clientcore.errors import BufferExhausted, RequestTimedOut
from kafkatx.errors import KafkaTXError, NotPrepared
from kafkatx.interfaces import IHeaderEncoder, IPreparing
from kafkatx.networkclient.waiters import Waiters

MOST_WAITING = 10_000
"""Limit of records that wait; their size is not known before they are encoded."""


@attrs.frozen
class RecordEncoder:
    """The methods of an encoder of keys or of values.

    :ivar encode: None: they are bytes already.
    :ivar prepare: ``IPreparing.prepare``; None: it needs no preparation.
    :ivar encode_record: ``IHeaderEncoder.encode_record``; None: it adds no headers.
    """

    encode: Callable[[str, Any], Any] | None = None
    prepare: Callable[[str, Any], Any] | None = None
    encode_record: Callable[[str, Any], Any] | None = None

    @classmethod
    def of(cls, part: Any) -> RecordEncoder:
        """Return the methods of an ``IEncoder``, or of a function of the object alone; None: bytes."""
        return cls(
            coder(part, "encode"),
            part.prepare if IPreparing.providedBy(part) else None,
            part.encode_record if IHeaderEncoder.providedBy(part) else None,
        )


class _Call(NamedTuple):
    """A call of the application that waits."""

    deadline_s: float
    topic: str
    key: object
    values: Sequence[object]
    enqueue: Callable[..., bool]
    arguments: tuple[object, ...]
    receipt: AnyReceipt
    on_enqueued: OnEnqueued | None


class PreparationLine:
    """Calls in their order. The first one is prepared and enqueued, then the next.

    :ivar waiting: true if a call waits: later ones have to line up, too.
    :ivar needed: false if no encoder needs preparation.
    """

    _log = Logger()

    def __init__(
        self,
        reactor: IReactorTime,
        key_encoder: RecordEncoder,
        value_encoder: RecordEncoder,
        lost_records: LostRecords,
        block_s: float,
    ) -> None:
        """Make an empty line.

        :param block_s: seconds for which a call may wait.
        """
        self.waiting = False
        self.needed = key_encoder.prepare is not None or value_encoder.prepare is not None
        self._reactor = reactor
        self._prepare_key = key_encoder.prepare
        self._prepare_value = value_encoder.prepare
        self._lost_records = lost_records
        self._block_s = block_s
        self._calls: deque[_Call] = deque()
        self._records = 0
        self._asked: Deferred[Any] | None = None
        self._rejected_with: KafkaTXError | None = None
        self._empty: Waiters[None] = Waiters()

    def add(
        self,
        topic: str,
        key: object,
        values: Sequence[object],
        enqueue: Callable[..., bool],
        arguments: tuple[object, ...],
        receipt: AnyReceipt,
        on_enqueued: OnEnqueued | None,
    ) -> None:
        """Add a call; *enqueue* is called with *arguments* when it is its turn.

        :raises BufferExhausted: too many records wait. KafkaTXError: the error of :meth:`reject_new`.
        """
        if self._rejected_with is not None:
            raise self._rejected_with
        if self._records and self._records + len(values) > MOST_WAITING:
            raise BufferExhausted(f"{self._records} records wait for their schema: send more slowly at first")
        deadline_s = self._reactor.seconds() + self._block_s
        self._records += len(values)
        self._calls.append(_Call(deadline_s, topic, key, values, enqueue, arguments, receipt, on_enqueued))
        if not self.waiting:
            self.waiting = True
            self._go_on()

    def _go_on(self) -> None:
        """Enqueue calls until one has to wait again."""
        while self._calls:
            call = self._calls[0]
            if cancelled(call.receipt):
                self._done(call, None)
                continue
            try:
                asked = self._prepare(call)
            except Exception as error:
                self._done(call, error)
                continue
            if asked is not None:
                self._wait(call, asked)
                return
            self._enqueue(call)
        self.waiting = False
        self._empty.fire(None)

    def _prepare(self, call: _Call) -> Deferred[Any] | None:
        if self._prepare_value is not None:
            for value in call.values:
                asked: Deferred[Any] | None = self._prepare_value(call.topic, value)
                if asked is not None:
                    return asked
        if self._prepare_key is not None and call.key is not None:
            key: Deferred[Any] | None = self._prepare_key(call.topic, call.key)
            return key
        return None

    def _wait(self, call: _Call, asked: Deferred[Any]) -> None:
        self._asked = asked
        asked.addTimeout(max(0.0, call.deadline_s - self._reactor.seconds()), self._reactor)

        def failed(failure: Any) -> None:
            error = failure.value
            if isinstance(error, TimedOut):
                error = RequestTimedOut(
                    f"the schema of a record of {call.topic} is not known after {self._block_s:g} s"
                    " (max.block.ms)"
                )
            if self._calls and self._calls[0] is call:
                self._done(call, error)

        def ended(_: object) -> None:
            self._asked = None
            self._go_on()

        asked.addErrback(failed).addCallback(ended)
        asked.addErrback(
            lambda failure: self._log.failure("records that waited could not be enqueued", failure)
        )

    def _enqueue(self, call: _Call) -> None:
        try:
            enqueued = call.enqueue(*call.arguments)
        except NotPrepared as error:
            self._done(call, KafkaTXError(f"the encoder did not prepare itself: {error}"))
        except Exception as error:
            self._done(call, error)
        else:
            self._take(call)
            if enqueued and call.on_enqueued is not None:
                call.on_enqueued(True)

    def _done(self, call: _Call, error: Exception | None) -> None:
        """Take a call out of the line that is not enqueued."""
        self._take(call)
        if error is not None:
            reject_records(call.receipt, error, self._lost_records)
        if call.on_enqueued is not None:
            call.on_enqueued(False)

    def _take(self, call: _Call) -> None:
        self._calls.popleft()
        self._records -= len(call.values)

    # -- flush and close

    async def wait_until_empty(self) -> None:
        """Wait until no call waits any more."""
        if self.waiting:
            await self._empty.wait()

    def reject_new(self, error: KafkaTXError | None) -> None:
        """Reject new calls, or with None accept them again; those in the line may still be enqueued."""
        self._rejected_with = error

    def close(self, error: KafkaTXError) -> None:
        """Fail all calls that wait, and reject new ones."""
        self._rejected_with = error
        self.fail_waiting(error)

    def fail_waiting(self, error: KafkaTXError) -> None:
        """Fail all calls that wait; later ones may wait."""
        while self._calls:
            self._done(self._calls[0], error)
        if self._asked is not None:
            self._asked.cancel()
