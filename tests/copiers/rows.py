"""The copiers, a row each: how its program is run, and how many members its group has."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import attrs

from tests.clients.toolchains import BUILT, java
from tests.copiers.programs.loop import MOST, TRANSACTION_MS, Job

JAVA_4 = os.path.join(BUILT, "java-4")


@attrs.frozen
class Row:
    """A client that copies.

    :ivar command: makes the command line of a copier.
    :ivar toolchain: what :func:`tests.clients.toolchains.prepare` makes ready for it.
    :ivar members: how many copiers a group may have: several need KIP-447.
    :ivar verbatim: True if values are copied as they are, without the transaction's id; SIGTERM stops the
        program, because it does not look at its input.
    """

    name: str
    command: Callable[[Job], list[str]]
    toolchain: str = "python"
    members: int = 2
    verbatim: bool = False


def _arguments(job: Job) -> list[str]:
    return [str(value) for value in attrs.astuple(job)]


def _python(module: str, *variant: str) -> Callable[[Job], list[str]]:
    program = [sys.executable, "-m", f"tests.copiers.programs.{module}", *variant]
    return lambda job: [*program, *_arguments(job)]


def _scenario(*program: str) -> Callable[[Job], list[str]]:
    return lambda job: [*program, "copy", *_arguments(job)]


def _message_copier(job: Job) -> list[str]:
    """Apache Kafka's own copier: it aborts at random, and ends when it has read to the end."""
    return [
        *java(JAVA_4, "org.apache.kafka.tools.TransactionalMessageCopier"),
        *("--broker-list", job.bootstrap, "--input-topic", job.source, "--input-partition", "-1"),
        *("--output-topic", job.target, "--consumer-group", job.group),
        *("--transactional-id", job.transactional_id, "--transaction-size", str(MOST)),
        *("--transaction-timeout", str(TRANSACTION_MS)),
        *("--enable-random-aborts", "--group-mode", "--use-group-metadata"),
    ]


ROWS = [
    Row("kafkatx", _python("ours", "now")),
    Row("kafkatx-tv1", _python("ours", "older")),
    Row("librdkafka", _python("confluent")),
    Row("kafka-python", _python("kafka_python")),
    Row("aiokafka", _python("aio"), members=1),
    Row("franz-go", _scenario(os.path.join(BUILT, "franz-go", "scenario"), "classic"), "franz-go"),
    Row("java-4", _scenario(*java(JAVA_4, "Scenario"), "classic"), "java-4"),
    Row("java-4-consumer", _scenario(*java(JAVA_4, "Scenario"), "consumer"), "java-4"),
    Row("message-copier", _message_copier, "java-4", members=1, verbatim=True),
]
