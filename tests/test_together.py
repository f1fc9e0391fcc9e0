"""Tests of running all tests in several processes."""

from __future__ import annotations

import itertools
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from tests import together
from tests.together import Counted, counted, jobs


class TogetherTests(SynchronousTestCase):
    def test_every_module(self) -> None:
        """Each module but long ones belongs to one job; slow ones come first, no two with Spark in a row."""
        root = Path(together.__file__).parent
        names = jobs(root)
        parts = [part for name in names for part in name.split()]
        for path in root.rglob("test_*.py"):
            module = ".".join(path.relative_to(root.parent).with_suffix("").parts)
            owners = [name for name in parts if module == name or module.startswith(name + ".")]
            self.assertEqual(len(owners), 0 if module.startswith("tests.long.") else 1, module)
        first = [name.startswith(("tests.integration.", "tests.test_readme")) for name in names]
        self.assertEqual(first, sorted(first, reverse=True))
        self.assertTrue(first[0])
        spark = ["spark" in name for name in names if name.startswith("tests.integration.")]
        self.assertNotIn((True, True), itertools.pairwise(spark))
        self.assertIn(True, spark)

    def test_shared_spark(self) -> None:
        """Modules that use the shared Spark are in few jobs, and each job has some."""
        names = [name for name in jobs(Path(together.__file__).parent) if "test_spark_sink" in name]
        self.assertEqual(len(names), 1)
        self.assertGreater(len(names[0].split()), 1)

    def test_counted(self) -> None:
        """The last closing line counts; an output without one is a failure."""
        self.assertEqual(
            counted("x\n1 passed, 0 failed\n12 passed, 3 failed, 1 skipped\n"), Counted(12, 3, 1)
        )
        self.assertEqual(counted("7 passed, 0 failed\n"), Counted(7, 0, 0))
        self.assertEqual(counted("Segmentation fault\n"), Counted(0, 1, 0))
        self.assertEqual(str(Counted(7, 1, 0)), "7 passed, 1 failed")
        self.assertEqual(str(Counted(7, 0, 2)), "7 passed, 0 failed, 2 skipped")

    def test_run(self) -> None:
        """A job is run in a process of its own; one that cannot be loaded has failed."""
        name, result, output, _ = together.run("tests.test_names")
        self.assertEqual((name, result.failed), ("tests.test_names", 0), output)
        self.assertGreater(result.passed, 0)
        self.assertEqual(together.run("tests.no_such_module")[1].failed, 1)
