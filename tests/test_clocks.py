"""The wall clock is read only where a timestamp is meant: nothing else goes on when it is set back."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator

from twisted.trial.unittest import SynchronousTestCase

import kafkatx

PACKAGE = os.path.dirname(os.path.abspath(kafkatx.__file__))

TIMESTAMPS = {
    "blocking/producer/audit.py": "sent_ms of announcements, and the timestamps of their records",
    "blocking/producer/encoded_writer.py": "timestamps of records",
    "blocking/producer/writer.py": "timestamps of records",
    "broker/broker.py": "timestamps of records, retention by time, expiry of offsets",
    "cli/pipeline/audit.py": "the window that is not over yet",
    "cli/debug/archive.py": "the times of the files in an archive",
    "cli/doctor/certificates.py": "certificates end at a time of the calendar",
    "cli/doctor/examination.py": "the clocks of brokers, which are compared with this machine's",
    "demo/pipeline/servers/service.py": "the age of records, by their timestamps",
    "metadata/cluster/factories.py": "timestamps of registrations and elections",
    "metadata/embedded/adoption.py": "a producer id that was not given out before",
    "cli/groups/reset.py": "a time of day, so long ago",
    "cli/transactions/transactions.py": "the age of transactions, by their start times",
    "client/legacy/zookeeper/connection.py": "the id and the registration of a member",
    "client/producer/audit.py": "sent_ms of announcements",
    "client/producer/intake.py": "timestamps of records",
    "client/producer/producer.py": "timestamps of records",
    "mirror/copy/checkpoints.py": "timestamps of heartbeats",
    "net/reactors.py": "WallClock: for a log store, which stamps segments",
    "spark/audit.py": "the window that is not over yet",
    "net/tls/listener.py": "the expiry of certificates",
    "spark/ingest/ingestion.py": "when a manifest was written",
    "tls/authority.py": "the validity of certificates",
}
"""Modules that may read the wall clock, and what for."""

WALL = {
    "time": {"time", "time_ns", "ctime", "gmtime", "localtime"},
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
}


def wall_clock_reads(source: str) -> Iterator[int]:
    """Yield the lines that read the wall clock, or import what does."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            owner = node.value
            name = owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")
            if node.attr in WALL.get(name, ()):
                yield node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module == "time":
            names = {alias.name for alias in node.names}
            if WALL["time"] & names:  # one of them tells the time of day
                yield node.lineno


class WallClockTests(SynchronousTestCase):
    def test_only_for_timestamps(self) -> None:
        """No module reads the wall clock but those that need timestamps, and each of those does."""
        found: dict[str, list[int]] = {}
        for folder, _, names in os.walk(PACKAGE):
            for name in names:
                if name.endswith(".py"):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as file:
                        lines = list(wall_clock_reads(file.read()))
                    if lines:
                        found[os.path.relpath(path, PACKAGE).replace(os.sep, "/")] = lines
        unknown = {path: lines for path, lines in found.items() if path not in TIMESTAMPS}
        self.assertEqual(unknown, {}, "time.monotonic() or the reactor's seconds() is wanted there")
        self.assertEqual(sorted(TIMESTAMPS.keys() - found.keys()), [], "these need not be listed")

    def test_finds(self) -> None:
        """Every way to read the wall clock is found; the monotonic clock and parsed times are none."""
        for text in (
            "import time\ntime.time()",
            "import time\nf(clock=time.time)",
            "from time import time",
            "from datetime import datetime\ndatetime.now()",
            "import datetime\ndatetime.datetime.utcnow()",
            "import datetime\ndatetime.date.today()",
        ):
            self.assertEqual(len(list(wall_clock_reads(text))), 1, text)
        for text in ("import time\ntime.monotonic()", "x.time", "datetime.fromisoformat('2020-01-01')"):
            self.assertEqual(list(wall_clock_reads(text)), [], text)
