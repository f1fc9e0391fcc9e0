"""The life of this process, recorded in its log dirs and compared with the broker's last registered life.

Reads and writes the file ``kafkatx-life`` in log dirs, in a worker: ``{"version":1,"file":"13:77",
"lives":["...","..."]}``, the random texts of the last lives, the latest at the end. ``file`` is the inode of
the file itself and, where the file system tells it, its generation: in a copy of the directory it is another
file. :mod:`kafkatx.metadata.layout.incarnations` has the rule.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import struct
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from kafkatx.broker.replica.logs.boot_id import BOOT_ID
from kafkatx.interfaces import ILogDir, Workers
from kafkatx.metadata.layout.incarnations import LifeRecord, PastLives, stale_dirs
from kafkatx.nodes import BrokerProcess

NAME = "kafkatx-life"
KEPT = 100
"""Lives that a log dir remembers: by an earlier one it tells that the cluster's state is an older copy."""
VERSION = 1
_GET_GENERATION = 0x80087601
"""``FS_IOC_GETVERSION``: a number that a file system gives to each use of an inode."""

_log = Logger()


class ProcessLife:
    """The life of this process; see :class:`kafkatx.interfaces.metadata.BrokerLife`.

    :param dirs: the log dirs of the open store.
    :param distrust: called when the logs do not continue the last life, before that is registered.
    :param anew: a person says that the logs are to be taken as those of the last life.
    :param new_life: returns random texts.
    """

    def __init__(
        self,
        dirs: Sequence[ILogDir],
        workers: Workers,
        distrust: Callable[[], None],
        new_life: Callable[[], str] = lambda: uuid.uuid4().hex,
        anew: bool = False,
    ) -> None:
        self.lives: Mapping[str, str] = {}
        self.ended: Mapping[str, str] = {}
        self._dirs = dirs
        self._worker = workers("broker life")
        self._distrust = distrust
        self._anew = anew
        self._life = new_life()
        self._end = new_life()
        self._found: Mapping[str, LifeRecord | None] | None = None
        self._recorded: Mapping[str, Sequence[str]] = {}
        self._boot_id = boot_id()

    def process(self) -> BrokerProcess:
        """Return this process, with the locks that it holds now."""
        locks = {one.path: one.lock for one in self._online()}
        return BrokerProcess(os.getpid(), self._boot_id, locks)

    def begin(self, lives: Mapping[str, str], closed: Collection[str]) -> Deferred[bool]:
        """See BrokerLife."""
        return Deferred.fromCoroutine(self._begin(PastLives(lives, frozenset(closed))))

    async def _begin(self, past: PastLives) -> bool:
        dirs = self._online()
        if self._found is None:
            paths = {one.directory_id: one.path for one in dirs}
            self._found = await self._worker(partial(_read_each, paths))
        own = LifeRecord([self._life], True)  # of dirs that this process has registered before
        records = {
            one.directory_id: own
            if past.lives.get(one.directory_id) == self._life
            else self._found.get(one.directory_id)
            for one in dirs
        }
        emptied = [one.directory_id for one in dirs if one.emptied]
        stale = [] if self._anew else stale_dirs(past, records, emptied)
        if stale:
            self._distrust()
            self._tell([one.path for one in dirs if one.directory_id in stale])
        content = {one.path: [*self._history(one.directory_id, stale), self._life] for one in dirs}
        written = await self._worker(partial(_write_each, content))
        self._recorded = {path: content[path] for path in written}
        self.lives = {one.directory_id: self._life for one in dirs if one.path in self._recorded}
        return not stale

    def _history(self, directory_id: str, stale: Collection[str]) -> Sequence[str]:
        """Return the lives that the logs of a dir continue."""
        record = None if self._found is None else self._found.get(directory_id)
        return () if record is None or directory_id in stale else record.lives

    def end(self) -> Deferred[None]:
        """Record the end of this life in the log dirs, whose logs are closed."""
        return Deferred.fromCoroutine(self._record_end())

    async def _record_end(self) -> None:
        dirs = {one.path: one.directory_id for one in self._online()}
        content = {path: [*lives, self._end] for path, lives in self._recorded.items() if path in dirs}
        written = await self._worker(partial(_write_each, content))
        self.ended = {dirs[path]: self._end for path in written}

    def _online(self) -> list[ILogDir]:
        return [one for one in self._dirs if one.error is None]

    def _tell(self, paths: Sequence[str]) -> None:
        _log.error(
            "log.dirs={paths}: these logs do not continue the last registered life of this broker: they are a"
            " copy or an older state of its data, or another process was this broker meanwhile. They count as"
            " in sync nowhere, and are compared with the leaders' and corrected. A partition without another"
            " replica in sync has no leader, until the original is started or a person decides to go on with"
            " what is left: kafkatx cluster elect --unclean -t TOPIC -p NUMBER, or kafkatx.start.anew=true"
            " for one start",
            paths=",".join(paths),
        )


def boot_id(path: str = BOOT_ID) -> str:
    """Return the id of this boot of the machine; an empty text if it is not known."""
    try:
        with open(path, encoding="ascii") as file:
            return file.read(200).strip()
    except (OSError, ValueError):
        return ""


def read_life(directory: str) -> LifeRecord | None:
    """Return what a log dir has recorded; None if that is nothing, or cannot be read."""
    try:
        with open(os.path.join(directory, NAME), "rb") as file:
            found = json.loads(file.read(100_000))
            lives = [str(one) for one in found["lives"]]
            return LifeRecord(lives, found["file"] == _file_id(file.fileno()))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write_life(directory: str, lives: Sequence[str]) -> None:
    """Record lives in a log dir, on the disk.

    :raises OSError: it cannot be written.
    """
    path = os.path.join(directory, NAME)
    temporary = f"{path}.tmp"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)
    with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        content = {"version": VERSION, "file": _file_id(file.fileno()), "lives": lives[-KEPT:]}
        file.write(json.dumps(content).encode())
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    fd = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _file_id(fd: int) -> str:
    """Return the inode of a file, and its generation if the file system tells it."""
    generation = 0
    with contextlib.suppress(OSError):
        (generation,) = struct.unpack("I", fcntl.ioctl(fd, _GET_GENERATION, bytes(8))[:4])
    return f"{os.fstat(fd).st_ino}:{generation}"


def _read_each(paths: Mapping[str, str]) -> dict[str, LifeRecord | None]:
    return {directory_id: read_life(path) for directory_id, path in paths.items()}


def _write_each(content: Mapping[str, Sequence[str]]) -> list[str]:
    """Record lives in log dirs by path; return those that could be written."""
    written = []
    for path, lives in content.items():
        try:
            write_life(path, lives)
        except OSError as error:
            _log.warn("{path}: {name} cannot be written: {error}", path=path, name=NAME, error=error)
        else:
            written.append(path)
    return written
