"""Produced records that must be looked into before they are staged: in a worker, in turn, within a budget.

The request waits, and its connection with it (:attr:`kafkatx.net.requests.Staged.alone`), so that what a
client sends keeps its order; clients of other connections go on. When the worker is done, the records are
appended and written as if they had just come.

The batches that wait hold memory: no more of them than ``queued.max.request.bytes`` at once. What comes
beyond that is refused with an error that producers try again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import IAppended
from kafkatx.interfaces.storage import NEEDS_VALIDATION
from kafkatx.types import Records

if TYPE_CHECKING:
    from kafkatx.broker.replica.partition import Partition
    from kafkatx.broker.state import Broker

WORKER = "record-validation"

ROUNDS = 10
"""How often an append is judged anew because its log grew or was configured meanwhile."""

UNLIMITED = -1


class Judging:
    """Looks into records for those who produce.

    :ivar waiting_bytes: the size of the batches that wait for the worker, or are in it.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.waiting_bytes = 0

    def admit(self, size: int) -> bool:
        """Take in a request with *size* bytes of records to judge; False if too much waits already."""
        most: int = self._broker.config.get("queued.max.request.bytes")
        if most != UNLIMITED and self.waiting_bytes and self.waiting_bytes + size > most:
            return False
        self.waiting_bytes += size
        return True

    def release(self, size: int) -> None:
        """End what :meth:`admit` began."""
        self.waiting_bytes -= size

    @property
    def why_not(self) -> str:
        """What a producer that was not admitted is told."""
        most = self._broker.config.get("queued.max.request.bytes")
        return f"{self.waiting_bytes} bytes of records wait to be checked, queued.max.request.bytes is {most}"

    def judge(self, look: Callable[[], Any]) -> Deferred[Any]:
        """Call *look* in the worker.

        :return: fires with its result. Cancelling it drops a look that has not begun, and what it holds.
        """
        wanted: list[Callable[[], Any]] = [look]

        def run() -> Any:
            return wanted[0]() if wanted else None

        def done(result: Any) -> None:
            if wanted:
                asked.callback(result)

        asked: Deferred[Any] = Deferred(lambda _: wanted.clear())
        self._broker.workers(WORKER)(run).addBoth(done)
        return asked

    async def append(self, partition: Partition, records: Records, one_batch: bool, done: Any) -> IAppended:
        """Judge and append records, and write them.

        :param done: what the first append has given.
        :raises RequestError: the log has changed too often, has gone, or cannot be written to.
        :raises OSError: it could not be brought to the disk.
        """
        broker = self._broker
        for _ in range(ROUNDS):
            judged = await self.judge(done.validate)
            name = partition.topic_partition
            if broker.topics.find(name.topic, name.partition) is not partition:
                raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the topic was deleted")
            if not partition.writable:
                raise RequestError(ErrorCode.KAFKA_STORAGE_ERROR, "the log dir of the partition is offline")
            now_ms = broker.now_ms()
            done = partition.log.append(records, partition.leader_epoch, now_ms, one_batch, judged)
            if done.error != NEEDS_VALIDATION:
                break
        else:
            raise RequestError(ErrorCode.REQUEST_TIMED_OUT, "the log grew while its records were checked")
        if not done.error:
            failed = broker.write_own(partition)
            if partition in failed:
                raise RequestError(ErrorCode.KAFKA_STORAGE_ERROR, failed[partition].strerror or "")
            if partition.must_flush:
                await partition.log.flush()
        appended: IAppended = done
        return appended
