"""The files of an installation, each counted once."""

from __future__ import annotations

import os
import sys
import sysconfig

from twisted.trial.unittest import SynchronousTestCase

import kafkatx
import pyspark_kafkatx
from benchmarks.compare import installed as measuring
from benchmarks.compare.installed import Needed, code, files_mib, needs, required
from benchmarks.compare.systems.floor import Floor
from benchmarks.compare.systems.kafkatx import Kafkatx


class InstalledTests(SynchronousTestCase):
    def folder(self, *names: str) -> str:
        """A new folder with files of 8 KiB."""
        root: str = self.mktemp()
        for name in names:
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(b"x" * 8192)
        return root

    def test_files_count_once(self) -> None:
        """A file and a link to it are one; what is not there takes nothing."""
        root = self.folder("a", "b")
        a, link = os.path.join(root, "a"), os.path.join(root, "link")
        os.symlink("a", link)
        once = files_mib([a])
        self.assertGreaterEqual(once, 8192 / (1 << 20))
        self.assertEqual(files_mib([a, a, link, os.path.join(root, "none")]), once)
        self.assertEqual(files_mib([a, os.path.join(root, "b")]), 2 * once)

    def test_code(self) -> None:
        """Only this interpreter's compiled files count, and no folder that is left out."""
        tag = sys.implementation.cache_tag
        kept = ["m.py", "py.typed", f"__pycache__/m.{tag}.pyc"]
        root = self.folder(*kept, f"__pycache__/m.{tag}.opt-1.pyc", "__pycache__/m.other-1.pyc", "test/t.py")
        found = [os.path.relpath(path, root) for path in code(root, ("te*",))]
        self.assertEqual(sorted(found), sorted(kept))

    def test_needs(self) -> None:
        """Requirements of extras, and those for other machines, count only when asked for."""
        requirements = [
            "Zope.Interface>=5",
            "six; python_version < '3'",
            "other[a,b]",
            "tls; extra == 'tls'",
            "docs; extra == 'docs'",
        ]
        plain = [Needed("zope-interface", frozenset()), Needed("other", frozenset("ab"))]
        self.assertEqual(needs(requirements, frozenset()), plain)
        self.assertEqual(needs(requirements, frozenset({"tls"})), [*plain, Needed("tls", frozenset())])

    def test_required(self) -> None:
        """Ours, and what these need in turn, each once; no extra's, and not ourselves."""
        names = [found.metadata["Name"].lower() for found in required("kafkatx")]
        self.assertEqual(len(set(names)), len(names))
        self.assertLess({"twisted", "crc32c", "automat"}, set(names))
        self.assertFalse({"kafkatx", "pyspark", "matplotlib"} & set(names))

    def test_ours(self) -> None:
        """Our packages, wherever they are, and what they require."""
        with_theirs = measuring.installed(Kafkatx())["installed_mib"]
        self.patch(measuring, "required", lambda name: iter(()))
        packages = [path for package in (kafkatx, pyspark_kafkatx) for path in code(package.__path__[0])]
        self.assertAlmostEqual(measuring.installed(Kafkatx())["installed_mib"], files_mib(packages))
        self.assertGreater(with_theirs, 2 * files_mib(packages))

    def test_python(self) -> None:
        """The runtime is the interpreter and its modules."""
        whole = measuring.installed(Kafkatx())["runtime_mib"]
        root = self.folder("os.py", "test/test_os.py")
        self.patch(sysconfig, "get_path", lambda name: root)
        interpreter = measuring.installed(Kafkatx())["runtime_mib"] - files_mib([os.path.join(root, "os.py")])
        self.assertGreater(interpreter, 0)
        self.assertGreater(whole, interpreter + files_mib([os.__file__]))

    def test_unknown(self) -> None:
        """Nothing is said of a system that is not installed."""
        self.assertEqual(measuring.installed(Floor()), {})
