"""One process of a broker: its metadata store, its connection and its clock, with the faults of a process."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

from twisted.internet.task import Clock
from twisted.python.failure import Failure

from kafkatx.interfaces import IMetadataStore
from kafkatx.metadata.cluster.store import ClusterMetadataStore, ClusterOptions
from kafkatx.metadata.tree.memory import MemoryTree
from kafkatx.types import BrokerNode, ClusterDelta, ClusterState, PartitionState
from tests.metadata.cluster.lives import DiskLife
from tests.simulation.server import SimulatedServer

if TYPE_CHECKING:
    from tests.simulation.life_rules import DataDisk

TIMEOUT_S = 6.0
"""Time-out of the sessions."""


class Process:
    """A process of a broker, which starts at once.

    :param name: its name in the history, ``b1.2`` for the second life of broker 1.
    :param tell: adds a line to the history.
    :param shown: called with each change of its state.
    :param disk: its data; ``disk.clean`` is False if its machine has gone down.
    :ivar clock: the clock of its store; a process that is frozen or dead is not run.
    :ivar refused: the error with which its start has failed.
    """

    def __init__(
        self,
        server: SimulatedServer,
        name: str,
        now_s: float,
        new_uuid: Callable[[], uuid.UUID],
        tell: Callable[[str], None],
        shown: Callable[[Process, ClusterDelta], None],
        disk: DataDisk,
    ) -> None:
        self.name = name
        self.broker_id = disk.broker_id
        self.disk = disk
        self.life = DiskLife(disk, "boot", lambda: str(new_uuid()))
        self.clock = Clock()
        self.clock.rightNow = now_s
        self.alive = True
        self.frozen = False
        self.registered = self.stopping = False
        self.refused: str | None = None
        self._tell = tell
        self.tree = MemoryTree(server.door(name), TIMEOUT_S, self.clock.seconds)
        self.store: IMetadataStore = make_store(self.tree, self.clock, new_uuid)
        self._shown = shown
        self.store.subscribe(self._changed)
        self._led: tuple[ClusterState | None, list[tuple[uuid.UUID, str, int, PartitionState]]] = (None, [])
        starting = self.store.start(BrokerNode(self.broker_id, f"h{self.broker_id}", 9092))
        starting.addCallback(lambda _: self.store.register([disk.directory_id], disk.clean, self.life))
        starting.addCallbacks(self._started, self._failed)

    @property
    def runs(self) -> bool:
        """True if the process does anything."""
        return self.alive and not self.frozen

    def remaining_s(self) -> float:
        """Return for how many seconds the process may write."""
        remaining_s = self.store.lease_remaining_s
        assert remaining_s is not None
        return remaining_s()

    def acts(self) -> bool:
        """Return True if the process may act as a leader now, as its write round asks."""
        return self.runs and not self.store.state.fenced and self.remaining_s() > 0

    def led(self) -> list[tuple[uuid.UUID, str, int, PartitionState]]:
        """Return the partitions that it leads by its state: topic id, topic, number and state."""
        state = self.store.state
        if self._led[0] is not state:
            led = [
                (topic.topic_id, name, number, each)
                for name, topic in state.topics.items()
                for number, each in enumerate(topic.partitions)
                if state.leads(self.broker_id, each)
            ]
            self._led = (state, led)
        return self._led[1]

    def kill(self, apply_requests: bool) -> None:
        """End the process without a word."""
        self.alive = False
        self.tree.link.kill(apply_requests)

    def stop(self) -> None:
        """Stop in order: close the logs, and end the session."""
        self.registered, self.stopping = False, True
        self.life.end()
        self.store.stop().addBoth(lambda _: self.kill(True))

    def freeze(self) -> None:
        """Stop the process for a while (SIGSTOP)."""
        self.frozen = True
        self.tree.link.hold_requests()
        self.tree.link.hold_replies()

    def thaw(self, timers_first: bool) -> None:
        """Continue the process.

        :param timers_first: call the timers that are due before what has come over the connection.
        """
        self.frozen = False
        if timers_first:
            self.clock.advance(0)
        self.tree.link.release()

    def _started(self, result: None) -> None:
        self.registered = True
        self._tell(f"{self.name} has registered")

    def _failed(self, failure: Failure) -> None:
        self.refused = failure.getErrorMessage()
        self._tell(f"{self.name} cannot start: {self.refused}")

    def _changed(self, delta: ClusterDelta) -> None:
        if delta.before.fenced != delta.after.fenced:
            self._tell(f"{self.name} is {'fenced' if delta.after.fenced else 'not fenced'}")
        self._shown(self, delta)


def make_store(tree: MemoryTree, clock: Clock, new_uuid: Callable[[], uuid.UUID]) -> IMetadataStore:
    """Return the metadata store of a process."""
    return ClusterMetadataStore(tree, clock, ClusterOptions("memory"), lambda: 0, new_uuid)
