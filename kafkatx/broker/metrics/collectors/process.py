"""The collector of the process and its disks. It reads ``/proc`` and asks file systems, in a worker."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.metrics.samples import Samples, label
from kafkatx.broker.metrics.sources import Steps
from kafkatx.broker.metrics.table import kafka as k
from kafkatx.broker.metrics.table import own as o
from kafkatx.broker.metrics.table import process as p
from kafkatx.broker.metrics.table.row import Metric
from kafkatx.interfaces import Worker

Found = list[tuple[Metric, float, str]]


class ProcessCollector:
    """The process and its disks.

    :param worker: runs what may wait for a disk.
    """

    def __init__(self, broker: Broker, worker: Callable[[], Worker]) -> None:
        self._broker = broker
        self._worker = worker

    def collect(self, samples: Samples) -> Steps:
        """See :class:`Collector`."""
        paths = [one.path for one in self._broker.store.dirs if one.error is None]

        def tell(found: Found) -> None:
            for metric, value, named in found:
                samples.add(metric, value, named)

        reading: Deferred[Found] = self._worker()(lambda: [*_process(), *_dirs(paths)])
        yield reading.addCallback(tell)


def _process() -> Iterator[tuple[Metric, float, str]]:
    """Yield the metrics of this process; nothing where there is no ``/proc``."""
    try:
        with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()  # the name of the program may have spaces
        tick = os.sysconf("SC_CLK_TCK")
        yield p.CPU_SECONDS, (int(fields[11]) + int(fields[12])) / tick, ""
        yield p.VIRTUAL, int(fields[20]), ""
        yield p.RESIDENT, int(fields[21]) * os.sysconf("SC_PAGE_SIZE"), ""
        with open("/proc/stat", encoding="ascii") as file:
            boot_s = next(int(line.split()[1]) for line in file if line.startswith("btime"))
        yield p.START_TIME, boot_s + int(fields[19]) / tick, ""
        yield p.OPEN_FDS, len(os.listdir("/proc/self/fd")), ""
        with open("/proc/self/limits", encoding="ascii") as file:
            limit = next(line.split()[3] for line in file if line.startswith("Max open files"))
        if limit.isdigit():
            yield p.MAX_FDS, int(limit), ""
        with open("/proc/self/io", encoding="ascii") as file:
            io = dict(line.split(": ") for line in file.read().splitlines())
        yield k.DISK_READ, int(io["read_bytes"]), ""
        yield k.DISK_WRITTEN, int(io["write_bytes"]), ""
    except (OSError, ValueError, LookupError, StopIteration):
        return  # another system, or a part of /proc that this process may not read


def _dirs(paths: list[str]) -> Iterator[tuple[Metric, float, str]]:
    for path in paths:
        try:
            found = os.statvfs(path)
        except OSError:
            continue  # the store will find out
        named = label("dir", path)
        yield o.LOG_DIR_FREE, found.f_bavail * found.f_frsize, named
        yield o.LOG_DIR_SIZE, found.f_blocks * found.f_frsize, named
