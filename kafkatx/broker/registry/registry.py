"""The registry of this broker, where it leads ``_schemas-0``: reads, and changes one after the other.

A read sees everything that was committed when it began. A change waits for its turn, sees all of the log, and
is answered when its records are committed and read back. If this broker ceases to lead meanwhile, nothing is
answered as written.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import TypeVar

from twisted.internet.defer import DeferredLock
from twisted.internet.defer import TimeoutError as DeferredTimeout
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from kafkatx.broker.changes import Changes
from kafkatx.broker.coordinator.runtime.high_watermark import high_watermark_at
from kafkatx.broker.coordinator.runtime.record_writer import RecordWriter
from kafkatx.broker.registry.inspector import Inspector
from kafkatx.broker.registry.registry_log import RegistryLog
from kafkatx.broker.registry.schemas_topic import SchemasTopic
from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import Worker
from kafkatx.registry.errors import RegistryError, store_error, timed_out, too_large, unknown_leader
from kafkatx.registry.inspection import Inspected, Inspection
from kafkatx.registry.registration import Change
from kafkatx.registry.state import RegistryState

T = TypeVar("T")

Steps = Generator[Inspection, Inspected, T]
"""A command or a question that asks for inspections: see :mod:`kafkatx.registry.registration`."""

AGAIN_S = 0.1
"""Seconds after which a change looks again if enough replicas are in sync."""

MOST_ATTEMPTS = 50
"""Attempts at a change; each begins again because another change was written meanwhile."""


class SchemaRegistry:
    """The registry, as far as this broker leads it.

    :ivar topic: the topic.
    """

    def __init__(
        self,
        topic: SchemasTopic,
        writer: RecordWriter,
        inspector: Inspector,
        worker: Worker,
        clock: IReactorTime,
        timeout_s: float,
    ) -> None:
        self.topic = topic
        self._writer = writer
        self._inspector = inspector
        self._worker = worker
        self._clock = clock
        self._timeout_s = timeout_s
        self._writing = DeferredLock()
        self._changes = Changes()
        self._log: RegistryLog | None = None

    def role_changed(self, partition: Partition, leading: bool) -> None:
        """Forget the state when the role changes; see ``Topics.role_listeners``."""
        if partition.topic_partition.topic == self.topic.name:
            self._log = None
            self._writer.drop(partition)

    # --- reads

    async def state(self) -> RegistryState | None:
        """Return the state with everything that is committed; None if this broker does not lead the topic.

        It is empty before the topic is created.

        :raises RegistryError: the topic cannot be used or read.
        """
        log = self._log
        if log is None or not log.current or not self.topic.has_lease():
            if not self.topic.exists:
                return RegistryState()
            log = await self._current_log()
        return None if log is None else log.state

    async def _current_log(self) -> RegistryLog | None:
        partition = self.topic.led()
        if partition is None:
            return None
        log = self._log
        if log is None or log.partition is not partition or not log.leads:
            log = self._log = RegistryLog(partition, self._worker, self._clock)
        await log.catch_up()
        return log if log.leads and log is self._log else None

    async def find(self, share: str, steps: Callable[[RegistryState], Steps[T]]) -> T:
        """Answer a question that needs inspections; it changes nothing.

        :param share: whose turns of the inspector it takes: a principal, or an address.
        :raises RegistryError: as the steps, or this broker leads no more.
        """
        state = await self.state()
        if state is None:
            raise unknown_leader()
        return await self._run(share, steps(state), {})

    async def _run(self, share: str, steps: Steps[T], inspected: dict[Inspection, Inspected]) -> T:
        """Run steps; note their inspections, and make none again that was noted."""
        try:
            job = next(steps)
            while True:
                if job not in inspected:
                    inspected[job] = await self._inspector.inspect(share, job)
                job = steps.send(inspected[job])
        except StopIteration as done:
            result: T = done.value
            return result

    # --- changes

    async def change(self, share: str, command: Callable[[RegistryState], Change | Steps[Change]]) -> object:
        """Make a change; return the answer when it is committed.

        Schemas are inspected before the change has its turn to write, so that a slow one delays no
        other change, and dropped if the client disconnects meanwhile. What is written then is carried
        through.

        :param share: whose turns of the inspector it takes: a principal, or an address.
        :raises RegistryError: it is refused, or cannot be written.
        """
        in_sync_until_s = self._clock.seconds() + self._timeout_s / 2  # a forwarder waits for all of it
        inspected: dict[Inspection, Inspected] = {}
        for _ in range(MOST_ATTEMPTS):
            result = command((await self._settled_log()).state)
            change = result if isinstance(result, Change) else await self._run(share, result, inspected)
            if not change.records:
                return change.answer
            written = await self._changes.carry_through(
                self._write_inspected(command, inspected, in_sync_until_s)
            )
            if written is not None:
                return written.answer
        raise timed_out("another program writes to the topic all the time")

    async def _write_inspected(
        self,
        command: Callable[[RegistryState], Change | Steps[Change]],
        inspected: Mapping[Inspection, Inspected],
        in_sync_until_s: float,
    ) -> Change | None:
        """Write a change whose schemas are inspected; return None if others are to be inspected by now."""
        await self._writing.acquire()
        try:
            log = await self._settled_log()
            changes, result = log.state.changes, command(log.state)
            change = result if isinstance(result, Change) else _finished(result, inspected)
            if change is None or not change.records:
                return change
            await self._until_in_sync(log.partition, in_sync_until_s)
            if not await self._is_settled(log) or log.state.changes != changes:
                return None
            await self._write(log, change)
            return change
        finally:
            self._writing.release()

    async def _settled_log(self) -> RegistryLog:
        """Return the log when all that is written to it is committed and applied."""
        for _ in range(MOST_ATTEMPTS):
            log = await self._current_log()
            if log is None:
                raise unknown_leader()
            if await self._is_settled(log):
                return log
        raise timed_out("another program writes to the topic all the time")

    async def _until_in_sync(self, partition: Partition, until_s: float) -> None:
        """Wait until a change can be written: followers that have just started need a moment.

        :raises RegistryError: too few replicas are in sync at that time; nothing was written.
        """
        while partition.replicated and partition.leads and len(partition.isr) < partition.min_insync:
            if self._clock.seconds() >= until_s:
                raise timed_out(
                    f"nothing was changed: {partition.topic_partition} has {len(partition.isr)} in-sync"
                    f" replicas, and min.insync.replicas={partition.min_insync}"
                )
            await deferLater(self._clock, AGAIN_S)

    async def _is_settled(self, log: RegistryLog) -> bool:
        """Wait until all that is written is committed; return True if it is applied, too."""
        if not log.leads:
            raise unknown_leader()
        end = log.partition.log.log_end_offset
        if log.partition.high_watermark < end:
            waiting = high_watermark_at(log.partition, end).addTimeout(self._timeout_s, self._clock)
            try:
                await waiting
            except DeferredTimeout:
                raise timed_out("earlier changes are not on all in-sync replicas in time") from None
            except RequestError as error:
                raise store_error(str(error)) from None
        await log.catch_up()
        return log.applied >= log.partition.log.log_end_offset

    async def _write(self, log: RegistryLog, change: Change) -> None:
        """Append the records of a change; return when they are committed and read back.

        :raises RegistryError: they are not committed, or not yet.
        """
        try:
            committed = self._writer.append(log.partition, change.records)
            end = log.partition.log.log_end_offset
            if committed is not None:
                await committed
        except RequestError as error:
            raise _as_registry_error(error) from None
        await log.catch_up()
        if not log.leads or log.applied < end:
            raise store_error(
                "the leader of the topic has changed: look if the change was made, and repeat it"
            )

    def stop(self) -> None:
        """End the inspections."""
        self._inspector.stop()


def _finished(steps: Steps[T], inspected: Mapping[Inspection, Inspected]) -> T | None:
    """Return the result of steps; None if they need an inspection that was not made."""
    try:
        job = next(steps)
        while job in inspected:
            job = steps.send(inspected[job])
    except StopIteration as done:
        result: T = done.value
        return result
    return None


def _as_registry_error(error: RequestError) -> RegistryError:
    if error.code == ErrorCode.COORDINATOR_NOT_AVAILABLE:
        return timed_out("the change is not on all in-sync replicas in time; it may be made later")
    if error.code == ErrorCode.UNKNOWN_SERVER_ERROR:
        return too_large("the record of the schema is larger than max.message.bytes of the topic")
    return store_error(f"the change could not be written: {error}")
