"""``python -m kafkatx.demo.pipeline`` with a file, all of which passes."""

from __future__ import annotations

import os

from kafkatx.demo.pipeline.warehouse import Warehouse
from tests.integration.access_log import small_log
from tests.integration.test_spark_pipeline import PipelineDemoCase

TIERS = "producer, broker:dc1, mirror:dc1-dc2, broker:dc2, consumer:newsfeed, ingest:warehouse"


class AllPassTests(PipelineDemoCase):
    def test_all_pass(self) -> None:
        """Each line of a file passes all tiers, and nothing is left of the run but what is to be kept."""
        data, _ = small_log()
        path, kept = self.folder / "access.log", self.folder / "kept"
        path.write_bytes(data)
        done = self.run_demo(str(path), "--keep", str(kept))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"lines: the numbers of {TIERS} are equal in", done.stderr)
        for expected in (
            "200 lines of",
            "every record has passed all tiers: exit status 0",
            "newsfeed-1 read",
            "newsfeed-2 read",
            "read by a service in dc1",
            f"stay in {kept}",
        ):
            self.assertIn(expected, done.stdout)
        self.assertEqual(Warehouse(str(kept / "warehouse")).rows(), 200)
        self.assertEqual(os.listdir(self.temporary), [])
