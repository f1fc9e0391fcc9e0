"""What the handlers share: the parts of one running broker."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from kafkatx.broker.partition import Partition
from kafkatx.broker.producer_ids import ProducerIds
from kafkatx.broker.topics import Topics
from kafkatx.config import BrokerConfig
from kafkatx.interfaces import Workers


class Broker:
    """The parts, handed in; and the produce round that is under way.

    :ivar coordinator: the ``ICoordinator``.
    :ivar store: the ``ILogStore``.
    :ivar offered: the versions of each API key that ApiVersions shows.
    :ivar staged: the partitions with records that are staged and not yet written.
    """

    _log = Logger()

    def __init__(
        self,
        config: BrokerConfig,
        coordinator: Any,
        store: Any,
        clock: IReactorTime,
        workers: Workers,
        now_ms: Callable[[], int] = lambda: int(time.time() * 1000),
    ) -> None:
        self.config = config
        self.coordinator = coordinator
        self.store = store
        self.clock = clock
        self.workers = workers
        self.now_ms = now_ms
        self.node_id: int = config.get("broker.id")
        self.topics = Topics(config, coordinator, store)
        self.producer_ids = ProducerIds(coordinator)
        self.offered: dict[int, range] = {}
        self.staged: dict[Partition, None] = {}
        self._written: list[Partition] = []

    def write_staged(self) -> dict[object, OSError]:
        """Write what is staged in every partition; give those where that failed, and why.

        The fetches that wait for it are woken by :meth:`wake_waiting`, later: what they set off must not
        run between two writes of one round.
        """
        staged, self.staged = self.staged, {}
        failed: dict[object, OSError] = {}
        for partition in staged:
            try:
                partition.log.write()
            except OSError as error:
                failed[partition] = error
                self._log.error(
                    "appending to {partition} failed: {error}; nothing of it was acknowledged",
                    partition=partition.topic_partition,
                    error=error,
                )
            else:
                partition.advance()
                if partition.parked:
                    self._written.append(partition)
        return failed

    def wake_waiting(self) -> None:
        """Let the fetches look again that wait for a partition that was written to."""
        if self._written:
            written, self._written = self._written, []
            for partition in written:
                partition.wake()
