"""Plugins of other distributions, built and installed as ``docs/plugins.md`` tells, are chosen by name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Admin, Cluster, Reader, Writer
from kafkatx.testing import EmbeddedBroker
from tests.test_readme import ROOT

DAY_MS = 24 * 3600 * 1000
WAIT_S = 20.0

# Prints how many of three segments (two of yesterday, one of today) the policy lets go.
_ASK = """
from types import SimpleNamespace
from kafkatx.config.log_config import LogConfig
from kafkatx.extension import find
from kafkatx.interfaces import IRetentionPolicy
policy = find(IRetentionPolicy, "nightly", "kafkatx.retention")()
midnight = 20_000 * 24 * 3600 * 1000
times = [midnight - 9000, midnight - 1, midnight + 5]
segments = [SimpleNamespace(base_offset=0, size_bytes=1, max_timestamp_ms=time) for time in times]
print(policy.expired(segments, LogConfig(), midnight + 1000))
"""


class DistributionCase(SynchronousTestCase):
    """An example of docs/ installed as a distribution into a folder of its own.

    :cvar example: its folder in docs/examples.
    """

    example: ClassVar[str]

    def setUp(self) -> None:
        """Install the example."""
        folder = Path(self.mktemp()).resolve()
        folder.mkdir(parents=True)
        # pip builds in the source folder: the repository's own stays clean.
        self.source = folder / self.example
        shutil.copytree(ROOT / "docs/examples" / self.example, self.source)
        self.installed = folder / "installed"
        self.run_python(
            *("-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-build-isolation"),
            *("--target", str(self.installed), str(self.source)),
            path=[],
        )

    def install_for_brokers(self) -> None:
        """Make the brokers of this test find the distribution."""
        before = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = os.pathsep.join([str(self.installed), str(ROOT)])
        self.addCleanup(_restore, "PYTHONPATH", before)

    def run_python(self, *arguments: str, path: list[str]) -> str:
        """Run this environment's Python with *path* before its own; return what it printed."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.installed.parent,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)
        return done.stdout


class RetentionTests(DistributionCase):
    """``examples/nightly``."""

    example = "nightly"

    def test_found_and_used(self) -> None:
        """The policy is found by its name and decides as its page says."""
        printed = self.run_python("-c", _ASK, path=[str(self.installed), str(ROOT)])
        self.assertEqual(printed.strip(), "2")

    def test_not_found_where_it_is_not_installed(self) -> None:
        """Without the distribution the name is an error that tells the names there are."""
        with self.assertRaisesRegex(AssertionError, "no plugin for IRetentionPolicy has this name"):
            self.run_python("-c", _ASK, path=[str(ROOT)])

    def test_a_broker_follows_it(self) -> None:
        """A broker that is started with the policy lets yesterday's segments go, and no other."""
        self.install_for_brokers()
        settings = {
            "kafkatx.retention": "nightly",
            "log.retention.check.interval.ms": "100",
            "log.segment.bytes": "1000",
            "num.partitions": "1",
        }
        now_ms = int(time.time() * 1000)
        with EmbeddedBroker(settings, run_in="process") as broker, Cluster(broker.bootstrap) as cluster:
            with Writer(cluster, "days") as writer:
                for age_ms in (2 * DAY_MS, 2 * DAY_MS, 0, 0):
                    writer.send(b"x" * 900, timestamp_ms=now_ms - age_ms)
                    writer.flush()
            deadline = time.monotonic() + WAIT_S
            # The first may go before the second is followed by another, and so may go, too.
            while self.earliest(cluster) < 2 and time.monotonic() < deadline:
                time.sleep(0.05)
            self.assertEqual(self.earliest(cluster), 2)

    def earliest(self, cluster: Cluster) -> int:
        """The first offset that can still be read."""
        offset, _timestamp = cluster.offsets("days", {0: -2})[0]
        return offset


class StorageTests(DistributionCase):
    """``examples/sqlite_store``."""

    example = "sqlite_store"

    def test_contracts(self) -> None:
        """The store passes the contracts that it brings with it, where it is installed."""
        printed = self.run_python(
            *("-m", "twisted.trial", "--temp-directory", str(self.installed / "trial"), "test_sqlite_store"),
            path=[str(self.installed), str(self.source), str(ROOT)],
        )
        self.assertIn("PASSED", printed)

    def test_a_broker_keeps_its_records_there(self) -> None:
        """Topics, records and committed offsets are there after kill -9, and no segment file is."""
        self.install_for_brokers()
        settings = {"kafkatx.storage": "sqlite", "kafkatx.plugin.sqlite.file": "mine.sqlite3"}
        folder = self.mktemp()
        broker = EmbeddedBroker(settings, run_in="process", data_dir=folder).start()
        self.addCleanup(broker.__exit__, None, None, None)
        with Cluster(broker.bootstrap) as cluster:
            Admin(cluster).create_topic("t", 1)
            with Writer(cluster, "t") as writer:
                for number in range(100):
                    writer.send(b"%d" % number)
        broker.kill()
        broker.start()
        with Cluster(broker.bootstrap) as cluster:
            with Writer(cluster, "t") as writer:
                writer.send(b"100")
            with Reader(cluster, "t", 0, start_offset=0, end_offset=101) as reader:
                self.assertEqual(
                    [record.value for record in reader], [b"%d" % number for number in range(101)]
                )
        self.assertTrue(os.path.exists(os.path.join(folder, "mine.sqlite3")))
        self.assertEqual(list(Path(folder).rglob("*.log")), [])


def _restore(name: str, value: str | None) -> None:
    """Give an environment variable back what it was."""
    if value is None:
        del os.environ[name]
    else:
        os.environ[name] = value
