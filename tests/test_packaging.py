"""kafkatx as it is installed: the wheel's contents, and twistd's plugin from both kinds of install."""

from __future__ import annotations

import configparser
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

ROOT = Path(__file__).resolve().parent.parent
CONSOLE_PAGES = "kafkatx/broker/console/static"
NOT_COPIED = shutil.ignore_patterns("__pycache__", "dropin.cache", "*.egg-info", "_build")


def run(*command: str, cwd: Path) -> str:
    """Run a command and return its standard output; a failure shows all that it said."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


class _Sandbox(SynchronousTestCase):
    """A copy of what is packed, and a bare environment that borrows the libraries of this one."""

    def setUp(self) -> None:
        """Copy what setuptools reads."""
        self.folder = Path(self.mktemp()).resolve()
        self.source = self.folder / "source"
        self.source.mkdir(parents=True)
        for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, self.source)
        for name in ("kafkatx", "pyspark_kafkatx", "twisted"):  # links become what they point to
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, self.source / name, ignore=NOT_COPIED)

    def make_environment(self) -> str:
        """Create the environment; return its interpreter.

        A line in a ``.pth`` file adds a folder but does not read that folder's own ``.pth`` files: an
        editable kafkatx of this environment stays out of sight.
        """
        run(sys.executable, "-m", "venv", "--without-pip", "bare", cwd=self.folder)
        python = str(self.folder / "bare/bin/python")
        query = "import sysconfig; print(sysconfig.get_path('purelib'))"
        site = Path(run(python, "-c", query, cwd=self.folder).strip())
        outer = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
        (site / "borrowed.pth").write_text("\n".join(sorted(outer)) + "\n")
        return python

    def pip(self, *arguments: str) -> None:
        """Run this environment's pip without network."""
        run(sys.executable, "-m", "pip", *arguments, cwd=self.folder)


class WheelTests(_Sandbox):
    def test_contents(self) -> None:
        """Modules, pages, samples, licence and plugin are in the wheel; no tests, pictures or caches."""
        package = self.source / "kafkatx"
        pages = [
            *(self.source / CONSOLE_PAGES).rglob("*.*"),
            *(package / "pages").glob("*.md"),
            *(package / "pages/client").glob("*.md"),
            *(path for path in (package / "pages/examples").rglob("*.*") if path.is_file()),
            *(path for path in (package / "samples").rglob("*") if path.is_file()),
        ]
        modules = [
            path
            for path in self.source.rglob("*/*.py")
            if package / "pages" not in path.parents or package / "pages/examples" in path.parents
        ]
        wanted = {str(path.relative_to(self.source)) for path in (*modules, *pages)}
        self.pip("wheel", "-q", "--no-deps", "--no-index", "--no-build-isolation", "-w", ".", "./source")
        (wheel,) = self.folder.glob("kafkatx-*.whl")
        names = set(zipfile.ZipFile(wheel).namelist())
        packed = {name for name in names if ".dist-info/" not in name}
        self.assertEqual(packed, wanted | {"kafkatx/py.typed"})
        self.assertNotIn("twisted/plugins/__init__.py", packed)
        self.assertTrue(any(name.endswith("LICENSE") for name in names))


class InstallTests(_Sandbox):
    def check(self, python: str) -> None:
        """The commands are there, from a directory that has nothing to do with the source."""
        where = run(python, "-c", "import kafkatx; print(kafkatx.__file__)", cwd=Path("/")).strip()
        self.assertIn(str(self.folder), where)
        twistd = "from twisted.scripts.twistd import run; run()"
        self.assertIn("A Kafka broker", run(python, "-c", twistd, "--help", cwd=Path("/")))
        self.assertIn("--config", run(python, "-c", twistd, "kafkatx", "--help", cwd=Path("/")))
        command = str(Path(python).parent / "kafkatx")
        self.assertIn("topics", run(command, "--help", cwd=Path("/")))

    def test_normal(self) -> None:
        """``pip install .``: twistd knows kafkatx and the command runs, wherever one stands."""
        python = self.make_environment()
        common = ("install", "-q", "--no-deps", "--no-index", "--no-build-isolation")
        self.pip("--python", python, *common, "./source")
        self.check(python)

    def test_editable(self) -> None:
        """``pip install -e .`` in compat mode, as `make install` does it: the same."""
        python = self.make_environment()
        common = ("install", "-q", "--no-deps", "--no-index", "--no-build-isolation")
        self.pip("--python", python, *common, "-e", "./source", "--config-settings", "editable_mode=compat")
        self.check(python)


class MetadataTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Read ``setup.cfg``."""
        self.settings = configparser.ConfigParser()
        self.settings.read(ROOT / "setup.cfg", encoding="utf-8")

    def test_all_holds_every_extra(self) -> None:
        """The extra "all" is all of the others, so that `make install` leaves nothing out."""
        extras = dict(self.settings["options.extras_require"])
        everything = extras.pop("all").strip()
        self.assertEqual(everything, f"kafkatx[{','.join(extras)}]")

    def test_make_install_is_editable_compat(self) -> None:
        """Without compat mode twistd would not find the plugin of an editable install."""
        self.assertIn("editable_mode=compat", (ROOT / "Makefile").read_text())

    def test_no_init_beside_the_plugin(self) -> None:
        """An ``__init__.py`` in ``twisted`` or ``twisted/plugins`` would hide Twisted itself."""
        modules = [path.name for path in (ROOT / "twisted").rglob("*.py")]
        self.assertEqual(modules, ["kafkatx_plugin.py"])


class ReleaseTests(SynchronousTestCase):
    def test_news_fragments_make_a_changelog(self) -> None:
        """towncrier takes every fragment that lies in ``newsfragments``."""
        draft = run(sys.executable, "-m", "towncrier", "build", "--draft", "--version", "1.2.3", cwd=ROOT)
        self.assertIn("## 1.2.3", draft)
        for fragment in (ROOT / "newsfragments").glob("*.*.md"):
            first_words = fragment.read_text().split()[:4]
            self.assertIn(" ".join(first_words), draft)
