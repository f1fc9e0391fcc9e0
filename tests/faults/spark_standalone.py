"""The commands of ``docs/spark-cluster.md``, as they stand there: master, two workers, a job from a wheel."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Admin, Cluster, Reader, Writer
from kafkatx.testing import EmbeddedBroker
from tests.integration.cluster import ROOT, python_without_kafkatx
from tests.ports import free_port
from tests.test_readme import blocks

DEADLINE_S = 600.0
PARTITIONS = 4
RECORDS = 1000


class StandaloneTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A broker with a topic; a Python without kafkatx, first in the path; the page's commands."""
        broker = EmbeddedBroker(run_in="process").start()
        self.addCleanup(broker.__exit__, None, None, None)
        self.bootstrap = broker.bootstrap
        with Cluster(self.bootstrap) as cluster:
            Admin(cluster).create_topic("temperatures", PARTITIONS)
            with Writer(cluster, "temperatures") as writer:
                for partition in range(PARTITIONS):
                    writer.send_values([b"v"] * RECORDS, partition)
        folder = tempfile.TemporaryDirectory(prefix="kafkatx-standalone-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        python = python_without_kafkatx(self.folder / "python")
        path = f"{python.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "PYSPARK_PYTHON": str(python)}
        self.port = str(free_port())
        page = (ROOT / "docs/spark-cluster.md").read_text()
        self.lines = [
            line.replace("7077", self.port).replace("127.0.0.1:9092", self.bootstrap)
            for block in blocks(page)
            if block.language == "sh"
            for line in block.text.splitlines()
        ]

    def line(self, *words: str) -> str:
        """The page's only line with these words."""
        (found,) = [line for line in self.lines if all(word in line for word in words)]
        return found

    def run_line(self, line: str) -> str:
        """Run a command to its end; what it printed."""
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def start(self, line: str, says: str) -> None:
        """Start what stays in the foreground, and wait until it says that it is there."""
        home = self.line("export SPARK_HOME")
        log = self.folder / f"{len(list(self.folder.iterdir()))}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["bash", "-c", f"{home}; exec {line} --webui-port 0"],
                cwd=self.folder,
                env=self.environment,
                stdout=output,
                stderr=output,
            )
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        deadline = time.monotonic() + DEADLINE_S
        while says not in log.read_text():
            self.assertTrue(process.poll() is None and time.monotonic() < deadline, log.read_text())
            time.sleep(0.1)

    def make_wheel(self) -> None:
        """Follow the page's steps, with this tree and without the network."""
        source = self.folder / "source"
        for name in ("kafkatx", "pyspark_kafkatx", "twisted"):
            shutil.copytree(ROOT / name, source / name)
        for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, source / name)
        line = (
            self.line("pip wheel")
            .removesuffix(" kafkatx")
            .replace("pip wheel", f"{sys.executable} -m pip wheel")
        )
        self.run_line(f"{line} --no-index --no-build-isolation {shlex.quote(str(source))}")
        self.run_line(self.line("cp dist"))

    def test_commands(self) -> None:
        """The job counts what is there and writes it; its executors have kafkatx from the wheel only."""
        self.make_wheel()
        self.start(self.line("Master"), "New state: ALIVE")
        for _ in range(2):
            self.start(self.line("Worker"), "Successfully registered with master")
        shutil.copy(ROOT / "docs/examples/spark/count.py", self.folder)
        printed = self.run_line(f"{self.line('export PYTHONPATH')}; {self.line('spark-submit')}")
        for partition in range(PARTITIONS):
            self.assertIn(f"|{partition:>9}|{RECORDS:>5}|", printed)
        with Cluster(self.bootstrap) as cluster:
            reader = Reader(cluster, "counts", 0, start_offset=0, end_offset=PARTITIONS)
            with reader:
                found = {(record.key, record.value) for record in reader}
        self.assertEqual(found, {(b"%d" % partition, b"%d" % RECORDS) for partition in range(PARTITIONS)})
        executors = list((self.folder / "work").glob("app-*/*"))
        self.assertEqual(len(executors), 2)
