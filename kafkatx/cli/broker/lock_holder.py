"""Find the process of the broker that has a log dir.

A running broker holds ``.lock`` of each of its log dirs by flock(2), and has written its process id into it.
On Linux /proc/locks names the holder, so the id in the file is believed only if the kernel confirms it.
Elsewhere the lock is tried for an instant; a broker that starts in that instant fails with "locked by another
broker".
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

import attrs

from kafkatx.names import SUPERVISOR_LOCK

LOCK = ".lock"
PROC_LOCKS = "/proc/locks"
PID_BYTES = 20


@attrs.frozen
class Holder:
    """The owner of a log dir's lock.

    :ivar pid: the process id of the running broker; None if there is none, or it cannot be told.
    :ivar stale_pid: the process id in the lock file of a broker that no longer holds the lock.
    :ivar problem: why a process that holds the lock is not known to be a broker; None if nothing is wrong.
    """

    pid: int | None = None
    stale_pid: int | None = None
    problem: str | None = None


def find_holder(directory: str, proc_locks: str = PROC_LOCKS) -> Holder:
    """Find the broker that holds a log dir, or the supervisor of several that works there.

    :raises OSError: the lock file is there and cannot be read.
    """
    supervisor = _find(os.path.join(directory, SUPERVISOR_LOCK), proc_locks)
    if supervisor.pid is not None or supervisor.problem is not None:
        return supervisor
    broker = find_broker(directory, proc_locks)
    return supervisor if broker == Holder() else broker


def find_broker(directory: str, proc_locks: str = PROC_LOCKS) -> Holder:
    """Find the broker that holds a log dir; its supervisor does not count.

    :raises OSError: as :func:`find_holder`.
    """
    return _find(os.path.join(directory, LOCK), proc_locks)


def _find(path: str, proc_locks: str) -> Holder:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return Holder()
    try:
        written = _number(os.read(descriptor, PID_BYTES))
        found = os.fstat(descriptor)
        holders = _flock_holders(found, proc_locks)
        if holders is None:
            return _by_trying(descriptor, written)
    finally:
        os.close(descriptor)
    if written is not None and written in holders:
        return Holder(written)
    if holders:
        return Holder(problem=_unknown(min(holders), written))
    return Holder(stale_pid=written)


def _number(data: bytes) -> int | None:
    text = data.strip()
    return int(text) if text.isdigit() else None


def _flock_holders(lock_file: os.stat_result, proc_locks: str) -> set[int] | None:
    """Return the processes that hold an exclusive flock on a file; None where the kernel does not tell."""
    try:
        with open(proc_locks, encoding="ascii", errors="replace") as rows:
            return set(_holders(rows, lock_file))
    except OSError:
        return None


def _holders(rows: Iterable[str], lock_file: os.stat_result) -> Iterator[int]:
    """Read /proc/locks: ``1: FLOCK  ADVISORY  WRITE 4711 08:01:131074 0 EOF``; device in hexadecimal.

    The device is not compared: btrfs and overlayfs show another one there than stat(2) does.
    """
    for row in rows:
        fields = row.split()
        if len(fields) < 6 or fields[1] != "FLOCK":  # a process that waits for a lock has "->" there
            continue
        inode = fields[5].rpartition(":")[2]
        with suppress(ValueError):
            if (
                int(inode) == lock_file.st_ino
                and int(fields[4]) > 0
                and _same_file(int(fields[4]), lock_file)
            ):
                yield int(fields[4])


def _same_file(pid: int, lock_file: os.stat_result) -> bool:
    """Return False if the process is known not to have the file open; a foreign process cannot be asked."""
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return True
    for name in names:
        with suppress(OSError):
            if os.path.samestat(os.stat(os.path.join(folder, name)), lock_file):
                return True
    return False


def _by_trying(descriptor: int, written: int | None) -> Holder:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return Holder(written) if written is not None else Holder(problem=_unknown(None, None))
    return Holder(stale_pid=written)


def _unknown(holder: int | None, written: int | None) -> str:
    name = "a process" if holder is None else f"process {holder}"
    said = "no process id" if written is None else f"process id {written}"
    return (
        f"{name} has locked it and is not known to be its broker ({LOCK} holds {said}):"
        " it may be kafkatx log repair, or a broker in a container"
    )


def uptime_s(pid: int) -> float | None:
    """Return the seconds since a process was started; None where /proc does not tell."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            started_ticks = int(file.read().rpartition(")")[2].split()[19])
        with open("/proc/uptime", encoding="ascii") as file:
            up_s = float(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return None
    return max(0.0, up_s - started_ticks / os.sysconf("SC_CLK_TCK"))


@contextmanager
def process_handle(pid: int) -> Iterator[int | None]:
    """Hold on to a process, so that its id cannot become another's; None where the system has no pidfd_open.

    :raises ProcessLookupError: there is no such process.
    """
    if not hasattr(os, "pidfd_open"):
        yield None
        return
    handle = os.pidfd_open(pid)
    try:
        yield handle
    finally:
        os.close(handle)
