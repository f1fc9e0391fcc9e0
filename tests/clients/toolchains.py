"""Fetches and builds the clients that are not Python's: pinned versions, into a folder that git ignores."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from configparser import ConfigParser

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILT = os.environ.get("KAFKATX_CLIENTS", os.path.join(ROOT, ".interop", "clients"))
SPARK = os.path.join(BUILT, "spark")
"""A PySpark of the newest version that Maven has the Kafka source of, and that source in ``jars``."""
BUILD_S = 600.0


def java(jars: str, main_class: str, *arguments: str) -> list[str]:
    """A command line that runs a class of a folder of jars, made to start quickly."""
    options = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    return ["java", *options, "-cp", f"{jars}/classes:{jars}/*", main_class, *arguments]


class NoToolchain(Exception):
    """A program that builds or runs a client is not on this machine."""


def _run(*command: str, folder: str = HERE, **environment: str) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=BUILD_S,
        check=False,
    )
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")


def _need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            raise NoToolchain(f"{program} is not installed")


def _fresh(made: str, *sources: str) -> bool:
    """Return True if a file is newer than all of its sources."""
    if not os.path.exists(made):
        return False
    return os.path.getmtime(made) > max(os.path.getmtime(os.path.join(HERE, source)) for source in sources)


def _sources(folder: str, ending: str) -> list[str]:
    names = sorted(os.listdir(os.path.join(HERE, folder)))
    return [os.path.join(folder, name) for name in names if name.endswith(ending)]


def _java(version: str) -> None:
    """Apache Kafka's jars, and the classes of our scenario compiled with them."""
    _need("java", "javac")
    jars = os.path.join(BUILT, f"java-{version}")
    stamp, classes = os.path.join(jars, "fetched"), os.path.join(jars, "classes")
    if not _fresh(stamp, "java/pom.xml"):
        _need("mvn")
        shutil.rmtree(jars, ignore_errors=True)
        _run(
            "mvn",
            "--quiet",
            "--batch-mode",
            f"--file={HERE}/java/pom.xml",
            f"--activate-profiles=kafka-{version}",
            "dependency:copy-dependencies",
            "-DincludeScope=runtime",
            f"-DoutputDirectory={jars}",
        )
        _touch(stamp)
    sources = _sources("java", ".java")
    if not _fresh(os.path.join(classes, "built"), *sources):
        _run("javac", "-nowarn", "-d", classes, "-cp", f"{jars}/*", *sources)
        _touch(os.path.join(classes, "built"))


def _touch(path: str) -> None:
    with open(path, "w"):
        pass


def _spark() -> None:
    """PySpark in an environment of its own, with what this tree needs; and Spark's Kafka source and sink."""
    _need("java", "mvn")
    pom, stamp = os.path.join(ROOT, "tests", "interop", "spark", "pom.xml"), os.path.join(SPARK, "fetched")
    if _fresh(stamp, pom):
        return
    shutil.rmtree(SPARK, ignore_errors=True)
    _run(sys.executable, "-m", "venv", SPARK)
    _run(f"{SPARK}/bin/python", "-m", "pip", "install", "--quiet", *_spark_requirements(pom))
    _run(
        "mvn",
        "--quiet",
        "--batch-mode",
        f"--file={pom}",
        "dependency:copy-dependencies",
        "-DincludeScope=runtime",
        f"-DoutputDirectory={SPARK}/jars",
    )
    _touch(stamp)


def _spark_requirements(pom: str) -> list[str]:
    """Ours, with PySpark in the version that the jars are of."""
    settings = ConfigParser()
    settings.read(os.path.join(ROOT, "setup.cfg"))
    ours = settings["options"]["install_requires"] + settings["options.extras_require"]["spark"]
    with open(pom) as file:
        version = re.findall(r"<spark.version>(.+)</spark.version>", file.read())
    return [*ours.split(), f"pyspark=={version[0]}"]


def _kafkajs() -> None:
    """kafkajs as the lock file has it, and our scenario beside it."""
    _need("node", "npm")
    folder = os.path.join(BUILT, "kafkajs")
    names = ["kafkajs/package.json", "kafkajs/package-lock.json"]
    fresh = _fresh(os.path.join(folder, "built"), *names)
    os.makedirs(folder, exist_ok=True)
    for name in names + _sources("kafkajs", ".js"):
        shutil.copy(os.path.join(HERE, name), folder)
    if not fresh:
        _run("npm", "ci", "--no-audit", "--no-fund", folder=folder)
        _touch(os.path.join(folder, "built"))


def _franz_go() -> None:
    """One program, of the modules that go.sum names."""
    _need("go")
    folder = os.path.join(HERE, "franz_go")
    program = os.path.join(BUILT, "franz-go", "scenario")
    sources = [*_sources("franz_go", ".go"), "franz_go/go.mod", "franz_go/go.sum"]
    if not _fresh(program, *sources):
        _run("go", "build", "-mod=readonly", "-o", program, ".", folder=folder)


_ONE_AT_A_TIME = threading.Lock()
_TOOLCHAINS = {
    "python": lambda: None,
    "kcat": lambda: _need("kcat"),
    "java-3.9": lambda: _java("3.9"),
    "java-4": lambda: _java("4"),
    "spark": _spark,
    "kafkajs": _kafkajs,
    "franz-go": _franz_go,
}


def prepare(toolchain: str) -> None:
    """Fetch and build what clients of a toolchain need, unless it is there.

    :raises NoToolchain: a program that this takes is missing.
    :raises AssertionError: it failed.
    """
    with _ONE_AT_A_TIME:
        _TOOLCHAINS[toolchain]()
