"""A small Spark in this process's care, and what it needs from the machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kafkatx.errors import SettingError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


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
    """The major version that ``java -version`` prints: 17 of ``17.0.15``, 8 of ``1.8.0_392``; 0 if none."""
    found = re.search(r'version "(?:1\.)?(\d+)', told)
    return int(found[1]) if found else 0


@contextmanager
def spark_session(log_path: str) -> Iterator[SparkSession]:
    """A Spark of two cores that writes to a file what it would write to the terminal; stopped at the end."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("kafkatx demo")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    with _output_to(log_path):  # the JVM keeps what it is started with
        session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


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
