"""What the demonstration needs of the machine."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.demo.session import check_java, java_version
from kafkatx.errors import SettingError


class JavaVersionTests(SynchronousTestCase):
    def test_forms(self) -> None:
        """Old and new forms of the version are understood; what is none is 0."""
        for told, version in (
            ('openjdk version "17.0.15" 2025-04-15\n', 17),
            ('java version "1.8.0_392"\n', 8),
            ('openjdk version "21" 2023-09-19\n', 21),
            ('openjdk version "24-ea" 2025-03-18\n', 24),
            ("command not found", 0),
        ):
            self.assertEqual(java_version(told), version)


class CheckJavaTests(SynchronousTestCase):
    def home(self, version: str) -> str:
        """A JAVA_HOME with a java that says that it is of this version."""
        folder = Path(self.mktemp()).resolve()
        java = folder / "bin" / "java"
        java.parent.mkdir(parents=True)
        java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
        java.chmod(java.stat().st_mode | stat.S_IXUSR)
        return str(folder)

    def test_new_enough(self) -> None:
        """Java 17 and newer will do; JAVA_HOME goes before the PATH."""
        for version in ("17.0.1", "21"):
            check_java({"PATH": os.environ["PATH"], "JAVA_HOME": self.home(version)})

    def test_too_old(self) -> None:
        """An older one is refused, with the version that is needed."""
        environment = {"PATH": os.environ["PATH"], "JAVA_HOME": self.home("11.0.2")}
        error = self.assertRaises(SettingError, check_java, environment)
        self.assertIn("PySpark needs Java 17 or newer", str(error))
        self.assertIn("is 11", str(error))

    def test_none(self) -> None:
        """Without any Java the error says so in one line."""
        for environment in ({"PATH": self.mktemp()}, {"JAVA_HOME": "/no/such/jdk"}):
            error = self.assertRaises(SettingError, check_java, environment)
            self.assertIn("PySpark needs Java 17 or newer, and there is no ", str(error))
            self.assertNotIn("\n", str(error))
