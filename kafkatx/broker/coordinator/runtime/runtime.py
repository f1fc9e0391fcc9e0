"""The runtime of a coordinator: it follows the partitions of an internal topic that this broker leads.

It knows nothing of what the records mean. When this broker begins to lead a partition, the runtime reads it
and hands its records to the coordinator, which then serves the partition's keys; when another broker leads
it, or none, the coordinator forgets all that belongs to it, at once. It touches logs, workers and the clock.

==========  ===============================================  ================================
state       when                                             a request for a key is told
==========  ===============================================  ================================
(none)      another broker leads the partition, or none      NOT_COORDINATOR
LOADING     this broker leads it, and reads it               COORDINATOR_LOAD_IN_PROGRESS
ACTIVE      all of it is replayed, and is committed          (it is served)
FAILED      it cannot be read                                COORDINATOR_NOT_AVAILABLE
==========  ===============================================  ================================

The leader epoch is the generation of what is known: a partition that this broker leads in another epoch is
unloaded and loaded again. So a load of an older epoch never ends after one of a newer epoch has begun.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Protocol

from twisted.internet.defer import CancelledError, Deferred, DeferredLock
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.coordinator.runtime.high_watermark import high_watermark_at
from kafkatx.broker.coordinator.runtime.internal_topic import InternalTopic
from kafkatx.broker.coordinator.runtime.loader import ReplayRecords, load_partition
from kafkatx.broker.coordinator.runtime.partition_hash import partition_for
from kafkatx.broker.coordinator.runtime.record_writer import RecordWriter
from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import Worker


class Replay(ReplayRecords, Protocol):
    """Takes the records of a partition that is being loaded; none is served before :meth:`loaded`."""

    def loaded(self) -> None:
        """Serve the partition: all of its records were replayed."""


class Coordinator(Protocol):
    """Serves the partitions of an internal topic: what the runtime is for."""

    def replay(self, partition: Partition) -> Replay:
        """Return what takes the records of a partition that is about to be replayed."""

    def unload(self, number: int) -> None:
        """Forget all of a served partition, and answer those who wait with NOT_COORDINATOR."""


class State(Enum):
    """The state of a partition that this broker leads; the value is the error that clients are told."""

    LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    ACTIVE = ErrorCode.NONE
    FAILED = ErrorCode.COORDINATOR_NOT_AVAILABLE


class _Led:
    """A partition that this broker leads.

    :ivar epoch: the leader epoch in which it is loaded.
    :ivar error: what clients are told: the value of its state, which each request looks up.
    :ivar load: the load that is under way.
    """

    __slots__ = ("epoch", "error", "load", "partition")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.epoch = partition.leader_epoch
        self.error: ErrorCode = State.LOADING.value
        self.load: Deferred[None] | None = None


class CoordinatorRuntime:
    """The partitions of one internal topic that this broker leads.

    :ivar topic: the internal topic.
    :ivar writer: writes the coordinator's records.
    """

    _log = Logger()

    def __init__(
        self,
        topic: InternalTopic,
        writer: RecordWriter,
        coordinator: Coordinator,
        clock: IReactorTime,
        worker: Callable[[], Worker],
    ) -> None:
        self.topic = topic
        self.writer = writer
        self._coordinator = coordinator
        self._clock = clock
        self._worker = worker
        self._led: dict[int, _Led] = {}
        self._reading = DeferredLock()  # one partition at a time: each takes memory until it is replayed
        self._opened = False

    # --- look-ups

    def check(self, key: str) -> ErrorCode:
        """Return NONE if this broker serves a key now, else the error for its client.

        Before the topic is created there is nothing to know: a broker that is alone serves every key then,
        one of several none, because another may have created the topic.
        """
        topic = self.topic.state
        if topic is None:
            return ErrorCode.NONE if self.topic.is_alone else ErrorCode.NOT_COORDINATOR
        number = partition_for(key, len(topic.partitions))
        led = self._led.get(number)
        if led is not None:
            return led.error
        about_to_load = self.topic.leads(number)
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if about_to_load else ErrorCode.NOT_COORDINATOR

    def states(self) -> dict[int, State]:
        """Return the states of the partitions that this broker leads."""
        return {number: State(led.error) for number, led in self._led.items()}

    @property
    def loading(self) -> bool:
        """True if a partition is being loaded."""
        return any(led.error is State.LOADING.value for led in self._led.values())

    # --- roles

    def open(self) -> None:
        """Begin to load all partitions that this broker leads, in the background, and to follow the roles."""
        self._opened = True
        for partition in self.topic.led():
            self.load(partition)

    def role_changed(self, partition: Partition, leading: bool) -> None:
        """Follow a change of the role of a partition of any topic; see ``Topics.role_listeners``."""
        name, number = partition.topic_partition
        if not self._opened or name != self.topic.name:
            return
        if leading:
            self.load(partition)
        else:
            self.unload(number)

    def load(self, partition: Partition) -> None:
        """Load a partition that this broker leads, unless that has begun in this epoch or a later one."""
        number, epoch = partition.topic_partition.partition, partition.leader_epoch
        known = self._led.get(number)
        if known is not None and known.partition is partition and epoch <= known.epoch:
            return
        self.unload(number)
        led = self._led[number] = _Led(partition)
        load = Deferred.fromCoroutine(self._load(led)).addErrback(self._load_failed, led)
        if not load.called:
            led.load = load

    def reload(self, partition: Partition) -> None:
        """Forget a partition that this broker leads, and load it again when all of it is committed."""
        self.unload(partition.topic_partition.partition)
        self.load(partition)

    async def _load(self, led: _Led) -> None:
        partition = led.partition
        end = partition.log.log_end_offset  # no other broker writes to it, and this one not yet
        try:
            await high_watermark_at(partition, end)
        except RequestError as error:
            self._log.error(
                "{partition} cannot be loaded: {error}", partition=partition.topic_partition, error=error
            )
            led.error = State.FAILED.value
            return
        await self._reading.acquire()
        try:
            replay = self._coordinator.replay(partition)
            readable = await load_partition(partition, end, self._worker(), self._clock, replay)
        finally:
            self._reading.release()
        if self._led.get(partition.topic_partition.partition) is led:  # it was not lost by its own read
            led.load = None
            led.error = (State.ACTIVE if readable else State.FAILED).value
            if readable:
                replay.loaded()

    def _load_failed(self, failure: Failure, led: _Led) -> None:
        led.load = None
        if not failure.check(CancelledError):
            led.error = State.FAILED.value
            name = led.partition.topic_partition
            self._log.failure("loading {partition} failed", failure, partition=name)

    def unload(self, number: int) -> None:
        """Forget a partition that this broker leads no more, if it is known."""
        led = self._led.pop(number, None)
        if led is None:
            return
        if led.load is not None:
            led.load.cancel()
        elif led.error is State.ACTIVE.value:
            self._coordinator.unload(number)
            self.writer.drop(led.partition)

    def stop(self) -> None:
        """End the loads. Nothing is forgotten, and no waiting request is answered."""
        self._opened = False
        for led in self._led.values():
            if led.load is not None:
                led.load.cancel()
        self.topic.stop()
