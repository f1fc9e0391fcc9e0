"""Groups of the simulated cluster: they commit offsets, and fetch them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkatx.errors import KafkaTXError
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkatx.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from tests.simulation.transactions import Violation

if TYPE_CHECKING:
    from tests.simulation.replication.clients.clients import Clients

KEPT = "t0"
"""The topic that is never deleted: groups commit offsets of it."""


class Group:
    """Commits growing offsets of a group, and fetches them: what it is told never goes back.

    :ivar acknowledged: the last offset that was acknowledged.
    """

    def __init__(self, clients: Clients, number: int) -> None:
        self.name = f"g{number}"
        self._clients = clients
        self._random = clients.world.random
        self._coordinator: int | None = None
        self._next = 1
        self.acknowledged = -1
        self._seen = -1
        self._losses = 0

    def _total_losses(self) -> int:
        partitions = self._clients.world.truth.partitions.items()
        return sum(each.losses for name, each in partitions if name.topic[0] == "_")

    async def run(self) -> None:
        """Commit and fetch until the end."""
        clients, random = self._clients, self._random
        while not clients.ending:
            await clients.pause(random.choice((0.02, 0.2, 0.5)))
            await (self.commit() if random.random() < 0.6 else self.fetch())

    async def _find(self) -> int | None:
        able = [machine.broker_id for machine in self._clients.world.machines.values() if machine.life.ready]
        if self._coordinator is None and able:
            request = FindCoordinatorRequest(self.name, 0)
            response = await self._clients.ask(self._random.choice(able), 3, request)
            if not response.error_code:
                self._coordinator = response.node_id
        return self._coordinator

    async def commit(self) -> None:
        """Commit the next offset."""
        losses = self._total_losses()
        offset = self._next
        try:
            coordinator = await self._find()
            if coordinator is None:
                return
            self._next += 1
            partition = OffsetCommitRequestPartition(0, offset, -1, committed_metadata="")
            topic = OffsetCommitRequestTopic(KEPT, [partition])
            response = await self._clients.ask(coordinator, 8, OffsetCommitRequest(self.name, topics=[topic]))
        except KafkaTXError:
            self._coordinator = None
            return
        error = response.topics[0].partitions[0].error_code
        if error:
            self._coordinator = None
        elif self._total_losses() == losses:
            self.acknowledged = offset

    async def fetch(self) -> None:
        """Fetch the committed offset, and compare it."""
        losses, acknowledged, seen = self._total_losses(), self.acknowledged, self._seen
        try:
            coordinator = await self._find()
            if coordinator is None:
                return
            request = OffsetFetchRequest(self.name, [OffsetFetchRequestTopic(KEPT, [0])])
            response = await self._clients.ask(coordinator, 7, request)
        except KafkaTXError:
            self._coordinator = None
            return
        answer = response.topics[0].partitions[0] if response.topics else None
        if response.error_code or answer is None or answer.error_code:
            self._coordinator = None
            return
        if self._total_losses() != self._losses:
            self._losses = self._total_losses()
            self.acknowledged = self._seen = -1
        elif losses == self._losses:
            if answer.committed_offset < max(acknowledged, seen):
                raise Violation(
                    f"{self.name} fetches the offset {answer.committed_offset}; {acknowledged} was"
                    f" acknowledged, and {seen} fetched before"
                )
            self._seen = answer.committed_offset
