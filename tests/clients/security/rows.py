"""The clients that log in, a row each."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType

import attrs

from tests.clients.toolchains import BUILT, SPARK, java


@attrs.frozen
class Row:
    """One row.

    :ivar toolchain: what :func:`tests.clients.toolchains.prepare` makes ready for it.
    :ivar command: makes the command line that the program begins with.
    :ivar lacks: columns of what the client does not have, and why.
    :ivar steady: True if it produces for longer than a session.
    :ivar limit_s: the longest time that one way may take.
    """

    name: str
    toolchain: str
    command: Callable[[], list[str]]
    lacks: Mapping[str, str] = MappingProxyType({})
    steady: bool = True
    limit_s: float = 120.0


def _python(module: str) -> Callable[[], list[str]]:
    return lambda: [sys.executable, "-m", f"tests.clients.security.{module}"]


def _java(version: str) -> Callable[[], list[str]]:
    return lambda: java(os.path.join(BUILT, f"java-{version}"), "Secured")


def _spark(python: str, source: str) -> Callable[[], list[str]]:
    return lambda: [python, "-m", "tests.clients.security.spark", source]


_NO_FUNCTION = "kcat has no function that gives it tokens"
_KCAT = {
    "OAUTHBEARER": _NO_FUNCTION,
    "with new tokens": _NO_FUNCTION,
    "logs in again": "its librdkafka does not, and kcat ends when its only broker closes the connection",
}
_JAVA_3_9 = {"with new tokens": "the client reads a file of tokens once; new ones need a token endpoint"}

ROWS = [
    Row("kafkatx (Twisted client)", "python", _python("ours")),
    Row("confluent-kafka", "python", _python("librdkafka")),
    Row("kafka-python", "python", _python("kafka_python")),
    Row("aiokafka", "python", _python("aio")),
    Row("kcat", "kcat", _python("kcat"), _KCAT),
    Row("kafkajs", "kafkajs", lambda: ["node", os.path.join(BUILT, "kafkajs", "secured.js")]),
    Row("franz-go", "franz-go", lambda: [os.path.join(BUILT, "franz-go", "scenario"), "secured"]),
    Row("Java 3.9", "java-3.9", _java("3.9"), _JAVA_3_9),
    Row("Java 4", "java-4", _java("4")),
    Row(
        "Spark 4.2, its own source and sink",
        "spark",
        _spark(os.path.join(SPARK, "bin", "python"), "kafka"),
        steady=False,
        limit_s=300.0,
    ),
    Row(
        "PySpark, kafkatx's source and sink",
        "python",
        _spark(sys.executable, "kafkatx"),
        steady=False,
        limit_s=300.0,
    ),
]
"""Every row, in the order of the page."""
