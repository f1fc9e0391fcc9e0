"""Spark's execution of a stream into the sink, in memory: batches, tasks, attempts and restarts."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.errors import KafkaTXError
from kafkatx.spark.sink import task
from kafkatx.spark.sink.exactly_once import attempt as attempts
from kafkatx.spark.sink.exactly_once.attempt import Attempt, Place
from kafkatx.spark.sink.exactly_once.delivery import ExactlyOnce
from kafkatx.spark.sink.options import SinkOptions, parse_sink
from kafkatx.spark.sink.schema import SinkColumns
from kafkatx.spark.sink.schemas.message_columns import NO_ENCODINGS
from tests.blocking.transactional import Killed, TransactionalCluster

OPTIONS = {
    "kafka.bootstrap.servers": "broker1:9092",
    "kafka.transactional.id": "query",
    "exactlyonce": "true",
    "topic": "t",
}
COLUMNS = SinkColumns(value=0)
QUERY = "6a3f"

Patch = Callable[[object, str, Any], Any]


def options(**more: str) -> SinkOptions:
    """The options of a sink; ``_`` for ``.``."""
    return parse_sink({**OPTIONS, **{name.replace("_", "."): value for name, value in more.items()}})


def rows(values: Sequence[bytes]) -> list[Any]:
    """The batches of one task, of two rows each."""
    starts = range(0, len(values), 2)
    return [pa.RecordBatch.from_arrays([pa.array(values[at : at + 2])], names=["value"]) for at in starts]


class Run:
    """A run of a query's driver: a batch is begun, its tasks are run, it is committed.

    :param connect: returns a cluster.
    :param patch: of the test case.
    :param more: options of the sink.
    """

    def __init__(self, connect: Callable[[], Cluster], patch: Patch, query: str = QUERY, **more: str) -> None:
        self._patch = patch
        self._query = query
        self._options = options(**more)
        patch(task, "connect", lambda settings: connect())

    def start(self) -> ExactlyOnce:
        """Begin a batch: the writer as tasks get it."""
        made: ExactlyOnce = pickle.loads(pickle.dumps(ExactlyOnce(self._options)))
        return made

    def write(
        self, batch: ExactlyOnce, batch_id: int, values: Sequence[bytes], number: int = 0, attempt: int = 0
    ) -> Attempt:
        """Run one attempt of a task; return what the driver gets of it."""
        place = Place(self._query, batch_id)
        self._patch(attempts, "running", lambda: (place, number, attempt))
        found: Attempt = pickle.loads(pickle.dumps(batch.write(COLUMNS, iter(rows(values)), NO_ENCODINGS)))
        return found

    def commit(self, found: Sequence[Attempt], batch_id: int) -> None:
        """Commit, by a writer that was not pickled."""
        ExactlyOnce(self._options).commit(found, batch_id)

    def abort(self, found: Sequence[Attempt], batch_id: int) -> None:
        """Abort, likewise."""
        ExactlyOnce(self._options).abort(found, batch_id)


class Stream:
    """A query with its checkpoint; it is run until all of its batches are committed.

    :ivar commits: the number of batches that Spark knows to be committed.
    :ivar restarts: how often the driver was killed.
    :param batches: the values of each batch.
    :param deal: returns the tasks of a batch; each run may deal the values out in another way.
    :param kills_tasks: True if a kill in a task ends that attempt alone; otherwise the driver.
    """

    def __init__(
        self,
        run: Run,
        batches: Sequence[Sequence[bytes]],
        deal: Callable[[Sequence[bytes], int], list[Sequence[bytes]]],
        kills_tasks: bool,
    ) -> None:
        self.commits = 0
        self.restarts = 0
        self._run = run
        self._batches = batches
        self._deal = deal
        self._kills_tasks = kills_tasks

    def run(self) -> None:
        """Run, and start again after each kill."""
        while self.commits < len(self._batches):
            try:
                self._trigger(self.commits)
            except Killed:
                self.restarts += 1

    def _trigger(self, batch_id: int) -> None:
        batch = self._run.start()
        tasks = self._deal(self._batches[batch_id], self.restarts)
        found = [self._task(batch, batch_id, values, number) for number, values in enumerate(tasks)]
        self._run.commit(found, batch_id)
        self.commits += 1

    def _task(self, batch: ExactlyOnce, batch_id: int, values: Sequence[bytes], number: int) -> Attempt:
        for attempt in range(3):
            try:
                return self._run.write(batch, batch_id, values, number, attempt)
            except Killed:
                if not self._kills_tasks:
                    raise
        raise AssertionError("a task was killed three times")


class RunCase(SynchronousTestCase):
    def setUp(self) -> None:
        """A cluster, and a run of a query."""
        self.cluster = TransactionalCluster()
        self.query = Run(lambda: self.cluster.client(retries=3), self.patch)

    def refused(self, call: Any, *arguments: Any) -> str:
        """Return the message of an error."""
        return str(self.assertRaises(KafkaTXError, call, *arguments))

    def whole(self, batch_id: int, *values: bytes) -> None:
        """Write a batch with one task."""
        self.query.commit([self.query.write(self.query.start(), batch_id, values)], batch_id)
