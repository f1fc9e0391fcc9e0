"""Validation of produced records in a worker: one request after the other, and within a memory budget.

A log that would have to inflate records or walk through them returns ``NEEDS_VALIDATION`` from an append.
Such a request waits, and its connection with it (:attr:`kafkatx.net.requests.Staged.alone`), so that a
client's records keep their order; other connections go on. When the worker is done, the records are appended
and written as if they had just come.

The waiting batches hold memory: at most ``queued.max.request.bytes`` of them at once. Requests beyond that
are refused with an error that producers retry. It touches logs and the workers that it is handed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

import attrs
from twisted.internet.defer import Deferred, fail
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkatx.broker.produce.verdicts import Verdict
from kafkatx.broker.replica.manager import ReplicaManager
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.roles import LeaseEnded, refusal_code
from kafkatx.broker.replica.topics import Topics
from kafkatx.config import BrokerConfig
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import IAppended, Workers
from kafkatx.interfaces.storage import NEEDS_VALIDATION

T = TypeVar("T")

WORKER = "record-validation"

MAX_ROUNDS = 10
"""Attempts to validate an append again because its log grew or was configured meanwhile."""

UNLIMITED = -1


class RecordsRefused(RequestError):
    """Records that cannot be stored.

    :ivar record_errors: (index in the batch, message) of those at fault.
    """

    def __init__(self, code: ErrorCode, message: str, record_errors: Sequence[tuple[int, str]]) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors


@implementer(IAppended)
@attrs.frozen
class SchemasUnchecked:
    """The result of an append that has not begun: the ids of schemas must be checked first."""

    error: int = NEEDS_VALIDATION
    message: str | None = None
    base_offset: int = -1
    last_offset: int = -1
    log_append_time_ms: int = -1
    record_errors: Sequence[tuple[int, str]] = ()


SCHEMAS_UNCHECKED = SchemasUnchecked()

CheckSchemas = Callable[[Partition, "memoryview | bytes"], "Deferred[None]"]
"""Checks the ids of schemas in records; fails with RequestError."""


def _no_registry(partition: Partition, records: memoryview | bytes) -> Deferred[None]:
    return fail(RequestError(ErrorCode.INVALID_RECORD, "this broker has no schema registry"))


@runtime_checkable
class Unvalidated(Protocol):
    """The result of an append whose records must be validated first, as ``IAppended`` says."""

    @property
    def validate(self) -> Callable[[], object]:
        """Validates the records; call it in a worker."""


class RecordValidator:
    """Validates records for produce requests.

    :ivar waiting_bytes: the size of the batches that wait for the worker, or are in it.
    :ivar check_schemas: checks the ids of schemas for topics that ask for it.
    """

    def __init__(
        self,
        config: BrokerConfig,
        topics: Topics,
        replicas: ReplicaManager,
        workers: Workers,
        now_ms: Callable[[], int],
    ) -> None:
        self._topics = topics
        self._replicas = replicas
        self._workers = workers
        self._now_ms = now_ms
        self.waiting_bytes = 0
        self.check_schemas: CheckSchemas = _no_registry
        self.use(config)

    def use(self, config: BrokerConfig) -> None:
        """Use other settings from now on."""
        self._max_bytes: int = config.get("queued.max.request.bytes")

    def admit(self, size: int) -> bool:
        """Reserve *size* bytes for a request; return False if too much is waiting already."""
        if (
            self._max_bytes != UNLIMITED
            and self.waiting_bytes
            and self.waiting_bytes + size > self._max_bytes
        ):
            return False
        self.waiting_bytes += size
        return True

    def release(self, size: int) -> None:
        """Give back what :meth:`admit` reserved."""
        self.waiting_bytes -= size

    @property
    def refusal(self) -> str:
        """The message for a producer that was not admitted."""
        return (
            f"{self.waiting_bytes} bytes of records wait to be checked,"
            f" queued.max.request.bytes is {self._max_bytes}"
        )

    def validate(self, check: Callable[[], T]) -> Deferred[T]:
        """Call *check* in the worker.

        :return: fires with its result. Cancelling it drops a check that has not begun, and what it holds.
        """
        wanted: list[Callable[[], T]] = [check]

        def run() -> Any:
            return wanted[0]() if wanted else None

        def finished(result: T | Failure) -> None:
            if wanted:
                validated.callback(result)

        validated: Deferred[T] = Deferred(lambda _: wanted.clear())
        self._workers(WORKER)(run).addBoth(finished)
        return validated

    async def append(
        self,
        partition: Partition,
        records: memoryview | bytes,
        one_batch: bool,
        first: IAppended,
        verdict: Verdict | None = None,
    ) -> tuple[IAppended, int]:
        """Validate, append and write records.

        :param first: the result of the first append, whose error is NEEDS_VALIDATION.
        :param verdict: they may be part of a transaction, as long as it stands.
        :return: the result, and the leader epoch in which the records are written.
        :raises RequestError: the log has changed too often, was deleted, or cannot be written to; the
            verdict does not stand; or the ids of schemas are refused, as :class:`RecordsRefused`.
        """
        appended, leader_epoch, verified = first, partition.leader_epoch, verdict is not None
        if first is SCHEMAS_UNCHECKED:
            await self.check_schemas(partition, records)
            leader_epoch = self._leader_epoch(partition, verdict)
            appended = partition.log.append(records, leader_epoch, self._now_ms(), one_batch, None, verified)
        for _ in range(MAX_ROUNDS):
            if not isinstance(appended, Unvalidated):
                break
            validated = await self.validate(appended.validate)
            leader_epoch = self._leader_epoch(partition, verdict)
            appended = partition.log.append(
                records, leader_epoch, self._now_ms(), one_batch, validated, verified
            )
        if appended.error == NEEDS_VALIDATION:
            raise RequestError(ErrorCode.REQUEST_TIMED_OUT, "the log grew while its records were checked")
        if not appended.error:
            failed = self._replicas.write(partition)
            if partition in failed:
                raise RequestError(refusal_code(failed[partition]), failed[partition].strerror or "")
        elif not self._replicas.has_lease():
            raise RequestError(ErrorCode.NOT_LEADER_OR_FOLLOWER, LeaseEnded().strerror or "")
        return appended, leader_epoch

    def _leader_epoch(self, partition: Partition, verdict: Verdict | None) -> int:
        """Return the leader epoch of a partition that can still be written to.

        :raises RequestError: it was deleted meanwhile, has another leader, or is a mirror; or the verdict
            does not stand.
        """
        name = partition.topic_partition
        if self._topics.find(name.topic, name.partition) is not partition:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the topic was deleted")
        if partition.error:
            raise RequestError(partition.error, "the partition's log dir or leader has changed")
        if partition.is_mirror:
            raise RequestError(ErrorCode.POLICY_VIOLATION, "the topic has become a mirror")
        if verdict is not None:
            verdict.check()
        return partition.leader_epoch
