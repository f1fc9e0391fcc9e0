"""The archive of Spark's classes."""

from __future__ import annotations

import os
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from tests.spark_archive import JVM, OPTIONS, use


class ArchiveTests(SynchronousTestCase):
    def test_used_if_there(self) -> None:
        """A JVM is told of an archive that exists, and of no other."""
        path = Path(self.mktemp())
        self.assertEqual(use(str(path)), JVM)
        path.write_bytes(b"")
        self.assertEqual(use(str(path)), f"{JVM} -XX:SharedArchiveFile={path}")

    def test_environment(self) -> None:
        """The Sparks of these tests have the options."""
        self.assertIn("-XX:", os.environ[OPTIONS])
