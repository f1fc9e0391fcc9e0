"""Runs programs of Apache Kafka."""

from __future__ import annotations

import os
import subprocess

HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
JARS = os.environ.get("KAFKATX_INTEROP_JARS", os.path.join(HERE, ".interop", "jars"))
TIMEOUT_S = 120


def java(main_class: str, *arguments: str) -> list[str]:
    """A command line that runs one of Kafka's classes."""
    return ["java", "-Xmx512m", "-cp", os.path.join(JARS, "*"), main_class, *arguments]


def run(main_class: str, *arguments: str) -> str:
    """Run a program and return its output.

    :raises AssertionError: it failed.
    """
    done = subprocess.run(
        java(main_class, *arguments), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    if done.returncode:
        raise AssertionError(f"{main_class} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def dump(paths: list[str], *arguments: str) -> str:
    """Run Kafka's own dump tool on some files and return its output."""
    return run("kafka.tools.DumpLogSegments", "--files", ",".join(paths), *arguments)
