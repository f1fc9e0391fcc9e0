"""The layout of the code: nouns for names, and tests that mirror the tree."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from twisted.trial.unittest import SkipTest, SynchronousTestCase

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "kafkatx"

TOP_LEVEL = {
    *(
        ".ci",
        ".gitignore",
        ".importlinter",
        "CHANGELOG.md",
        "LICENSE",
        "MANIFEST.in",
        "Makefile",
        "README.md",
        "SECURITY.md",
    ),
    *("benchmarks", "docs", "etc", "kafkatx", "newsfragments", "pyproject.toml", "pyspark_kafkatx"),
    *("setup.cfg", "tests", "twisted"),
}

UNTESTED_LINES = 60
"""A module of at most that many lines may be tested through its neighbours."""

NOUNS = {"framing.py", "wait_warning.py"}
"""Nouns that end in -ing."""


def modules() -> Iterator[Path]:
    """Yield the path of each module below the package, but for ``__init__`` and ``__main__``."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name not in ("__init__.py", "__main__.py"):
            yield path.relative_to(PACKAGE)


def lines(path: Path) -> int:
    """Count the lines of a module."""
    return len((PACKAGE / path).read_text(encoding="utf-8").splitlines())


class LayoutTests(SynchronousTestCase):
    def test_top_level(self) -> None:
        """The repository has only these files and folders: no scratch files of a test run."""
        if not (ROOT / ".git").exists():
            raise SkipTest("this is no clone of the repository")
        git = shutil.which("git")
        assert git is not None
        listed = subprocess.run([git, "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
        self.assertEqual({path.split("/")[0] for path in listed.stdout.splitlines()}, TOP_LEVEL)

    def test_names(self) -> None:
        """A module is named by a noun: no gerunds."""
        gerunds = [str(path) for path in modules() if path.stem.endswith("ing") and path.name not in NOUNS]
        self.assertEqual(gerunds, [])

    def test_tests(self) -> None:
        """A module of some size has a test module at the same place below ``tests``."""
        untested = [
            str(path)
            for path in modules()
            if path.parts[:2] != ("wire", "messages") and lines(path) > UNTESTED_LINES
            if not (ROOT / "tests" / path.parent / f"test_{path.name}").exists()
        ]
        self.assertEqual(untested, [])
