"""The systems that are compared: how each is started, with its own documented configuration."""

from __future__ import annotations

from benchmarks.compare.systems.activemq import ActiveMq
from benchmarks.compare.systems.apache import Apache
from benchmarks.compare.systems.floor import Floor
from benchmarks.compare.systems.kafkatx import Kafkatx
from benchmarks.compare.systems.rabbitmq import RabbitMq
from benchmarks.compare.systems.sink import Sink
from benchmarks.compare.systems.system import System

SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        Kafkatx(),
        Apache("kafka-4", "4"),
        Apache("kafka-3.9", "3.9"),
        RabbitMq(),
        ActiveMq(),
        Floor(),
        Sink(),
    )
}
