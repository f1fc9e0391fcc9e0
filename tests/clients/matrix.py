"""The clients, a row each: how a scenario is run, what the client lacks, which broker is its control."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import attrs

from tests.clients.toolchains import BUILT, SPARK, java


@attrs.frozen
class Client:
    """One row.

    :ivar command: makes the command line that scenario and members begin with.
    :ivar toolchain: what :func:`tests.clients.toolchains.prepare` makes ready for it.
    :ivar lacks: features that the client does not have, and why.
    :ivar restart: whether its groups are tried with a broker that restarts.
    :ivar control: the version of Apache Kafka that its scenario is to pass with.
    :ivar ci: whether it is among the integration tests.
    """

    name: str
    command: Callable[[], list[str]]
    toolchain: str
    lacks: Mapping[str, str] = MappingProxyType({})
    control: str = "4"
    restart: bool = False
    ci: bool = False
    limit_s: float = 60.0


def _python(module: str, variant: str = "now") -> Callable[[], list[str]]:
    return lambda: [sys.executable, "-m", f"tests.clients.{module}", variant]


def _java(version: str, variant: str) -> Callable[[], list[str]]:
    return lambda: [*java(os.path.join(BUILT, f"java-{version}"), "Scenario"), variant]


def _kafkajs() -> list[str]:
    return ["node", os.path.join(BUILT, "kafkajs", "scenario.js"), "now"]


def _franz_go(variant: str) -> Callable[[], list[str]]:
    return lambda: [os.path.join(BUILT, "franz-go", "scenario"), variant]


def _spark() -> list[str]:
    return [os.path.join(SPARK, "bin", "python"), "-m", "tests.clients.spark", "kafka"]


def _lacks(why: str, *features: str) -> dict[str, str]:
    return dict.fromkeys(features, why)


def _but(lacks: Mapping[str, str], features: Iterable[str]) -> dict[str, str]:
    return {feature: why for feature, why in lacks.items() if feature not in features}


_OLD = {
    **_lacks("came with Kafka 0.10.1", "create topics", "delete topics"),
    **_lacks("came with Kafka 0.11", "configs", "delete records", "transactions"),
    **_lacks("came with Kafka 1.0", "create partitions"),
    **_lacks("came with Kafka 0.10.1", "seek by time"),
}
_KCAT = {
    **_lacks(
        "kcat administers nothing",
        *(
            "create topics",
            "configs",
            "create partitions",
            "manage groups",
            "delete records",
            "delete topics",
        ),
    ),
}
_SPARK = {
    **_lacks(
        "Spark administers nothing",
        *(
            "create topics",
            "configs",
            "create partitions",
            "manage groups",
            "delete records",
            "delete topics",
        ),
    ),
    **_lacks("Spark joins no groups: it hands out partitions itself", "group"),
    **_lacks("Spark keeps offsets in its checkpoint: see consume", "commit"),
    **_lacks("Spark writes at least once", "transactions"),
}

_OURS_0_7 = {
    **_lacks("0.7's API has none", "transactions"),
    **_lacks("its offsets of before a time are those of segments", "seek by time"),
}

CLIENTS = [
    Client("kafkatx (Twisted client)", _python("ours"), "python", restart=True, ci=True),
    Client(
        "kafkatx (Twisted client), SimpleConsumer and ConsumerConnector",
        _python("ours", "0.7"),
        "python",
        _OURS_0_7,
        restart=True,
        ci=True,
    ),
    Client("confluent-kafka", _python("confluent", "classic"), "python", restart=True, ci=True),
    Client(
        "confluent-kafka, group.protocol=consumer",
        _python("confluent", "consumer"),
        "python",
        restart=True,
        ci=True,
    ),
    Client("kafka-python", _python("kafka_python"), "python", ci=True),
    Client(
        "kafka-python, api_version=(0, 8, 2)",
        _python("kafka_python", "0.8.2"),
        "python",
        _OLD | _lacks("came with Kafka 0.9", "group", "manage groups"),
        control="3.9",
        ci=True,
    ),
    Client(
        "kafka-python, api_version=(0, 9)",
        _python("kafka_python", "0.9"),
        "python",
        _OLD,
        control="3.9",
        ci=True,
    ),
    Client(
        "kafka-python, api_version=(0, 10)",
        _python("kafka_python", "0.10"),
        "python",
        _OLD,
        control="3.9",
        ci=True,
    ),
    Client("aiokafka", _python("aio"), "python", ci=True),
    Client("kcat", _python("kcat"), "kcat", _KCAT, ci=True),
    Client(
        "kcat, broker.version.fallback=0.8.2.1",
        _python("kcat", "0.8.2.1"),
        "kcat",
        {**_OLD, **_KCAT, **_lacks("came with Kafka 0.9", "group")},
        control="3.9",
        ci=True,
    ),
    Client("kafkajs", _kafkajs, "kafkajs"),
    Client("franz-go", _franz_go("classic"), "franz-go"),
    Client("franz-go, KIP-848", _franz_go("consumer"), "franz-go"),
    Client("Java 3.9", _java("3.9", "classic"), "java-3.9", restart=True, control="3.9"),
    Client("Java 4", _java("4", "classic"), "java-4", restart=True),
    Client("Java 4, group.protocol=consumer", _java("4", "consumer"), "java-4", restart=True),
    Client("Kafka tools 3.9", _python("tools", "3.9"), "java-3.9", control="3.9", limit_s=420.0),
    Client("Kafka tools 4", _python("tools", "4"), "java-4", limit_s=420.0),
    Client("Spark 4.2, its own source and sink", _spark, "spark", _SPARK, limit_s=600.0),
    Client(
        "PySpark, kafkatx's source and sink", _python("spark", "kafkatx"), "python", _SPARK, limit_s=600.0
    ),
]
"""Every row of the table."""
