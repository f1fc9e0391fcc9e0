"""The names that kafkatx.spark exports."""

from __future__ import annotations

import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

import kafkatx.spark
from kafkatx.spark import KafkaSource
from tests.test_readme import ROOT

LIGHT = "import sys, kafkatx.spark; print(*sorted({'pyspark', 'pyarrow', 'twisted'} & set(sys.modules)))"


class PackageTests(SynchronousTestCase):
    def test_data_source(self) -> None:
        """KafkaSource is the class that Spark registers under the name kafkatx."""
        self.assertEqual(KafkaSource.name(), "kafkatx")

    def test_light(self) -> None:
        """Importing the package imports neither PySpark nor pyarrow nor Twisted."""
        done = subprocess.run([sys.executable, "-c", LIGHT], cwd=ROOT, capture_output=True, text=True)
        self.assertEqual((done.stdout.strip(), done.stderr), ("", ""))

    def test_unknown_name(self) -> None:
        """A name that the package does not export raises AttributeError."""
        self.assertRaisesRegex(AttributeError, "kafkatx.spark.*'Kafka'", getattr, kafkatx.spark, "Kafka")
