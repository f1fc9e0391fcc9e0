"""The documentation says what is true: generated pages are up to date, and the commands on them work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.handlers import SERVED
from kafkatx.testing import EmbeddedBroker
from kafkatx.wire.api import APIS
from kafkatx.wire.documents import protocol_page
from tests.test_readme import ROOT, blocks


class ProtocolPageTests(SynchronousTestCase):
    def test_up_to_date(self) -> None:
        """``make documents`` would change nothing in ``docs/protocol.md``."""
        self.assertEqual((ROOT / "docs/protocol.md").read_text(), protocol_page(APIS.values()))

    def test_every_api_of_the_page_is_served(self) -> None:
        """The table of the page is the one that the broker dispatches by: nothing more, nothing less."""
        self.assertEqual({served.api for served in SERVED}, set(APIS.values()))


class CommandLinePageTests(SynchronousTestCase):
    def test_every_command(self) -> None:
        """Each shell block of ``docs/command-line.md`` runs, in order, against a broker."""
        folder = Path(self.mktemp())
        folder.mkdir(parents=True)
        page = (ROOT / "docs/command-line.md").read_text()
        commands = [block.text for block in blocks(page) if block.language == "sh"]
        self.assertGreater(len(commands), 1)
        with EmbeddedBroker(run_in="process") as broker:
            environment = {**os.environ, "KAFKATX_BOOTSTRAP": broker.bootstrap}
            environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
            printed = [self.run_commands(command, folder, environment) for command in commands]
        self.assertEqual(printed[1], "paris is 21 at offset 0\nrome is 27 at offset 1\n")
        self.assertEqual(printed[2], "21\n27\n3\n")
        self.assertEqual(printed[3], "temperatures\t0\t2\toslo\t3\n")
        groups, configs, bench = (text.splitlines() for text in printed[4:])
        self.assertIn("weather\ttemperatures\t0\t0\t3\t3\t-\t-\t-", groups)
        self.assertEqual(list(json.loads(bench[0])), ["records_per_s", "mb_per_s", "latency_ms", "cpu_s"])
        self.assertEqual(configs[-1], "producer_byte_rate\t1048576\tclient-id 'station'")

    def run_commands(self, text: str, folder: Path, environment: dict[str, str]) -> str:
        """Run one block; return what it printed."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        if done.returncode:
            raise AssertionError(f"exit status {done.returncode}\n{text}{done.stdout}{done.stderr}")
        return done.stdout
