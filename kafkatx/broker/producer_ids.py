"""Producer ids for idempotent producers, taken from the coordinator in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

BLOCK = 1000
"""Ids reserved at a time, as Apache Kafka's ProducerIdManager does; a restart forgoes the rest."""


class ProducerIds:
    """Gives out producer ids that no broker of the cluster ever gave out."""

    def __init__(self, coordinator: Any) -> None:
        self._coordinator = coordinator
        self._left: Iterator[int] = iter(())

    async def next(self) -> int:
        """A new producer id."""
        while True:
            for producer_id in self._left:
                return producer_id
            self._left = iter(await self._coordinator.allocate_producer_ids(BLOCK))
