"""A small Spark in this process's care, and what it needs from the machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING

from kafkatx.errors import SettingError
from kafkatx.spark.worker_python import worker_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
LOCAL = "local[2]"
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
LOCAL_SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
"""Those of a Spark that is in one process: nobody else has to reach it."""


def check_java(environment: Mapping[str, str]) -> None:
    """See whether the Java that Spark would start is new enough.

    :raises SettingError: there is none, or it is too old.
    """
    home = environment.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else "java"
    needs = f"PySpark needs Java {OLDEST_JAVA} or newer"
    install = "install one (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME"
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, env=dict(environment))
    except OSError:
        raise SettingError(f"{needs}, and there is no {java}: {install}") from None
    version = java_version(done.stderr)
    if version < OLDEST_JAVA:
        raise SettingError(f"{needs}, and {java} is {version or 'none'}: {install}")


def java_version(told: str) -> int:
    """Return the major version that ``java -version`` prints: 17 of ``17.0.15``, 8 of ``1.8.0_392``; 0 if
    none.
    """
    found = re.search(r'version "(?:1\.)?(\d+)', told)
    return int(found[1]) if found else 0


def check_pyspark() -> None:
    """See whether PySpark can be imported.

    :raises SettingError: it, or what it needs for Arrow, is not installed.
    """
    for module in ("pyspark", "pyarrow"):
        if find_spec(module) is None:
            raise SettingError(f"this needs {module}, which is not installed: pip install 'kafkatx[spark]'")


@contextmanager
def spark_session(
    log_path: str,
    master: str = LOCAL,
    name: str = "kafkatx",
    settings: Mapping[str, str] | None = None,
    scratch: str | None = None,
) -> Iterator[SparkSession]:
    """Start a Spark that writes its terminal output to a file, and stop it at the end.

    :param master: as ``spark.master``; workers of a ``local`` one run this very Python.
    :param settings: ``spark.*`` settings, which go before ours.
    :param scratch: a directory for the temporary files of a ``local`` one; None: the JVM's own, where a JVM
        that is killed leaves them.
    """
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName(name)
    for setting, value in session_settings(master, settings or {}, scratch).items():
        builder = builder.config(setting, value)
    _choose_python(master)
    with _output_to(log_path):  # the JVM keeps what it is started with
        session = builder.getOrCreate()
    try:
        yield session
    finally:
        _stop(session)


def _stop(session: SparkSession) -> None:
    """Stop a session; one whose JVM was killed is stopped already."""
    from py4j.protocol import Py4JError

    with suppress(OSError, Py4JError):
        session.stop()


def session_settings(master: str, given: Mapping[str, str], scratch: str | None = None) -> dict[str, str]:
    """Return all settings of a session: ours, overridden by those that are given."""
    if not is_local(master):
        return {**SETTINGS, **given}
    return {**SETTINGS, **LOCAL_SETTINGS, **_scratch_settings(given, scratch), **given}


def _scratch_settings(given: Mapping[str, str], scratch: str | None) -> dict[str, str]:
    """Return the settings for temporary files of the JVM and Spark; Spark splits Java's options at blanks."""
    if scratch is None:
        return {}
    if JAVA_OPTIONS in given or re.search(r"[\s\"'\\]", scratch):
        return {"spark.local.dir": scratch}
    return {"spark.local.dir": scratch, JAVA_OPTIONS: f"-Djava.io.tmpdir={scratch}"}


def is_local(master: str) -> bool:
    """Return True if driver and workers are on this machine: ``local``, ``local[2]``, ``local[*]``."""
    return master == "local" or master.startswith("local[")


def _choose_python(master: str) -> None:
    """Set the Python that Spark starts: workers need the driver's version.

    Spark starts data sources with ``PYSPARK_DRIVER_PYTHON``, other workers with ``PYSPARK_PYTHON``. Of a
    cluster both stay what its machines have: the user says where that is.
    """
    if is_local(master):
        os.environ["PYSPARK_DRIVER_PYTHON"] = os.environ["PYSPARK_PYTHON"] = worker_python()
    else:
        os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@contextmanager
def _output_to(path: str) -> Iterator[None]:
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.dup2(log, 1)
        os.dup2(log, 2)
        yield
    finally:
        for number, copy in zip((1, 2), saved, strict=True):
            os.dup2(copy, number)
            os.close(copy)
        os.close(log)
