"""Disks that record lives, in memory: what :mod:`kafkatx.broker.replica.logs.broker_life` has in files."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from typing import Self

from twisted.internet.defer import Deferred, succeed

from kafkatx.metadata.layout.incarnations import LifeRecord, PastLives, stale_dirs
from kafkatx.nodes import BrokerProcess

_numbers = itertools.count(1)


class LifeDisk:
    """The record of lives on a disk with one log dir.

    :ivar directory_id: of the log dir.
    :ivar lock: the identity of its lock file.
    :ivar record: the recorded lives; None: there are none.
    :ivar emptied: all logs are gone.
    """

    def __init__(self, directory_id: str) -> None:
        self.directory_id = directory_id
        self.lock = directory_id
        self.record: LifeRecord | None = None
        self.emptied = False
        self._copies = 0

    def copy(self) -> Self:
        """Return a copy of the directory in other files."""
        self._copies += 1
        other = copy(self)
        other.lock = f"{self.lock}.{self._copies}"
        other.record = None if self.record is None else LifeRecord(list(self.record.lives), False)
        return other


class DiskLife:
    """The life of a process on a disk; see :class:`kafkatx.interfaces.metadata.BrokerLife`.

    :param new_life: returns texts that are never the same.
    :param distrust: called if the logs do not continue the last life.
    """

    def __init__(
        self,
        disk: LifeDisk,
        boot_id: str = "boot",
        new_life: Callable[[], str] = lambda: f"life-{next(_numbers)}",
        distrust: Callable[[], None] = lambda: None,
    ) -> None:
        self.lives: Mapping[str, str] = {}
        self.ended: Mapping[str, str] = {}
        self._disk = disk
        self._boot_id = boot_id
        self._found = disk.record
        self._life, self._end = new_life(), new_life()
        self._distrust = distrust

    def process(self) -> BrokerProcess:
        """Return this process."""
        return BrokerProcess(7, self._boot_id, {f"/{self._disk.directory_id}": self._disk.lock})

    def begin(self, lives: Mapping[str, str], closed: Collection[str]) -> Deferred[bool]:
        """See BrokerLife."""
        one = self._disk.directory_id
        records = {one: LifeRecord([self._life], True) if lives.get(one) == self._life else self._found}
        emptied = [one] if self._disk.emptied else []
        stale = stale_dirs(PastLives(lives, frozenset(closed)), records, emptied)
        if stale:
            self._distrust()
        kept: Sequence[str] = () if stale or self._found is None else self._found.lives
        self._disk.record = LifeRecord([*kept, self._life], True)
        self.lives = {one: self._life}
        return succeed(not stale)

    def end(self) -> Deferred[None]:
        """Record that the logs are closed."""
        record = self._disk.record
        if record is None:
            return succeed(None)
        self._disk.record = LifeRecord([*record.lives, self._end], True)
        self.ended = {self._disk.directory_id: self._end}
        return succeed(None)
