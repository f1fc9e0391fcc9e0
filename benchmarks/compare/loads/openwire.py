"""The Java program ``ActiveMqLoad.java``: ActiveMQ's own JMS client at full speed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache

from benchmarks.compare.loads.build import BUILT, HERE, built

NAME = "ActiveMqLoad"
JARS = "/usr/share/activemq/lib/*"
HEAP = ("-Xms512M", "-Xmx512M")


@lru_cache(maxsize=1)
def program() -> str:
    """The path of the class, built if it is not newer than its source.

    :raises NotBuilt: a JDK or ActiveMQ is not installed.
    """
    source, target = os.path.join(HERE, f"{NAME}.java"), os.path.join(BUILT, f"{NAME}.class")
    return built(source, target, ["javac", "-cp", JARS, "-d", BUILT, source], "default-jdk-headless activemq")


def command(port: int, arguments: Sequence[object]) -> list[str]:
    """The command of a load.

    :param arguments: the mode, the queue, counts: as ``ActiveMqLoad.java`` says.
    :raises NotBuilt: as :func:`program`.
    """
    classes = f"{os.path.dirname(program())}:{JARS}"
    return ["java", *HEAP, "-cp", classes, NAME, *map(str, arguments), f"port={port}"]
