"""Starts programs of Apache Kafka 0.8.2.2. ``make interop`` fetches its jars; ours is compiled here."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

from tests.interop.apache import HERE as ROOT
from tests.interop.apache import TIMEOUT_S

JARS = os.path.join(ROOT, ".interop", "jars-0.8")
FOLDER = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(FOLDER, "OldConsumer.java")
CLASSES = os.path.join(ROOT, ".interop", "classes-0.8")
_OPTIONS = (
    "-Xmx128m",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    f"-Dlog4j.configuration=file:{FOLDER}/log4j.properties",
)


def prepare() -> None:
    """Compile our program.

    :raises AssertionError: the jars are missing, or it cannot be compiled.
    """
    if not os.path.isdir(JARS):
        raise AssertionError(f"{JARS} is missing: make interop fetches Apache Kafka 0.8's jars")
    done = subprocess.run(
        ["javac", "-nowarn", "-d", CLASSES, "-cp", os.path.join(JARS, "*"), SOURCE],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise AssertionError(done.stdout + done.stderr)


def java(main_class: str, *arguments: str) -> list[str]:
    """Return the command line that runs a class."""
    return ["java", *_OPTIONS, "-cp", f"{CLASSES}:{os.path.join(JARS, '*')}", main_class, *arguments]


def old_member(topic: str, streams: int, filtered: bool, settings: Mapping[str, str]) -> list[str]:
    """Return the command of a member that is Apache Kafka's consumer."""
    values = [f"{name}={value}" for name, value in settings.items()]
    return java("OldConsumer", topic, str(streams), "filter" if filtered else "static", *values)


def tool(main_class: str, *arguments: str) -> str:
    """Run a tool and return its output.

    :raises AssertionError: it failed.
    """
    done = subprocess.run(
        java(main_class, *arguments), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    if done.returncode:
        raise AssertionError(f"{main_class} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout
