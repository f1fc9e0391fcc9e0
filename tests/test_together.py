"""Tests of running all tests in several processes."""

from __future__ import annotations

import itertools
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from tests import together
from tests.together import Counted, Job, counted, jobs, repeat


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
        job = together.run("tests.test_names")
        self.assertEqual((job.name, job.counts.failed), ("tests.test_names", 0), job.output)
        self.assertGreater(job.counts.passed, 0)
        missing = together.run("tests.no_such_module")
        self.assertEqual(missing.counts.failed, 1)
        self.assertEqual(missing.modules_to_repeat, ["tests.no_such_module"])


class RepeatTests(SynchronousTestCase):
    """Modules that failed run once more."""

    def setUp(self) -> None:
        """Keep outputs in a folder of the test."""
        self.repeated: list[str] = []
        self.broken: set[str] = set()
        self.patch(together, "LOGS", Path(self.mktemp()))

    def again(self, module: str, most_s: float) -> Job:
        """Stand in for a second run: modules in ``broken`` fail again."""
        self.repeated.append(module)
        counts = Counted(8, 2, 0) if module in self.broken else Counted(10, 0, 1)
        return Job(module, counts, f"second output of {module}", 1.0)

    def job(self, name: str, *failed: str) -> Job:
        """Return a job that ran 50 tests, of which two failed in the modules *failed*."""
        return Job(name, Counted(50, 2, 0), "".join(f"failed module: {module}\n" for module in failed), 1.0)

    def test_race(self) -> None:
        """A module that passes the second time is flaky: its tests have passed, and both outputs are kept."""
        mended, flaky = repeat([self.job("tests.wire", "tests.wire.test_a")], self.again)
        self.assertEqual(self.repeated, ["tests.wire.test_a"])
        self.assertEqual((mended, flaky), ({"tests.wire": Counted(52, 0, 0)}, ["tests.wire.test_a"]))
        first, second = (together.LOGS / f"tests.wire.test_a.{run}.log" for run in ("first", "second"))
        self.assertEqual(first.read_text(), "failed module: tests.wire.test_a\n")
        self.assertEqual(second.read_text(), "second output of tests.wire.test_a")

    def test_defect(self) -> None:
        """A job with a module that fails again stays failed, though its other module passes."""
        self.broken = {"tests.b"}
        mended, flaky = repeat([self.job("tests.a tests.b", "tests.a", "tests.b")], self.again)
        self.assertEqual((mended, flaky), ({}, ["tests.a"]))

    def test_crash(self) -> None:
        """A job that does not say which module failed runs again as a whole, and its new counts are taken."""
        crashed = Job("tests.a tests.b", Counted(0, 1, 0), "Segmentation fault\n", 1.0)
        mended, flaky = repeat([crashed], self.again)
        self.assertEqual((mended, flaky), ({crashed.name: Counted(20, 0, 2)}, ["tests.a", "tests.b"]))

    def test_many(self) -> None:
        """Many failed modules are no races: none runs again."""
        names = [f"tests.m{number}" for number in range(together.MOST_AGAIN + 1)]
        self.assertEqual(repeat([self.job("tests.m", *names)], self.again), ({}, []))
        self.assertEqual(self.repeated, [])

    def test_time(self) -> None:
        """A second run has a bound: a module that hangs has failed."""
        job = together.run("tests.test_names", 0.01)
        self.assertEqual(job.counts, Counted(0, 1, 0))
        self.assertIn("did not end within", job.output)
