"""Tests of kafkatx.spark.session: what Spark needs of the machine."""

from __future__ import annotations

import os
import stat
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any
from unittest.mock import Mock

from py4j.protocol import Py4JError
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.spark.session import (
    _choose_python,
    _stop,
    check_java,
    check_pyspark,
    java_version,
    session_settings,
)
from kafkatx.spark.worker_python import worker_python


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


class CheckPysparkTests(SynchronousTestCase):
    def test_there(self) -> None:
        """With PySpark and pyarrow installed there is no error."""
        check_pyspark()

    def test_missing(self) -> None:
        """Without one of them a line says what to install."""
        for missing in ("pyspark", "pyarrow"):
            self.patch(sys, "modules", {k: v for k, v in sys.modules.items() if k != missing})
            self.patch(sys, "meta_path", [_Without(missing)])
            error = self.assertRaises(SettingError, check_pyspark)
            self.assertIn(f"needs {missing}", str(error))
            self.assertIn("pip install 'kafkatx[spark]'", str(error))


class _Without(PathFinder):
    """An installation without a package."""

    def __init__(self, missing: str) -> None:
        self._missing = missing

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # type: ignore[override]
        """Return where a module is."""
        return None if name == self._missing else PathFinder.find_spec(name, path, target)


class SettingsTests(SynchronousTestCase):
    def test_local(self) -> None:
        """A Spark of one process listens on 127.0.0.1 only; the user's settings go before ours."""
        for master in ("local", "local[2]", "local[*]"):
            settings = session_settings(master, {"spark.driver.memory": "4g"})
            self.assertEqual(settings["spark.driver.bindAddress"], "127.0.0.1")
            self.assertEqual(settings["spark.driver.memory"], "4g")

    def test_stop(self) -> None:
        """A session whose JVM was killed is stopped without an error of its own."""
        for error in (ConnectionRefusedError(111, "Connection refused"), Py4JError("gone")):
            session: Any = Mock()
            session.stop.side_effect = error
            _stop(session)
            session.stop.assert_called_once_with()

    def test_scratch(self) -> None:
        """Temporary files of a Spark of one process go where they are found again; the user's options win."""
        settings = session_settings("local", {}, "/tmp/x")
        self.assertEqual(settings["spark.local.dir"], "/tmp/x")
        self.assertEqual(settings["spark.driver.extraJavaOptions"], "-Djava.io.tmpdir=/tmp/x")
        given = {"spark.local.dir": "/y", "spark.driver.extraJavaOptions": "-Xss4m"}
        self.assertEqual(
            session_settings("local", given, "/tmp/x") | given, session_settings("local", given, "/z")
        )
        self.assertNotIn("spark.driver.extraJavaOptions", session_settings("local", {}, "/tmp/a b"))
        self.assertNotIn("spark.local.dir", session_settings("spark://head:7077", {}, "/tmp/x"))

    def test_cluster(self) -> None:
        """Executors on other machines must reach the driver."""
        settings = session_settings("spark://head:7077", {})
        self.assertNotIn("spark.driver.host", settings)
        self.assertNotIn("spark.driver.bindAddress", settings)
        self.assertEqual(settings["spark.sql.session.timeZone"], "UTC")


class ChoosePythonTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Give the test an environment of its own."""
        self.environment: dict[str, str] = {}
        self.patch(os, "environ", self.environment)

    def test_local(self) -> None:
        """A Spark of one process starts data sources and workers by the script that connects first."""
        _choose_python("local[2]")
        script = worker_python()
        self.assertEqual(self.environment, {"PYSPARK_DRIVER_PYTHON": script, "PYSPARK_PYTHON": script})

    def test_cluster(self) -> None:
        """A cluster's machines have no script of this one; the user says where Python is."""
        self.environment["PYSPARK_PYTHON"] = "/opt/python"
        _choose_python("spark://head:7077")
        expected = {"PYSPARK_DRIVER_PYTHON": sys.executable, "PYSPARK_PYTHON": "/opt/python"}
        self.assertEqual(self.environment, expected)
