"""``docs/pipeline.md``: its commands are run in order, as a reader types them."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys

from tests.integration.test_operations import OperationsCase
from tests.integration.zookeeper import shared_server
from tests.ports import free_port
from tests.test_readme import ROOT, blocks

PAGE = ROOT / "docs/pipeline.md"
END_S = 300.0


def free_ports(count: int) -> int:
    """Return the first of some ports in a row that were free a moment ago."""
    while True:
        first = free_port()
        with contextlib.suppress(OSError):
            probes = [socket.create_server(("127.0.0.1", first + number)) for number in range(count)]
            for probe in probes:
                probe.close()
            return first


class PageTests(OperationsCase):
    def setUp(self) -> None:
        """Choose ports, and end everything in the end."""
        super().setUp()
        python = self.folder / "bin" / "python"
        python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
        self.ports = {
            "2181/dc1": f"{shared_server().port}/{self.folder.name}",
            "9092": str(self.port),
            "9093": str(free_port()),
            "9192": str(free_ports(3)),
        }
        self.addCleanup(self.end)

    def end(self) -> None:
        """End what the page has started and not stopped, which is nothing if all is well."""
        for path in self.folder.glob("*.pid"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(path.read_text()), signal.SIGKILL)
        for folder in ("dc1/a", "dc1/b", "dc2"):
            self.stop(self.folder / folder)

    def run_page(self, text: str) -> subprocess.CompletedProcess[str]:
        """Run a block; return what it printed."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=END_S,
        )
        logs = "".join(
            f"{path.name}:\n{path.read_text()[-2000:]}\n" for path in sorted(self.folder.glob("*.log"))
        )
        self.assertEqual(done.returncode, 0, f"{text}{done.stdout}{done.stderr}{logs}")
        return done

    def test_by_hand(self) -> None:
        """Each command works; all tiers agree at first, and then what the mirror drops is missing."""
        audits = []
        for block in blocks(PAGE.read_text()):
            text = block.text
            for theirs, ours in self.ports.items():
                text = text.replace(theirs, ours)
            if block.language == "python":
                (self.folder / "service.py").write_text(text)
            elif block.language == "sh":
                done = self.run_page(text)
                if "kafkatx audit" in text:
                    audits.append(done)
        agreed, dropped = audits
        tiers = "producer, broker:dc1, mirror:dc1-dc2, broker:dc2, consumer:newsfeed, ingest:warehouse"
        self.assertIn(f"pageviews: the numbers of {tiers} are equal in", agreed.stderr)
        self.assertRegex(agreed.stderr, r"0 records missing, 0 doubled, 0 unannounced")
        rows = [line.split("\t") for line in agreed.stdout.splitlines()]
        tables = [row for row in rows if len(row) == 8 and row[2].isdigit()]
        self.assertEqual([sum(int(row[column]) for row in tables) for column in (2, 3)], [2000, 2000])
        self.assertIn(".parquet", agreed.stdout)
        self.assertRegex(dropped.stderr, r"mirror:dc1-dc2 lacks 1 of the \d+ records of broker:dc1")
        self.assertFalse((self.folder / "dc2/kafkatx.pid").exists())
