"""The disks of this broker's log dirs. It asks file systems, in a worker."""

from __future__ import annotations

import os
from collections.abc import Sequence

import attrs
from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.console.cluster.turns import Kept

KEPT_S = 30.0


@attrs.frozen
class Disk:
    """The disk of a log dir."""

    path: str
    free_bytes: int
    total_bytes: int

    @property
    def free_share(self) -> float:
        """The part that is free."""
        return self.free_bytes / self.total_bytes if self.total_bytes else 1.0


class Disks:
    """The disks as they were at most half a minute ago."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._kept: Kept[Sequence[Disk]] = Kept(self._find, broker.clock, KEPT_S)
        self.get = self._kept.get

    async def _find(self) -> Sequence[Disk]:
        paths = [one.path for one in self._broker.store.dirs if one.error is None]
        reading: Deferred[Sequence[Disk]] = self._broker.workers("volumes")(lambda: _read(paths))
        return await reading


def _read(paths: Sequence[str]) -> Sequence[Disk]:
    found = []
    for path in paths:
        try:
            volume = os.statvfs(path)
        except OSError:
            continue  # the store will find out
        found.append(Disk(path, volume.f_bavail * volume.f_frsize, volume.f_blocks * volume.f_frsize))
    return found
