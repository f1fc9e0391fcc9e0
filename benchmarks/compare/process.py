"""One server process under measurement: pinned to a core, its CPU seconds, its memory, its disk."""

from __future__ import annotations

import glob
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

TICKS = os.sysconf("SC_CLK_TCK")
STOP_S = 30.0
POLL_S = 0.005


class Cpu(NamedTuple):
    """CPU seconds of a process and of those it started."""

    user_s: float
    system_s: float

    @property
    def total_s(self) -> float:
        """Both together."""
        return self.user_s + self.system_s

    def since(self, before: Cpu) -> Cpu:
        """Return the CPU time since an earlier reading."""
        return Cpu(self.user_s - before.user_s, self.system_s - before.system_s)


class Server:
    """A running server; a context manager that ends it.

    :param folder: where it runs; None: here.
    :ivar started_s: seconds from its start to the first request that it served; set by :meth:`wait_for`.
    """

    def __init__(
        self,
        command: Sequence[str],
        log_path: str,
        core: int | None,
        environment: Mapping[str, str],
        folder: str | None = None,
    ) -> None:
        pinned = ["taskset", "--cpu-list", str(core), *command] if core is not None else list(command)
        self._log_path = log_path
        self._begun_s = time.perf_counter()
        with open(log_path, "ab") as log:
            self._process = subprocess.Popen(
                pinned,
                stdout=log,
                stderr=log,
                env={**os.environ, **environment},
                cwd=folder,
                start_new_session=True,
            )
        self.started_s = 0.0

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The id of the process that was started."""
        return self._process.pid

    def wait_for(self, served: Callable[[], bool], most_s: float) -> None:
        """Wait until the server serves.

        :raises RuntimeError: it ended, or took longer than that; with the last of its log.
        """
        while not served():
            waited_s = time.perf_counter() - self._begun_s
            if self._process.poll() is not None or waited_s > most_s:
                self.stop()
                raise RuntimeError(f"not serving after {waited_s:.0f} s:\n{self._last_lines()}")
            time.sleep(POLL_S)
        self.started_s = time.perf_counter() - self._begun_s

    def _last_lines(self) -> str:
        with open(self._log_path, errors="replace") as log:
            return "".join(log.readlines()[-15:])

    def pause(self) -> None:
        """SIGSTOP to all of it: it takes nothing from the others until :meth:`go_on`."""
        os.killpg(self._process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """SIGCONT to all of it."""
        os.killpg(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL to all of it, without waiting; :meth:`stop` waits."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def stop(self, most_s: float = STOP_S) -> None:
        """SIGTERM to all of it, and SIGKILL if that does not do in so many seconds."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._process.pid, number)
                self.go_on()
            except ProcessLookupError:
                break
            try:
                self._process.wait(most_s)
            except subprocess.TimeoutExpired:
                continue
            if not self._pids():
                break
        self._process.wait()

    def _pids(self) -> list[int]:
        """The processes that it has started, and those that these have, and all others of its session."""
        parents: dict[int, int] = {}
        found: set[int] = set()
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    state, parent, _, session, *_ = _stat(int(name))
                except OSError:
                    continue
                if state != "Z":
                    parents[int(name)] = int(parent)
                    if int(session) == self._process.pid:
                        found.add(int(name))
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return sorted(found)

    def cpu(self) -> Cpu:
        """CPU seconds so far, of all of its processes and those of them that have ended."""
        user = system = 0
        for pid in self._pids():
            try:
                fields = _stat(pid)
            except OSError:
                continue
            user += int(fields[11]) + int(fields[13])
            system += int(fields[12]) + int(fields[14])
        return Cpu(user / TICKS, system / TICKS)

    def cpu_ns(self) -> int:
        """CPU nanoseconds so far, user's and system's, of the threads that live: the scheduler's own count.

        Finer than :meth:`cpu`, whose unit is a tick. Exact while the server waits.
        """
        return sum(_scheduled_ns(pid) for pid in self._pids())

    def rss_mib(self) -> float:
        """Resident memory now, MiB, of all of its processes."""
        return sum(_status_mib(pid, "VmRSS") for pid in self._pids())

    def peak_rss_mib(self) -> float:
        """The most resident memory since :meth:`forget_peak`, MiB, each process's own."""
        return sum(_status_mib(pid, "VmHWM") for pid in self._pids())

    def forget_peak(self) -> None:
        """Begin anew to look for the most resident memory."""
        for pid in self._pids():
            with open(f"/proc/{pid}/clear_refs", "w") as file:
                file.write("5")


def _stat(pid: int) -> list[str]:
    """Read the fields of a process from ``/proc``, starting at its state."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
        return stat.read().rsplit(")", 1)[1].split()


def _scheduled_ns(pid: int) -> int:
    """The first number of each thread's ``schedstat`` (Documentation/scheduler/sched-stats)."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        try:
            with open(path, encoding="ascii") as file:
                total += int(file.read().split()[0])
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            continue
    return total


def _status_mib(pid: int, name: str) -> float:
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
            found = re.search(rf"{name}:\s+(\d+)", status.read())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def disk_mib(folder: str) -> float:
    """Return the disk space of the files in a folder in MiB."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(parent, name)).st_blocks * 512
            except FileNotFoundError:
                continue
    return total / (1 << 20)
