"""The sink of Spark as a data source that dies once at a point that the option ``dieAt`` names.

=============  ========================================================================================
``task``       a worker, after its task has written everything and before Spark hears of it
``commit``     the driver, before it commits
``decided``    the driver, after the decision and before it commits the first transaction
``part``       the driver, after it has committed the first transaction
``complete``   the driver, after all is committed and before Spark hears of it
=============  ========================================================================================

The option ``died`` is the path of a file that is made at that moment. The process that is killed has the
number in the option ``jvm``; without it the Python process kills itself, and Spark gives the query up. A dead
driver aborts nothing.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql.types import StructType

from kafkatx.blocking.producer.transaction import Transaction
from kafkatx.spark.sink.exactly_once import batch_commit
from kafkatx.spark.sink.options import parse_sink
from kafkatx.spark.sink.writers import Delivered, StreamTopicWriter
from kafkatx.spark.source.data_source import KafkaSource

OPTIONS = ("dieat", "died", "jvm")


class DyingSource(KafkaSource):
    """``writeStream.format("dying")``."""

    @classmethod
    def name(cls) -> str:
        """Return the name for ``format()``."""
        return "dying"

    def streamWriter(self, schema: StructType, overwrite: bool) -> DyingWriter:
        """Return the writer."""
        given = {name.lower(): value for name, value in self.options.items()}
        own = {name: given.pop(name, "") for name in OPTIONS}
        return DyingWriter(given, schema, own)


class DyingWriter(StreamTopicWriter):
    """The sink's writer."""

    def __init__(self, options: Mapping[str, str], schema: StructType, own: Mapping[str, str]) -> None:
        super().__init__(parse_sink(options), schema)
        self._at, self._died, self._jvm = (own[name] for name in OPTIONS)

    def write(self, iterator: Iterator[Any]) -> Delivered:
        """Write, and perhaps die."""
        written = super().write(iterator)
        if written.records:
            self._die("task", os.getpid())
        return written

    def commit(self, messages: Sequence[Delivered | None], batchId: int) -> None:
        """Commit, and perhaps die."""
        self._die("commit")
        self._before(batch_commit, "complete", lambda: self._die("decided"))
        ends: list[None] = []

        def end() -> None:
            ends.append(None)
            if len(ends) == 3:  # the decision, the first part, the second one
                self._die("part")

        self._before(Transaction, "end", end)
        super().commit(messages, batchId)
        self._die("complete")

    def abort(self, messages: Sequence[Delivered | None], batchId: int) -> None:
        """Abort, unless the driver is dead."""
        if not os.path.exists(self._died):
            super().abort(messages, batchId)

    def _before(self, owner: Any, name: str, call: Callable[[], None]) -> None:
        """Call *call* before each call of a function; the process is Spark's, for other batches, too."""
        function = getattr(owner, name)
        function = getattr(function, "undisturbed", function)

        def disturbed(*arguments: Any) -> Any:
            call()
            return function(*arguments)

        disturbed.undisturbed = function  # type: ignore[attr-defined]
        setattr(owner, name, disturbed)

    def _die(self, at: str, process: int | None = None) -> None:
        if at != self._at:
            return
        try:
            os.close(os.open(self._died, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        if process is None and self._jvm:
            os.kill(int(self._jvm), signal.SIGKILL)
        os.kill(process or os.getpid(), signal.SIGKILL)
