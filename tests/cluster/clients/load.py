"""The loops of producers, readers and members of groups, for any library. Threads, clocks, files."""

from __future__ import annotations

import random
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from typing import ClassVar, Protocol

from tests.cluster.checker.history import GroupHistory, ProducerHistory, ReaderHistory, value_of

VALUE_BYTES = 80
PAUSE_S = 0.05
RETRY_S = 0.5
STOP_S = 150.0
DELIVERY_MS = 120_000
SURE_DELIVERY_MS = 900_000
"""The delivery time-out of idempotent producers: longer than any fault.

When a message times out, librdkafka begins a new producer epoch for all partitions, and sends batches again
whose outcome it does not know. They may be in the log twice then: idempotence ends with that time-out.
"""
COMMIT_S = 0.5
LIFE_S = (30.0, 120.0)
"""A member of a group leaves it after a time between these two, and another one joins."""

Taken = dict[int, list[tuple[int, bytes | None]]]
"""Records by partition: offset and value."""


class Client:
    """A thread that works until it is stopped.

    :ivar errors: texts of errors that it has met, with their numbers; the library goes on after them.
    :ivar broken: the error that has ended the thread.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.errors: dict[str, int] = {}
        self.broken: BaseException | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end."""
        self._stopping.set()

    def join(self) -> bool:
        """Wait for the thread; return False if it has not ended in time."""
        self._thread.join(STOP_S)
        return not self._thread.is_alive()

    def note(self, error: object) -> None:
        """Count an error."""
        text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"[:150]
        if len(self.errors) < 50 or text in self.errors:
            self.errors[text] = self.errors.get(text, 0) + 1

    def work(self) -> None:
        """Do its work until it is stopped."""
        raise NotImplementedError

    def _run(self) -> None:
        try:
            self.work()
        except BaseException as error:
            self.broken = error
            self.note("".join(traceback.format_exception(error))[-600:])


class Producer(Client):
    """Sends numbered records to all partitions in turn, at a rate.

    :ivar acknowledged: how many were.
    """

    def __init__(self, history: ProducerHistory, name: str, topic: str, partitions: int, rate: float) -> None:
        super().__init__(name)
        self.history, self.topic = history, topic
        self.sent = self.acknowledged = 0
        self._partitions, self._rate = partitions, rate

    def open(self) -> None:
        """Make the library's client."""

    def send(self, number: int, partition: int, value: bytes) -> None:
        """Send a record; note in the history what becomes of it. It may block."""
        raise NotImplementedError

    def finish(self) -> None:
        """Wait until every record has an outcome, and close the client."""

    def work(self) -> None:
        """Send until it is stopped."""
        self.open()
        begun_s = time.monotonic()
        while not self._stopping.is_set():
            # A client that was held up sends no burst afterwards that is larger than a second's records.
            due = int((time.monotonic() - begun_s) * self._rate)
            if due - self.sent > self._rate:
                begun_s += (due - self.sent) / self._rate
            for _ in range(min(max(due - self.sent, 0), int(self._rate) + 1)):
                self._send_next()
            self._stopping.wait(PAUSE_S)
        self.finish()
        self.history.close()

    def _send_next(self) -> None:
        number = self.sent
        self.sent += 1
        partition = number % self._partitions
        self.history.sent(number, partition)
        self.send(number, partition, value_of(self.name, number, VALUE_BYTES))

    def delivered(self, number: int, partition: int, offset: int) -> None:
        """Note an acknowledgement."""
        self.history.acknowledged(number, partition, offset)
        self.acknowledged += 1


class Consumer(Protocol):
    """A library's consumer as the loops here use it."""

    def poll(self) -> Taken:
        """Return the next records, after at most half a second.

        :raises Exception: an error of the library, which may go on.
        """

    def close(self) -> None:
        """Close it; leave the group."""


class GroupConsumer(Consumer, Protocol):
    """A library's member of a group."""

    def commit(self, offsets: dict[int, int]) -> None:
        """Commit, and wait for the answer.

        :raises Exception: it is not known to be committed.
        """

    def committed(self, partitions: Iterable[int]) -> dict[int, int]:
        """Return committed offsets as the coordinator has them; -1 for none.

        :raises Exception: there was no answer.
        """


class Reader(Client):
    """Reads all partitions of a topic from the beginning, without a group.

    :param make: makes the library's consumer.
    :ivar positions: for each partition the offset after the last record.
    """

    def __init__(self, history: ReaderHistory, name: str, make: Callable[[], Consumer]) -> None:
        super().__init__(name)
        self.history = history
        self.positions: dict[int, int] = {}
        self._make = make

    def work(self) -> None:
        """Read until it is stopped."""
        consumer = self._make()
        try:
            while not self._stopping.is_set():
                try:
                    taken = consumer.poll()
                except Exception as error:
                    self.note(error)
                    self._stopping.wait(RETRY_S)
                    continue
                for partition, records in taken.items():
                    self.history.read(partition, records)
                    self.positions[partition] = records[-1][0] + 1
        finally:
            consumer.close()
            self.history.close()


class Member(Client):
    """A place in a group, whose members come and go: reads, and commits what it has read.

    :param make: makes the library's consumer, given a function to call at each change of the assignment.
    :ivar positions: for each partition the offset after the last record.
    """

    life_s: ClassVar[tuple[float, float]] = LIFE_S

    def __init__(
        self,
        reads: ReaderHistory,
        commits: GroupHistory,
        name: str,
        make: Callable[[Callable[[], None]], GroupConsumer],
        seed: int,
    ) -> None:
        super().__init__(name)
        self.positions: dict[int, int] = {}
        self.reads, self.commits = reads, commits
        self._make = make
        self._random = random.Random(seed)
        self._uncommitted: dict[int, int] = {}

    def work(self) -> None:
        """Be one member after the other until it is stopped."""
        while not self._stopping.is_set():
            self._moved()
            try:
                consumer = self._make(self._moved)
            except Exception as error:
                self.note(error)
                self._stopping.wait(RETRY_S)
                continue
            try:
                self._live(consumer, time.monotonic() + self._random.uniform(*self.life_s))
            finally:
                try:
                    consumer.close()
                except Exception as error:
                    self.note(error)
        self.reads.close()
        self.commits.close()

    def _moved(self) -> None:
        self.reads.moved()
        self._uncommitted.clear()

    def _live(self, consumer: GroupConsumer, end_s: float) -> None:
        commit_s = time.monotonic() + COMMIT_S
        while not self._stopping.is_set() and time.monotonic() < end_s:
            try:
                taken = consumer.poll()
            except Exception as error:
                self.note(error)
                self._stopping.wait(RETRY_S)
                continue
            for partition, records in taken.items():
                self.reads.read(partition, records)
                self.positions[partition] = self._uncommitted[partition] = records[-1][0] + 1
            if time.monotonic() >= commit_s:
                self._commit(consumer)
                commit_s = time.monotonic() + COMMIT_S
        self._commit(consumer)

    def _commit(self, consumer: GroupConsumer) -> None:
        offsets, self._uncommitted = self._uncommitted, {}
        if not offsets:
            return
        commits = [self.commits.committing(partition, offset) for partition, offset in offsets.items()]
        try:
            consumer.commit(offsets)
        except Exception as error:
            self.note(error)
            return
        for commit in commits:
            self.commits.committed(commit)
        if self._random.random() < 0.2:
            self.fetch(consumer, offsets)

    def fetch(self, consumer: GroupConsumer, partitions: Iterable[int]) -> None:
        """Fetch committed offsets, and note them."""
        begun_s = time.monotonic()
        try:
            found = consumer.committed(partitions)
        except Exception as error:
            self.note(error)
            return
        for partition, offset in found.items():
            self.commits.fetched(begun_s, partition, offset)
