"""The progress of the records through the deployment: bars at a terminal, else a line now and then."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from kafkatx.blocking import Cluster
from kafkatx.blocking.admin.lag import end_offsets
from kafkatx.demo.pipeline.deployment import READER, Deployment
from kafkatx.demo.pipeline.warehouse import Warehouse
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition

EVERY_S = 0.5
LINE_EVERY_S = 5.0
STAGES = ("produced", "in dc1", "read by services", "in dc2", "in the warehouse")


class Stages:
    """The numbers of records that have reached each stage, from brokers, logs and the table.

    A stage that does not answer keeps its number.
    """

    def __init__(self, deployment: Deployment, warehouse: Warehouse) -> None:
        self._deployment = deployment
        self._warehouse = warehouse
        self._clusters = [Cluster(bootstrap) for bootstrap in (deployment.dc1, deployment.dc2)]
        self._counts = dict.fromkeys(STAGES, 0)

    def counts(self, produced: int) -> dict[str, int]:
        """Return the numbers by stage."""
        dc1, dc2 = self._clusters
        found = {
            "produced": lambda: produced,
            "in dc1": lambda: self._end(dc1),
            "read by services": self._read,
            "in dc2": lambda: self._end(dc2),
            "in the warehouse": self._warehouse.rows,
        }
        for stage, count in found.items():
            with suppress(KafkaTXError, OSError):
                self._counts[stage] = count()
        return dict(self._counts)

    def close(self) -> None:
        """Close the connections."""
        for cluster in self._clusters:
            cluster.close()

    def _end(self, cluster: Cluster) -> int:
        return sum(
            end
            for topic in self._deployment.topics
            for end in end_offsets(cluster, _partitions(cluster, topic)).values()
        )

    def _read(self) -> int:
        total = 0
        for service in self._deployment.services:
            if service.name != READER:
                reports = list(service.reports())
                total += int(str(reports[-1]["records"])) if reports else 0
        return total


def _partitions(cluster: Cluster, topic: str) -> list[TopicPartition]:
    return [TopicPartition(topic, partition) for partition in range(len(cluster.topic(topic).partitions))]


class ProgressView:
    """Shows the stages from time to time, from a thread of its own; a context manager.

    :param total: number of records to come; None: not known.
    :ivar produced: number of records given to the front ends, which the caller sets.
    """

    def __init__(self, console: Console, stages: Stages, total: int | None) -> None:
        self.produced = 0
        self._console = console
        self._stages = stages
        self._total = total
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        columns = TextColumn("{task.description:<17}"), BarColumn(), MofNCompleteColumn()
        self._bars = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> ProgressView:
        self._tasks = {stage: self._bars.add_task(stage, total=self._total) for stage in STAGES}
        self._bars.start()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._bars.stop()
        self._stages.close()

    def _run(self) -> None:
        line_at_s = time.monotonic() + LINE_EVERY_S
        while not self._ended.wait(EVERY_S):
            counts = self._stages.counts(self.produced)
            for stage, task in self._tasks.items():
                self._bars.update(task, completed=counts[stage])
            if not self._console.is_terminal and time.monotonic() >= line_at_s:
                line_at_s += LINE_EVERY_S
                self._console.print(", ".join(f"{counts[stage]:,} {stage}" for stage in STAGES))
